"""Compares what model/ makes of random config.json files with what transformers makes of them.

Needs torch and transformers (made with 5.23). Usage:
    python3 check_configs.py CONFIG_TOOL [--configs 200] [--seed 1]
For each family random subsets of its keys are drawn. Where both accept a config, these must be equal: names and shapes
of all tensors, tied or not, windows, rotary frequencies, factors and query scales of every layer, multipliers, epsilon.
Configs that only one of the two accepts are counted, with the reasons.
"""
import argparse
import collections
import copy
import json
import random
import subprocess
import warnings

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, CONFIG_MAPPING
from transformers.models.ministral3.modeling_ministral3 import get_llama_4_attn_scale

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()

SEQUENCE = 96
LAYERS = 5


def some_types(r):
    return [r.choice(["sliding_attention", "full_attention"]) for _ in range(LAYERS)]


def scaling(r, kinds):
    kind = r.choice(kinds)
    rope = {r.choice(["rope_type", "type"]): kind}
    if kind in ("linear", "llama3", "yarn"):
        rope["factor"] = r.choice([1.0, 2.0, 8.0])
    if kind == "llama3":
        rope |= {"low_freq_factor": 1.0, "high_freq_factor": r.choice([4.0, 5.0])}
    if kind in ("llama3", "yarn") and r.random() < 0.7:
        rope["original_max_position_embeddings"] = r.choice([16, 64])
    if kind == "yarn":
        for key, values in {"attention_factor": [1.25], "beta_fast": [16.0], "beta_slow": [0.5], "mscale": [1.0, 0.7],
                            "mscale_all_dim": [1.0, 0.5]}.items():
            if r.random() < 0.3:
                rope[key] = r.choice(values)
    if r.random() < 0.3:
        rope["rope_theta"] = r.choice([10000.0, 500000.0])
    return rope


USUAL = ["default", "linear", "llama3", "yarn"]


def rope_keys(r, kinds=USUAL):
    keys = {}
    if r.random() < 0.5:
        keys["rope_theta"] = r.choice([10000.0, 500000.0])
    if r.random() < 0.6:
        keys[r.choice(["rope_scaling", "rope_parameters"])] = scaling(r, kinds)
    return keys


def layer_type_rope_keys(r, local_key=None):
    keys = {}
    if r.random() < 0.4:
        keys["rope_theta"] = r.choice([1000000.0, 500000.0])
    if local_key and r.random() < 0.4:
        keys[local_key] = r.choice([10000.0, 20000.0])
    style = r.random()
    if style < 0.4:
        keys["rope_scaling"] = scaling(r, USUAL)
    elif style < 0.8:
        keys["rope_parameters"] = {kind: scaling(r, USUAL) for kind in ("full_attention", "sliding_attention")
                                   if r.random() < 0.8}
    return keys


def phi3_ropes(r):
    keys = {}
    part = r.choice([1.0, 1.0, 0.75, 0.5])
    rotated = int(16 * part)
    if r.random() < 0.6:
        rope = {"type": r.choice(["longrope", "su", "yarn"]),
                "short_factor": [1.0 + 0.1 * i for i in range(rotated // 2)],
                "long_factor": [1.0 + 3.7 * i for i in range(rotated // 2)]}
        for key, values in {"factor": [2.0, 32.0], "attention_factor": [1.25]}.items():
            if r.random() < 0.3:
                rope[key] = r.choice(values)
        keys["rope_scaling"] = rope
        keys["max_position_embeddings"] = r.choice([64, 256, 8192])
        if r.random() < 0.8:
            keys["original_max_position_embeddings"] = r.choice([32, 64, 4096])
    if part != 1.0:
        keys["partial_rotary_factor"] = part
    if r.random() < 0.5:
        keys["rope_theta"] = 500000.0
    return keys


def ministral3_ropes(r):
    if r.random() < 0.3:
        return {}
    rope = scaling(r, USUAL)
    if r.random() < 0.9:
        rope["llama_4_scaling_beta"] = r.choice([0.1, 0.25])
    if r.random() < 0.5:
        rope["original_max_position_embeddings"] = 16
    return {"rope_parameters": rope}


BIAS = {"attention_bias": [True, False]}
WINDOW = {"sliding_window": [None, 8, 16]}
SWITCH = WINDOW | {"use_sliding_window": [True, False]}
TYPES = {"layer_types": [None, "draw"]}

# model_type: (keys with values to draw from, function that draws rotary keys).
FAMILIES = {
    "llama": (BIAS | {"mlp_bias": [True, False]}, rope_keys),
    "qwen2": (SWITCH | TYPES | {"max_window_layers": [0, 2, 28]}, rope_keys),
    "qwen3": (BIAS | SWITCH | TYPES | {"max_window_layers": [0, 2, 28]}, rope_keys),
    "mistral": (WINDOW, rope_keys),
    "gemma3_text": (BIAS | TYPES | {"sliding_window": [8, 16], "sliding_window_pattern": [2, 3, 6],
                                    "query_pre_attn_scalar": [16, 24], "hidden_activation": ["gelu_pytorch_tanh"]},
                    lambda r: layer_type_rope_keys(r, "rope_local_base_freq")),
    "olmo2": (BIAS, rope_keys),
    "olmo3": (BIAS | TYPES | {"sliding_window": [8, 16]}, layer_type_rope_keys),
    "phi3": (WINDOW | {"resid_pdrop": [0.0]}, phi3_ropes),
    "smollm3": (BIAS | SWITCH | TYPES | {"mlp_bias": [True, False], "no_rope_layer_interval": [2, 3],
                                         "no_rope_layers": [None, [1, 0, 1, 1, 0]], "pretraining_tp": [2]}, rope_keys),
    "granite": (BIAS | {"mlp_bias": [True, False], "attention_multiplier": [0.0625, 1], "embedding_multiplier": [12],
                        "residual_multiplier": [0.22], "logits_scaling": [8.0, 10]}, rope_keys),
    "ministral3": (WINDOW, ministral3_ropes),
    "exaone4": (WINDOW | TYPES | {"sliding_window_pattern": [2, 3, 4, "LLLG", None]}, rope_keys),
}
WRAPPERS = {"gemma3": ["gemma3_text"], "mistral3": ["mistral", "ministral3"]}


def draw(r, family):
    keys, ropes = FAMILIES[family]
    config = {"model_type": family, "hidden_size": 64, "num_hidden_layers": LAYERS, "num_attention_heads": 4,
              "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 80, "max_position_embeddings": 128,
              "pad_token_id": r.choice([None, 0, 5])}
    if family in ("qwen3", "gemma3_text", "ministral3") or (family not in ("phi3",) and r.random() < 0.3):
        config["head_dim"] = r.choice([16, 32])
    for key, values in ({"tie_word_embeddings": [True, False], "rms_norm_eps": [1e-6, 1e-3]} | keys).items():
        if r.random() < 0.5:
            value = r.choice(values)
            config[key] = some_types(r) if value == "draw" else value
    return config | ropes(r)


def wrap(r, wrapper):
    text = draw(r, r.choice(WRAPPERS[wrapper]))
    config = {"model_type": wrapper, "text_config": text}
    if r.random() < 0.6:
        config["tie_word_embeddings"] = r.choice([True, False])
    return config


def names_of(model):
    """Names and shapes as our stages have them: wrappers' prefix away, fused tensors taken apart."""
    shapes = {}
    for name, parameter in model.named_parameters():
        if "vision" in name or "multi_modal" in name:
            continue
        shapes[name.replace("model.language_model.", "model.")] = list(parameter.shape)
    return shapes


def taken_apart(shapes, config, head_dim):
    query, key = config.num_attention_heads * head_dim, config.num_key_value_heads * head_dim
    for name in list(shapes):
        if "qkv_proj" in name:
            rows, columns = shapes.pop(name)
            assert rows == query + 2 * key
            for part, count in (("q", query), ("k", key), ("v", key)):
                shapes[name.replace("qkv_proj", part + "_proj")] = [count, columns]
        if "gate_up_proj" in name:
            rows, columns = shapes.pop(name)
            for part in ("gate", "up"):
                shapes[name.replace("gate_up_proj", part + "_proj")] = [rows // 2, columns]
    return shapes


def theirs(config):
    config = copy.deepcopy(config)
    made = CONFIG_MAPPING[config.pop("model_type")](**config)
    kind = AutoModelForImageTextToText if hasattr(made, "vision_config") else AutoModelForCausalLM
    with torch.device("meta"):
        meta = kind.from_config(copy.deepcopy(made))
    text = getattr(made, "text_config", made)
    base = AutoModelForCausalLM.from_config(copy.deepcopy(text)).model
    attention = [layer.self_attn for layer in base.layers]
    head_dim = attention[0].head_dim
    padding = base.embed_tokens.padding_idx
    answer = {"tied": bool(made.tie_word_embeddings), "head_dim": head_dim,
              "padding_token": -1 if padding is None else padding, "norm_epsilon": text.rms_norm_eps,
              "tensors": taken_apart(names_of(meta), text, head_dim),
              "attention_scale": attention[0].scaling,
              "embedding_multiplier": getattr(text, "embedding_multiplier", 1.0),
              "residual_multiplier": getattr(text, "residual_multiplier", 1.0),
              "logit_multiplier": 1.0 / getattr(text, "logits_scaling", 1.0), "layers": []}
    if text.model_type == "gemma3_text":
        answer["embedding_multiplier"] = text.hidden_size**0.5
    position = torch.arange(SEQUENCE)[None]
    for index, module in enumerate(attention):
        window = getattr(module, "sliding_window", None)
        if text.model_type in ("phi3", "mistral", "ministral3"):
            window = text.sliding_window
        rotates = getattr(module, "use_rope", True)
        if text.model_type == "exaone4":
            rotates = window is None or module.is_sliding
            window = window if module.is_sliding else None
        rotary, kind = base.rotary_emb, None
        if isinstance(getattr(rotary, "rope_type", None), dict):
            kind = text.layer_types[index]
            rotary(torch.zeros(1), position, kind)
            frequencies, factor = getattr(rotary, kind + "_inv_freq"), getattr(rotary, kind + "_attention_scaling")
        else:
            rotary(torch.zeros(1), position)
            frequencies, factor = rotary.inv_freq, rotary.attention_scaling
        scale = 1.0
        if text.model_type == "ministral3":
            rope = text.rope_parameters
            scale = get_llama_4_attn_scale(torch.tensor([[SEQUENCE - 1]]), rope["llama_4_scaling_beta"],
                                           rope["original_max_position_embeddings"]).item()
        if not rotates:
            frequencies, factor = torch.zeros(0), 1.0
        answer["layers"].append({"window": window or 0, "frequencies": frequencies.tolist(), "factor": factor,
                                 "query_scale": scale})
    return answer


def close(a, b, relative=1e-6):
    return abs(a - b) <= relative * max(abs(a), abs(b), 1e-30)


def differences(ours, them, config):
    found = []
    for key in ("tied", "head_dim", "padding_token", "tensors"):
        # A wrapper without the key: see ReadWrapped in model/read_config.cc.
        if "text_config" in config and "tie_word_embeddings" not in config and key in ("tied", "tensors"):
            continue
        if ours[key] != them[key]:
            found.append(f"{key}: {ours[key]} but {them[key]}" if key != "tensors" else
                         f"tensors: {set(map(str, ours[key].items())) ^ set(map(str, them[key].items()))}")
    for key in ("norm_epsilon", "embedding_multiplier", "residual_multiplier", "logit_multiplier"):
        if not close(ours[key], them[key]):
            found.append(f"{key}: {ours[key]} but {them[key]}")
    scale = ours["attention_scale"] or ours["head_dim"]**-0.5
    if not close(scale, them["attention_scale"]):
        found.append(f"attention_scale: {scale} but {them['attention_scale']}")
    for index, (a, b) in enumerate(zip(ours["layers"], them["layers"], strict=True)):
        if a["window"] != b["window"]:
            found.append(f"layer {index}: window {a['window']} but {b['window']}")
        if len(a["frequencies"]) != len(b["frequencies"]) or not all(map(close, a["frequencies"], b["frequencies"])):
            found.append(f"layer {index}: frequencies {a['frequencies'][:4]} but {b['frequencies'][:4]}")
        if not close(a["factor"], b["factor"]) or not close(a["query_scale"], b["query_scale"]):
            found.append(f"layer {index}: factor {a['factor']}, {a['query_scale']} but {b['factor']}, {b['query_scale']}")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--configs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES) + list(WRAPPERS), metavar="NAME")
    arguments = parser.parse_args()
    r = random.Random(arguments.seed)
    configs = []
    for _ in range(arguments.configs):
        kind = r.choice(arguments.families)
        configs.append(wrap(r, kind) if kind in WRAPPERS else draw(r, kind))
    lines = subprocess.run([arguments.tool, str(SEQUENCE)], input="".join(json.dumps(c) + "\n" for c in configs),
                           capture_output=True, text=True, check=True).stdout.splitlines()
    counts, reasons, wrong = collections.Counter(), collections.Counter(), 0
    for config, line in zip(configs, lines, strict=True):
        ours = json.loads(line)
        try:
            them = theirs(config)
        except Exception as error:  # whatever transformers raises is its refusal
            counts["refused by both" if "error" in ours else "refused by transformers only"] += 1
            if "error" not in ours:
                reasons["theirs: " + config["model_type"] + ": " + str(error).split("\n")[-1][:100]] += 1
            continue
        if "error" in ours:
            counts["refused by us only"] += 1
            reasons["ours: " + ours["error"].split(" ", 1)[1][:110]] += 1
            continue
        found = differences(ours, them, config)
        counts["equal" if not found else "different"] += 1
        if found or ours["ignored"]:
            wrong += 1
            print(json.dumps(config), found, ours["ignored"])
    print(dict(counts))
    for reason, count in sorted(reasons.items()):
        print(f"{count:5} {reason}")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
