"""Development only: the loss of an exported model by transformers beside `horizon eval`.

usage: compare_loss.py HORIZON MODEL DATA.jsonl
DATA has {"query", "response"} lines and is read as bytes, in the plain chat format. Needs torch and transformers.
Prints both losses and their difference; ends with 1 when they differ by more than fp32's roundings.
"""
import json
import subprocess
import sys

import torch
from transformers import AutoModelForCausalLM

END = 257


def main():
    horizon, folder, data = sys.argv[1:4]
    answer = subprocess.run(
        [horizon, "eval", "--model", folder, "--data", data, "--tokenizer", "byte",
         "--compute", "fp32", "--sequence", "128", "--json"],
        check=True, capture_output=True, text=True)
    ours = json.loads(answer.stdout)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    total, count = 0.0, 0
    with torch.no_grad():
        for line in open(data, encoding="utf-8"):
            record = json.loads(line)
            prompt = list((record["query"] + "\n").encode())
            reply = list(record["response"].encode()) + [END]
            ids = torch.tensor([prompt + reply])
            logits = model(ids).logits[0, len(prompt) - 1:-1].double()
            losses = torch.nn.functional.cross_entropy(logits, ids[0, len(prompt):], reduction="sum")
            total += losses.item()
            count += len(reply)
    theirs = total / count
    print(f"horizon {ours['loss']:.9f}  transformers {theirs:.9f}  "
          f"difference {ours['loss'] - theirs:.2e}  tokens {count}")
    # A few hundred roundings of values of size 1 to 10 in each of some ten stages.
    return 0 if abs(ours["loss"] - theirs) < 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
