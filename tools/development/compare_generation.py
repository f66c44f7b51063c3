#!/usr/bin/env python3
"""Greedy generation of transformers beside ours, on the golden models.

    tools/development/compare_generation.py [--horizon PROGRAM] [--tokens N] [FOLDER...]

Needs torch and transformers, which the project itself does not. For every folder (default: the
golden models) it draws prompts of several lengths, has both go on with them in fp32 and compares
the ids token by token. Where they part, the gap between the two likeliest logits of transformers
tells whether it was a tie. Exit code 1 when an answer differs without one.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys

import torch
from transformers import AutoModelForCausalLM

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAMILIES = ["llama", "qwen2", "qwen3", "mistral_window"]
LENGTHS = [1, 7, 12, 40, 100]
# Logits of both are sums of some hundred terms in fp32: closer ones may change places.
TIE = 1e-4
BYTE_END = 257


def ours(program, folder, prompt, tokens):
    """The ids our program gives: the prompt goes in as bytes, which are its ids."""
    command = [
        program, "generate", "--model", str(folder), "--tokenizer", "byte", "--compute", "fp32",
        "--temperature", "0", "--max-tokens", str(tokens), "--prompt", bytes(prompt), "--json",
    ]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.decode())
    answer = json.loads(done.stdout)
    assert answer["prompt_ids"] == prompt, "the byte tokenizer changed the prompt"
    return answer["ids"], answer["finish"]


def theirs(model, prompt, tokens):
    """Greedy ids, and for each the gap between the likeliest and the next logit."""
    text = torch.tensor([prompt])
    out = model.generate(
        text,
        attention_mask=torch.ones_like(text),
        max_new_tokens=tokens,
        do_sample=False,
        return_dict_in_generate=True,
        output_logits=True,
        pad_token_id=0,
    )
    gaps = []
    for logits in out.logits:
        best = torch.topk(logits[0].double(), 2).values
        gaps.append(float(best[0] - best[1]))
    return out.sequences[0][len(prompt):].tolist(), gaps


def compare(program, folder, tokens):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.config.use_cache = True
    model.generation_config.use_cache = True
    ends = model.generation_config.eos_token_id
    # The byte tokenizer's end of text ends our answers too, and not theirs.
    ends = (ends if isinstance(ends, list) else [ends]) + [BYTE_END]
    draw = random.Random(1)
    equal, ties, wrong = 0, 0, 0
    for length in LENGTHS:
        # ASCII, so that a byte is a token and the prompt is valid text.
        prompt = [draw.randrange(32, 127) for _ in range(length)]
        got, finish = ours(program, folder, prompt, tokens)
        wanted, gaps = theirs(model, prompt, tokens)
        # The end token itself is not in our answer.
        if finish == "end" and wanted[len(got):len(got) + 1] and wanted[len(got)] in ends:
            wanted = wanted[:len(got)]
        parts = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), None)
        if parts is None and len(got) != len(wanted):
            parts = min(len(got), len(wanted))
        if parts is None:
            equal += 1
        elif parts < len(gaps) and gaps[parts] < TIE:
            ties += 1
        else:
            wrong += 1
            print(f"  prompt of {length}: token {parts} of {len(wanted)} differs: {got} and {wanted}")
    print(f"{folder.name}: {equal} of {len(LENGTHS)} answers of {tokens} tokens are equal, "
          f"{ties} part at a tie, {wrong} differ")
    return wrong == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--horizon", default=str(ROOT / "bazel-bin/app/horizon"))
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    folders = args.folders or [ROOT / "tests/goldens" / family for family in FAMILIES]
    torch.manual_seed(0)
    results = [compare(args.horizon, folder, args.tokens) for folder in folders]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
