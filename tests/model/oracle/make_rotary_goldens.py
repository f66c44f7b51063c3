"""Prints the table of tests/model/rotary_frequencies_test.cc, as transformers computes it.

Needs torch and transformers (made with 5.22). Usage: python3 make_rotary_goldens.py
Each line: head_dim, stride (every stride-th frequency is listed), factor, frequencies.
"""
import json

import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

LLAMA3 = dict(rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=8192)
YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=4096)

CASES = [
    ("Default", 16, 1, dict(rope_type="default", rope_theta=10000.0)),
    ("DefaultLargeTheta", 128, 9, dict(rope_type="default", rope_theta=1000000.0)),
    ("OnePair", 2, 1, dict(rope_type="default", rope_theta=10000.0)),
    ("Linear", 16, 1, dict(rope_type="linear", rope_theta=10000.0, factor=3.0)),
    ("Llama3", 128, 4, LLAMA3),
    ("Llama3Other", 64, 2, LLAMA3 | dict(factor=32.0, low_freq_factor=1.5, high_freq_factor=5.0)),
    ("Yarn", 128, 4, YARN),
    ("YarnNotTruncated", 64, 2, YARN | dict(truncate=False, rope_theta=150000.0, factor=32.0)),
    ("YarnBetas", 64, 2, YARN | dict(beta_fast=16.0, beta_slow=2.0, factor=2.5)),
    ("YarnMscales", 32, 2, YARN | dict(mscale=1.2, mscale_all_dim=0.7, factor=40.0)),
    ("YarnMscaleAlone", 32, 4, YARN | dict(mscale=1.2)),
    ("YarnAttentionFactor", 32, 4, YARN | dict(attention_factor=0.75, mscale=1.2, mscale_all_dim=0.7)),
    ("YarnFactorOne", 32, 4, YARN | dict(factor=1.0)),
    ("YarnShortContext", 16, 1, YARN | dict(original_max_position_embeddings=4)),
    ("YarnWideRange", 16, 1, YARN | dict(original_max_position_embeddings=2**40, beta_fast=1e9)),
    ("YarnLongContext", 16, 1, YARN | dict(original_max_position_embeddings=2**62)),
]


def main():
    for name, head_dim, stride, rope in CASES:
        config = LlamaConfig(hidden_size=head_dim, num_attention_heads=1, head_dim=head_dim,
                             max_position_embeddings=131072, rope_parameters=dict(rope))
        module = LlamaRotaryEmbedding(config)
        values = module.inv_freq.to(torch.float32).numpy()
        numbers = ", ".join(f"{str(v)}F" if "." in str(v) or "e" in str(v) else f"{v}.0F" for v in values[::stride])
        factor = torch.tensor(module.attention_scaling, dtype=torch.float32).numpy()
        print(f"// {name}: {json.dumps(rope)}\n{head_dim}, {stride}, {factor}F, {{{numbers}}}")


if __name__ == "__main__":
    main()
