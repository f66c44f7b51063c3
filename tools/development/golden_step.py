"""Development only: the losses that `horizon selftest` holds a device to, by PyTorch.

usage: golden_step.py HORIZON
HORIZON is the program. It draws the weights of selftest/golden_config.json (a step with a learning rate of 0, exported as
fp32); PyTorch then takes three AdamW steps on the tokens of selftest/golden_step.cc. Needs torch and transformers. Prints
the losses and the first gradient's norm, to be copied there.
"""
import json
import os
import subprocess
import sys
import tempfile

import torch
from transformers import AutoModelForCausalLM

BATCH, SEQUENCE, VOCABULARY, STEPS = 3, 48, 512, 3
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def tokens(step):
    """As Tokens() of selftest/golden_step.cc."""
    rows, labels = [], []
    for row in range(BATCH):
        ids = [(7 * t * t + 31 * t * (row + 1) + 101 * step) % VOCABULARY for t in range(SEQUENCE)]
        rows.append(ids)
        labels.append([ids[t + 1] if t + 1 < SEQUENCE and t % 7 != 3 else -100 for t in range(SEQUENCE)])
    return torch.tensor(rows), torch.tensor(labels)


def main():
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data.jsonl")
        with open(data, "w", encoding="utf-8") as out:
            for _ in range(4):
                out.write(json.dumps({"input_ids": list(range(48)), "labels": list(range(48))}) + "\n")
        run = os.path.join(folder, "run")
        subprocess.run([sys.argv[1], "train", "--model", os.path.join(ROOT, "selftest", "golden_config.json"),
                        "--init", "random", "--seed", "1", "--data", data, "--output", run, "--steps", "1",
                        "--sequence", "48", "--learning-rate", "0", "--weight-decay", "0", "--save", "none",
                        "--export-dtype", "fp32", "--device", "host", "--machine", "cpu-desktop"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        model = AutoModelForCausalLM.from_pretrained(os.path.join(run, "model"), dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    for step in range(STEPS):
        ids, labels = tokens(step)
        logits = model(ids).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(f"step {step + 1}  loss {loss.item():.9f}  norm {norm.item():.9f}")


if __name__ == "__main__":
    main()
