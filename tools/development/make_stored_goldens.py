#!/usr/bin/env python3
"""Development only: makes the files in tests/goldens/stored with PyTorch and transformers.

    make_stored_goldens.py            makes all of them again
    make_stored_goldens.py check FOLDER QUANTISED
                                      loads FOLDER, which horizon exported from the folder QUANTISED, with
                                      transformers, and compares every weight with what transformers makes of QUANTISED

They show how transformers stores the experts of a layer, and which values it gives to quantised weights.
tests/goldens/README.md describes them. Needs torch, transformers, accelerate and safetensors, which the project itself
does not.
"""
import json
import os
import pathlib
import shutil
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")

import safetensors.torch  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from transformers.integrations.finegrained_fp8 import Fp8Dequantize  # noqa: E402
from transformers.integrations.mxfp4 import convert_moe_packed_tensors  # noqa: E402

STORED = pathlib.Path(__file__).resolve().parents[2] / "tests" / "goldens" / "stored"
COMMON = {
    "vocab_size": 40,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "max_position_embeddings": 64,
    "num_experts_per_tok": 2,
    "tie_word_embeddings": False,
    "pad_token_id": None,
}


def random_bytes(generator, *shape, end=256):
    return torch.randint(0, end, shape, generator=generator, dtype=torch.int64).to(torch.uint8)


def random_codes(generator, *shape):
    """Codes of e4m3fn, all but its two NaNs."""
    codes = random_bytes(generator, *shape)
    codes[(codes & 0x7F) == 0x7F] = 0x42
    return codes.view(torch.float8_e4m3fn)


def write(path, tensors):
    path.parent.mkdir(parents=True, exist_ok=True)
    safetensors.torch.save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path,
                                metadata={"format": "pt"})


def make_mxfp4():
    """Blocks with every scale that gives numbers, and blocks whose values overflow."""
    generator = torch.Generator().manual_seed(1)
    blocks = random_bytes(generator, 2, 48, 3, 16)
    scales = random_bytes(generator, 2, 48, 3, end=253)
    scales[0, 0] = torch.tensor([0, 1, 252], dtype=torch.uint8)
    values = convert_moe_packed_tensors(blocks, scales)
    assert values.isfinite().all() and values.shape == (2, 96, 48)
    # One row: every code in both halves of a byte, with the three largest scales.
    extreme_blocks = torch.tensor([i | (15 - i) << 4 for i in range(16)], dtype=torch.uint8).expand(1, 1, 3, 16)
    extreme_scales = torch.tensor([[[253, 254, 255]]], dtype=torch.uint8)
    extreme = convert_moe_packed_tensors(extreme_blocks, extreme_scales)
    write(STORED / "mxfp4.safetensors", {
        "blocks": blocks, "scales": scales, "values": values, "extreme_blocks": extreme_blocks,
        "extreme_scales": extreme_scales, "extreme_values": extreme})


def make_fp8():
    generator = torch.Generator().manual_seed(2)
    dequantize = Fp8Dequantize(None)._dequantize_one
    tensors = {}
    for name, shape, blocks, scale_type in [("usual", (256, 128), (128, 128), torch.float32),
                                            ("small", (3, 24, 48), (8, 16), torch.bfloat16)]:
        codes = random_codes(generator, *shape)
        grid = shape[:-2] + (shape[-2] // blocks[0], shape[-1] // blocks[1])
        scales = (torch.rand(grid, generator=generator) * 3e-4).to(scale_type)
        tensors |= {f"{name}.codes": codes, f"{name}.scales": scales,
                    f"{name}.fp32": dequantize(codes, scales, torch.float32),
                    f"{name}.bf16": dequantize(codes, scales, torch.bfloat16)}
    write(STORED / "fp8.safetensors", tensors)


def make_experts():
    """The same weights in both layouts of experts, as transformers saves them."""
    for name, config in [("mixtral", transformers.MixtralConfig(**COMMON, intermediate_size=24, num_local_experts=3)),
                         ("qwen3_moe", transformers.Qwen3MoeConfig(**COMMON, intermediate_size=24, num_experts=3,
                                                                   moe_intermediate_size=20, mlp_only_layers=[0]))]:
        torch.manual_seed(3)
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        for layout, original in [("usual", True), ("fused", False)]:
            folder = STORED / f"{name}_{layout}"
            shutil.rmtree(folder, ignore_errors=True)
            model.save_pretrained(folder, save_original_format=original)
            (folder / "generation_config.json").unlink(missing_ok=True)


def save_quantised(name, config, quantization, tensors):
    """Writes a quantised folder, and beside it what transformers makes of it, under its names in memory."""
    folder = STORED / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write(folder / "model.safetensors", tensors)
    (folder / "config.json").write_text(
        json.dumps(config.to_dict() | {"architectures": [f"{type(config).__name__.removesuffix('Config')}ForCausalLM"],
                                       "quantization_config": quantization}, indent=2) + "\n")
    write(folder / "dequantized.safetensors", dequantised(folder))


def dequantised(folder):
    quantization = json.loads((folder / "config.json").read_text())["quantization_config"]
    kind = {"mxfp4": transformers.Mxfp4Config, "fp8": transformers.FineGrainedFP8Config}[quantization["quant_method"]]
    settings = {key: value for key, value in quantization.items() if key != "quant_method"}
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, quantization_config=kind(**settings | {"dequantize": True}))
    # Weights that are not quantised keep their own type.
    return {name: tensor.float() for name, tensor in model.state_dict().items()}


def make_gpt_oss_mxfp4():
    config = transformers.GptOssConfig(**COMMON | {"hidden_size": 64}, intermediate_size=32, num_local_experts=3,
                                       sliding_window=8, dtype="bfloat16")
    torch.manual_seed(4)
    generator = torch.Generator().manual_seed(4)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    tensors = {}
    for name, tensor in model.state_dict().items():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            tensors[name] = tensor
            continue
        experts, inputs, outputs = tensor.shape
        tensors[f"{name}_blocks"] = random_bytes(generator, experts, outputs, inputs // 32, 16)
        tensors[f"{name}_scales"] = random_bytes(generator, experts, outputs, inputs // 32, end=8) + 118
    save_quantised("gpt_oss_mxfp4", config, {
        "quant_method": "mxfp4",
        "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens",
                                   "lm_head"]}, tensors)


def make_qwen3_moe_fp8():
    config = transformers.Qwen3MoeConfig(**COMMON, intermediate_size=48, num_experts=3, moe_intermediate_size=16,
                                         mlp_only_layers=[0], dtype="bfloat16")
    torch.manual_seed(5)
    generator = torch.Generator().manual_seed(5)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    plain = STORED / "plain"
    model.save_pretrained(plain)
    tensors = {}
    for name, tensor in safetensors.torch.load_file(plain / "model.safetensors").items():
        is_converted = tensor.ndim == 2 and name.startswith("model.layers") and not name.endswith("mlp.gate.weight")
        tensors[name] = tensor
        if not is_converted:
            continue
        rows, columns = tensor.shape
        tensors[name] = random_codes(generator, rows, columns)
        tensors[f"{name}_scale_inv"] = (torch.rand((rows // 16, columns // 8), generator=generator) * 3e-4).to(
            torch.bfloat16)
    shutil.rmtree(plain)
    save_quantised("qwen3_moe_fp8", config, {
        "quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": [16, 8],
        "modules_to_not_convert": ["lm_head", "model.layers.1.mlp.gate"]}, tensors)


def check(folder, quantised):
    config = json.loads((folder / "config.json").read_text())
    assert "quantization_config" not in config
    dtype = getattr(torch, config.get("dtype") or config["torch_dtype"])
    got, loading = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, output_loading_info=True)
    assert not any(loading.values()), loading
    wanted = dequantised(quantised)
    got = got.state_dict()
    assert got.keys() == wanted.keys()
    for name, values in wanted.items():
        # horizon rounds ties away from zero, PyTorch to even: they differ in the last bit of what is exactly between.
        bits = (values.view(torch.int32) + 0x8000) & ~0xFFFF
        rounded = bits.view(torch.float32) if dtype == torch.bfloat16 else values
        assert torch.equal(got[name].float(), rounded), name
    print(f"{folder}: all {len(wanted)} weights are those of {quantised}")


def main():
    if sys.argv[1:2] == ["check"]:
        check(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
        return
    make_mxfp4()
    make_fp8()
    make_experts()
    make_gpt_oss_mxfp4()
    make_qwen3_moe_fp8()


if __name__ == "__main__":
    main()
