"""Prints the table of tests/model/rotary_frequencies_test.cc, as transformers computes it.

Needs torch and transformers (made with 5.22, from YarnPartial on with 5.23). Usage: python3 make_rotary_goldens.py
Each line: rotary_dim, stride (every stride-th frequency is listed), factor, frequencies.
"""
import json

import torch
from transformers import LlamaConfig, Phi3Config
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.ministral3.modeling_ministral3 import get_llama_4_attn_scale
from transformers.models.phi3.modeling_phi3 import Phi3RotaryEmbedding

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

# Rotation of the first part of heads of 128 channels.
PARTIAL_CASES = [
    ("YarnPartial", 64, 2, YARN | dict(partial_rotary_factor=0.5)),
    ("Llama3Partial", 32, 1, LLAMA3 | dict(partial_rotary_factor=0.25)),
    ("LinearPartial", 32, 2, dict(rope_type="linear", rope_theta=10000.0, factor=3.0, partial_rotary_factor=0.25)),
]

# phi3: heads of 16 channels of which 12 are rotated; positions stretched from 4096 to 131072.
SHORT = [1.0, 1.02, 1.05, 1.1, 1.3, 1.75]
LONG = [1.0, 1.25, 2.5, 9.0, 33.3, 64.01]
LONGROPE = dict(rope_type="longrope", rope_theta=10000.0, short_factor=SHORT, long_factor=LONG,
                partial_rotary_factor=0.75)
LONGROPE_CASES = [
    ("LongropeShort", 4096, LONGROPE),
    ("LongropeLong", 4097, LONGROPE),
    ("LongropeFactor", 4096, LONGROPE | dict(factor=4.0)),
    ("LongropeAttentionFactor", 4097, LONGROPE | dict(attention_factor=1.25)),
]


def show(name, dim, stride, rope, values, factor):
    numbers = ", ".join(f"{str(v)}F" if "." in str(v) or "e" in str(v) else f"{v}.0F" for v in values[::stride])
    factor = torch.tensor(factor, dtype=torch.float32).numpy()
    print(f"// {name}: {json.dumps(rope)}\n{dim}, {stride}, {factor}F, {{{numbers}}}")


def main():
    for name, head_dim, stride, rope in CASES:
        config = LlamaConfig(hidden_size=head_dim, num_attention_heads=1, head_dim=head_dim,
                             max_position_embeddings=131072, rope_parameters=dict(rope))
        module = LlamaRotaryEmbedding(config)
        show(name, head_dim, stride, rope, module.inv_freq.to(torch.float32).numpy(), module.attention_scaling)
    for name, dim, stride, rope in PARTIAL_CASES:
        config = LlamaConfig(hidden_size=128, num_attention_heads=1, head_dim=128, max_position_embeddings=131072,
                             rope_parameters=dict(rope))
        values, factor = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config)
        show(name, dim, stride, rope, values.numpy(), factor)
    for name, sequence, rope in LONGROPE_CASES:
        config = Phi3Config(hidden_size=16, num_attention_heads=1, max_position_embeddings=131072,
                            rope_parameters=dict(rope))
        module = Phi3RotaryEmbedding(config)
        module(torch.zeros(1), torch.arange(sequence)[None])
        show(name, 12, 1, rope, module.inv_freq.numpy(), module.attention_scaling)
    positions = torch.tensor([[0, 4095, 4096, 8191, 8192, 100000, 262143]])
    print("// query scales, beta 0.1 over 4096:", positions.tolist()[0])
    print([str(v) for v in get_llama_4_attn_scale(positions, 0.1, 4096).flatten().numpy()])


if __name__ == "__main__":
    main()
