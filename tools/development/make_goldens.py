#!/usr/bin/env python3
"""Development only: makes the golden files in tests/goldens with PyTorch and transformers.

    make_goldens.py model NAME...      a new tiny model and its expected.json (names: see MODELS)
    make_goldens.py generated NAME...  generated.json: greedy decoding
    make_goldens.py stages NAME...     stages.safetensors: both halves of some layers, and the final norm
    make_goldens.py frozen NAME...     frozen.json: runs that train some tensors only (names: see FROZEN)
    make_goldens.py bf16 NAME...       bf16.json and bf16_gradients.safetensors: a step from weights rounded to bf16
    make_goldens.py router_loss NAME...
                                       router_loss.json: runs with the auxiliary loss of routers
    make_goldens.py check NAME...      recomputes expected.json and the answers made from it, but stages and generated,
                                       in fp32 and compares with those stored
    make_goldens.py frozen_noise NAME...
                                       recomputes frozen.json in fp64 and from weights that differ by rounding errors;
                                       prints the largest differences
    make_goldens.py noise NAME...      recomputes everything in fp64 and prints the largest differences; trains, too,
                                       from weights that differ by rounding errors

Needs torch, transformers and safetensors, which the project itself does not. All answers are computed in fp32 with
eager attention on one thread. tests/goldens/README.md describes the files. `check` exits with 1 when the
first step differs by more than 1e-6 (relative; gpt_oss: 5e-6), or a later loss by more than 5e-5: the run amplifies
rounding errors.
Mixtures of experts: see golden_experts.py. bf16 and router_loss are for these alone.
"""
import argparse
import contextlib
import fnmatch
import json
import math
import os
import pathlib
import random
import sys
import tempfile
import unittest.mock

os.environ.setdefault("OMP_NUM_THREADS", "1")

import safetensors.torch  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS  # noqa: E402

import golden_experts  # noqa: E402

GOLDENS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "goldens"
OPTIMIZER = {
    "kind": "adamw",
    "learning_rate": 0.01,
    "beta1": 0.9,
    "beta2": 0.95,
    "epsilon": 1e-8,
    "weight_decay": 0.1,
    "decay_all_parameters": True,
    "clip_norm": 1.0,
}
# What `check` allows where it is not 1e-6: some gradients of sinks and biases nearly cancel.
FIRST_STEP_TOLERANCE = {"gpt_oss": 5e-6}
# Elements of each final weight in frozen.json, evenly spaced from the first to the last.
WEIGHT_SAMPLES = 3
# Attention and experts as plain matrix products.
EAGER = {"attn_implementation": "eager", "experts_implementation": "eager"}
PROMPT_LENGTHS = [9, 20]
NEW_TOKENS = 16
# Both sides sum some hundred terms in fp32; logits that are closer than this may change places.
SMALLEST_GAP = 1e-3
# How many seeds of prompts are tried.
SEEDS = 60
STAGE_ROWS, STAGE_TOKENS = 2, 24
# One layer of each kind. Layers of the families that are not listed are all of one kind: layer 1 stands for them.
STAGE_LAYERS = {"exaone4": [1, 3], "gemma3": [1, 5], "olmo3": [1, 3], "smollm3": [1, 3], "gpt_oss": [0, 1],
                "qwen3_moe_sparse": [1, 3]}
# Layers of these whose second half is left out to keep the files small: it is that of another layer listed.
STAGE_ATTENTION_ALONE = {"gpt_oss": [0]}
# Routers of which two logits are closer than this might choose other experts in fp32 and in fp64. Where inputs can be
# drawn again, they are.
SMALLEST_ROUTER_GAP = 1e-3
# Elements of each gradient in bf16_gradients.safetensors, at most.
GRADIENT_SAMPLES = 1024
ROUTER_LOSS_COEFFICIENT = 0.05
ROUTER_LOSS_STEPS = 4
# The cases of router_loss.json: how many tokens of each row are not padding.
ROUTER_LOSS_ROWS = {"whole": [40, 40], "padded": [33, 26]}

COMMON = {
    "vocab_size": 320,
    "hidden_size": 64,
    "intermediate_size": 112,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "use_cache": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
    # nn.Embedding gives the row of the padding token no gradient, so there is none.
    "pad_token_id": None,
}
# The published beta_fast and beta_slow (32 and 1) leave no frequency on the ramp when the length is 16; these do.
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16,
        "beta_fast": 4.0, "beta_slow": 0.25}
MINISTRAL3 = COMMON | {
    "head_dim": 32,
    "tie_word_embeddings": False,
    # The published values (mscale = mscale_all_dim = 1) give an attention factor of 1; these do not.
    "rope_parameters": YARN | {"factor": 16.0, "mscale": 1.0, "mscale_all_dim": 0.5, "llama_4_scaling_beta": 0.1},
}


def phi3(original, window, tied):
    """Two heads of 32, of which 24 elements are rotated: 12 frequencies with their factors."""
    return transformers.Phi3Config(**COMMON | {
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "original_max_position_embeddings": original,
        "sliding_window": window,
        "tie_word_embeddings": tied,
        "rope_parameters": {
            "rope_type": "longrope",
            "rope_theta": 10000.0,
            "partial_rotary_factor": 0.75,
            "short_factor": [1.0 + 0.0625 * i for i in range(12)],
            "long_factor": [1.25 + 0.75 * i for i in range(12)],
        },
    })


def qwen3_moe(**settings):
    """Weights of experts that do not sum to one."""
    return transformers.Qwen3MoeConfig(**COMMON | {"head_dim": 16, "norm_topk_prob": False} | settings)


def gemma3_wrapper():
    # The scale of the embeddings, sqrt(48), is not exact in any format.
    text = COMMON | {
        "hidden_size": 48,
        "head_dim": 16,
        "num_hidden_layers": 7,
        "rms_norm_eps": 1e-6,
        "pad_token_id": None,
        "query_pre_attn_scalar": 24,
        "sliding_window": 8,
        "rope_parameters": {
            "full_attention": {"rope_type": "linear", "rope_theta": 1000000.0, "factor": 8.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        },
    }
    vision = {
        "model_type": "siglip_vision_model",
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "image_size": 4,
        "patch_size": 2,
        "vision_use_head": False,
    }
    return transformers.Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4, boi_token_index=320,
                                     eoi_token_index=321, image_token_index=322, tie_word_embeddings=True)


def mistral3_wrapper():
    vision = {
        "model_type": "pixtral",
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "image_size": 8,
        "patch_size": 2,
    }
    return transformers.Mistral3Config(text_config=MINISTRAL3 | {"model_type": "ministral3"}, vision_config=vision,
                                       image_token_index=320, tie_word_embeddings=False)


# Every model that this script makes: its class, its configuration and the seed of its weights. With those of mixtures
# of experts no router is near a tie: not in the first step with weights in bf16, nor in a later one in fp32.
MODELS = {
    "olmo3": (transformers.Olmo3ForCausalLM, lambda: transformers.Olmo3Config(**COMMON | {
        "num_hidden_layers": 5,
        "layer_types": ["full_attention" if (i + 1) % 4 == 0 else "sliding_attention" for i in range(5)],
        "sliding_window": 8,
        "rope_parameters": {
            "full_attention": YARN,
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        },
    }), 14),
    "granite": (transformers.GraniteForCausalLM, lambda: transformers.GraniteConfig(**COMMON | {
        "num_hidden_layers": 3,
        "embedding_multiplier": 12.0,
        "residual_multiplier": 0.22,
        "attention_multiplier": 0.0625,
        "logits_scaling": 8.0,
        "tie_word_embeddings": True,
    }), 22),
    "exaone4": (transformers.Exaone4ForCausalLM, lambda: transformers.Exaone4Config(**COMMON | {
        "num_hidden_layers": 5,
        "layer_types": ["full_attention" if (i + 1) % 4 == 0 else "sliding_attention" for i in range(5)],
        "sliding_window": 8,
        "sliding_window_pattern": "LLLG",
        # With this length some of the 8 frequencies stay, some are on the ramp and some are divided.
        "rope_parameters": {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0, "low_freq_factor": 1.0,
                            "high_freq_factor": 4.0, "original_max_position_embeddings": 64},
    }), 23),
    "ministral3": (transformers.Ministral3ForCausalLM, lambda: transformers.Ministral3Config(**MINISTRAL3), 13),
    "phi3_longrope": (transformers.Phi3ForCausalLM, lambda: phi3(32, 12, True), 11),
    "phi3_short": (transformers.Phi3ForCausalLM, lambda: phi3(64, None, False), 15),
    "qwen3_moe_sparse": (transformers.Qwen3MoeForCausalLM, lambda: qwen3_moe(
        # Layer 1 alone has experts: layers 0 and 2 are no second layers, and layer 3 is listed.
        num_hidden_layers=4, decoder_sparse_step=2, mlp_only_layers=[3], moe_intermediate_size=40, num_experts=6,
        num_experts_per_tok=3), 58),
    "qwen3_moe_top1": (transformers.Qwen3MoeForCausalLM, lambda: qwen3_moe(
        num_hidden_layers=2, moe_intermediate_size=24, num_experts=5, num_experts_per_tok=1, attention_bias=True), 51),
    "gpt_oss_clamped": (transformers.GptOssForCausalLM, lambda: transformers.GptOssConfig(**COMMON | {
        "head_dim": 16,
        "intermediate_size": 48,
        "sliding_window": 8,
        "num_local_experts": 4,
        "num_experts_per_tok": 3,
        # The published values are 7.0, which nothing in gpt_oss reaches, and 1.702.
        "swiglu_limit": 0.5,
        "swiglu_alpha": 1.25,
        "tie_word_embeddings": False,
        "rope_parameters": YARN | {"truncate": False},
    }), 101),
    "gemma3_wrapper": (transformers.Gemma3ForConditionalGeneration, gemma3_wrapper, 16),
    "mistral3_wrapper": (transformers.Mistral3ForConditionalGeneration, mistral3_wrapper, 21),
}


def frozen_cases(layers, tied, extra=(), first="model.layers.0.*"):
    """Cases of frozen.json that suit every model, and extra ones: (name, train, freeze)."""
    last = f"model.layers.{layers - 1}.*"
    return [
        ("all", [], []),
        ("first_layers", ["model.embed_tokens.*", first], []),
        ("last_layer_with_head", [last, "model.norm.weight", "lm_head.weight"], []),
        ("last_layer", [last], []),
        *([("table_by_head_name", ["lm_head.weight"], []), ("table_by_embedding_name", ["*embed_tokens*"], [])] if tied
          else [("embeddings", ["model.embed_tokens.weight"], []), ("head", ["lm_head.weight"], [])]),
        ("no_tables", [], ["model.embed_tokens.weight", "lm_head.*"]),
        ("norms", ["*norm*"], []),
        ("final_norm", ["model.norm.weight"], []),
        ("output_projection", ["model.layers.1.self_attn.o_proj.weight"], []),
        ("down_projection", ["model.layers.1.mlp.down_proj.weight"], []),
        *extra,
    ]


# A norm, q, k, v, gate or up as the lowest tensor that is trained: each ends the backward pass at another place.
SEPARATE = [
    ("values", ["model.layers.1.self_attn.v_proj.weight"], []),
    ("keys", ["model.layers.1.self_attn.k_proj.weight"], []),
    ("queries_from_layer_1", ["*.q_proj.weight"], ["model.layers.0.*"]),
    ("gates", ["*.gate_proj.weight"], []),
    ("up_projection", ["model.layers.1.mlp.up_proj.weight", "model.norm.weight"], []),
    ("attention_of_layers_1_and_2", ["model.layers.[12].*"], ["*.mlp.*", "*norm*"]),
]
NORM_BEFORE = [
    ("attention_norm", ["model.layers.1.input_layernorm.weight"], []),
    ("feed_forward_norm_and_above", ["model.layers.1.post_attention_layernorm.weight", "model.layers.2.*"], []),
]
QK_NORM = [
    ("query_and_key_norms", ["*.q_norm.*", "*.k_norm.*"], []),
    ("key_norm", ["model.layers.1.self_attn.k_norm.weight"], []),
    ("query_norm", ["model.layers.1.self_attn.q_norm.weight"], []),
]
NORM_AFTER = [
    ("norm_after_attention", ["model.layers.1.post_attention_layernorm.weight"], []),
    ("norm_after_feed_forward", ["model.layers.1.post_feedforward_layernorm.weight"], []),
]


def expert_cases(layers, tied, router, experts, extra=()):
    """Cases of frozen.json for mixtures of experts; router and experts: patterns.

    Some cases are for some models alone, since in the runs of others two logits of a router come so close that rounding
    errors decide which expert is chosen."""
    chosen = ("all", "last_layer", "no_tables", "norms", "output_projection")
    return [case for case in frozen_cases(layers, tied) if case[0] in chosen] + [
        ("routers", [router], []),
        ("no_routers", [], [router]),
        ("router_of_layer_1", [f"model.layers.1.{router}"], []),
        ("no_experts", [], [experts]),
        ("attention", ["*.self_attn.*"], []),
        *extra,
    ]


# What frozen.json has by model. Patterns are those of fnmatch, on the names of tensors on disk; a tied table has two.
FROZEN = {
    "llama": frozen_cases(3, False, SEPARATE + NORM_BEFORE),
    "qwen2": frozen_cases(3, True, SEPARATE + [
        ("biases", ["*.bias"], []),
        ("value_bias", ["model.layers.1.self_attn.v_proj.bias"], []),
        ("key_bias", ["model.layers.1.self_attn.k_proj.bias"], []),
        ("query_weight_without_bias", ["model.layers.1.self_attn.q_proj.*"], ["*.bias"]),
        ("no_biases", [], ["*.bias"]),
    ]),
    "qwen3": frozen_cases(3, True, QK_NORM + NORM_BEFORE),
    "gemma3": [case for case in frozen_cases(7, True, QK_NORM + NORM_AFTER) if case[0] not in
               ("all", "no_tables", "table_by_embedding_name", "norms")] + [
        ("attention_norm", ["model.layers.5.input_layernorm.weight"], []),
        ("feed_forward_norm", ["model.layers.1.pre_feedforward_layernorm.weight"], []),
        ("some_norms", ["*norm*"], ["model.layers.[0-4].*"]),
    ],
    "olmo3": frozen_cases(5, False, SEPARATE + QK_NORM + NORM_AFTER),
    # With layer 0 alone the run amplifies rounding errors (losses by 8e-5).
    "phi3": frozen_cases(3, False, first="model.layers.[01].*", extra=NORM_BEFORE + [
        ("fused_qkv", ["model.layers.1.self_attn.qkv_proj.weight"], []),
        ("fused_gate_up", ["model.layers.1.mlp.gate_up_proj.weight"], []),
        ("fused", ["*.qkv_proj.*", "*.gate_up_proj.*"], ["model.layers.2.*"]),
    ]),
    "granite": [case for case in frozen_cases(3, True, NORM_BEFORE) if case[0] != "all"] + SEPARATE[:1],
    "mixtral": expert_cases(3, False, "*.gate.weight", "*.experts.*", [
        ("experts", ["*.experts.*"], []),
        ("experts_of_layer_1", ["model.layers.1.*.experts.*"], []),
        ("gates", ["*.w1.weight"], []),
        ("down_projections", ["*.w2.weight"], []),
        ("up_projections_of_layer_1", ["model.layers.1.*.w3.weight"], []),
    ]),
    "qwen3_moe": expert_cases(3, False, "*.gate.weight", "*.experts.*", [
        ("experts_of_layers_1_and_2", ["*.experts.*"], ["model.layers.0.*"]),
        ("experts_of_layer_1", ["model.layers.1.*.experts.*"], []),
        ("down_projections", ["*.experts.*.down_proj.weight"], []),
    ]),
    "gpt_oss": expert_cases(4, False, "*.router.*", "*.experts.*", [
        ("experts", ["*.experts.*"], []),
        ("experts_of_layer_3", ["model.layers.3.mlp.experts.*"], []),
        ("routers_and_experts", ["*.mlp.*"], []),
        ("router_biases", ["*.router.bias"], []),
        ("expert_biases", ["*.experts.*_bias"], []),
        ("no_expert_biases", [], ["*.experts.*_bias"]),
        ("gates_and_ups", ["*.experts.gate_up_proj"], []),
        ("down_projections", ["*.experts.down_proj"], []),
        ("down_bias_of_layer_1", ["model.layers.1.mlp.experts.down_proj_bias"], []),
        ("sinks", ["*.sinks"], []),
        ("sinks_of_layer_2", ["model.layers.2.self_attn.sinks"], []),
        ("no_sinks", [], ["*.sinks"]),
        ("biases", ["*bias"], []),
    ]),
    "gpt_oss_clamped": [
        ("all", [], []),
        ("routers", ["*.router.*"], []),
        ("gates_and_ups", ["*.experts.gate_up_proj"], []),
        ("gate_and_up_biases", ["*.experts.gate_up_proj_bias"], []),
        ("sinks", ["*.sinks"], []),
    ],
    "qwen3_moe_sparse": [
        ("all", [], []),
        ("routers", ["*.mlp.gate.weight"], []),
        ("experts", ["*.experts.*"], []),
        ("no_experts", [], ["*.experts.*"]),
        ("dense_layers", ["*.mlp.down_proj.weight"], []),
    ],
    "qwen3_moe_top1": [
        ("all", [], []),
        ("routers", ["*.mlp.gate.weight"], []),
        ("no_routers", [], ["*.mlp.gate.weight"]),
        ("experts", ["*.experts.*"], []),
    ],
}


# --- Models ---


# Standard deviations by a part of the name; the first that fits counts.
SCALES = {
    # Larger queries and keys: attention that is not nearly uniform shows the rotation.
    "": {"q_proj": 0.1, "k_proj": 0.1, "qkv_proj": 0.1, "": 0.05},
    # EXAONE 4 and OLMo have no norm before its first layer; with small embeddings the run would amplify rounding errors.
    "exaone4": {"embed_tokens": 0.5, "q_proj": 0.1, "k_proj": 0.1, "": 0.05},
    "olmo3": {"embed_tokens": 0.5, "q_proj": 0.1, "k_proj": 0.1, "": 0.05},
    # Routers that prefer some experts.
    "qwen3_moe": {"mlp.gate.weight": 0.2, "q_proj": 0.1, "k_proj": 0.1, "": 0.05},
    "gpt_oss": {"router.weight": 0.2, "gate_up_proj": 0.1, "q_proj": 0.1, "k_proj": 0.1, "": 0.05},
    # The multipliers (12 and 0.22) would hide the layers behind the embeddings.
    "granite": {"embed_tokens": 0.03, "": 0.2},
}


def fill_random(model, seed):
    """Fixed weights. Norm weights differ from their start (1, or 0 for Gemma's 1 + w), biases from 0."""
    scales = SCALES.get(model.config.model_type, SCALES[""])
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() == 1:
                parameter.add_(0.1 * noise)
            else:
                parameter.copy_(next(scale for part, scale in scales.items() if part in name) * noise)


@contextlib.contextmanager
def all_fp64():
    """Makes the casts to fp32 inside transformers (norms, softmax, rotation, loss) casts to fp64."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with unittest.mock.patch.object(torch, "float32", torch.float64), \
                unittest.mock.patch.object(torch, "float", torch.float64), \
                unittest.mock.patch.object(torch.Tensor, "float", torch.Tensor.double):
            yield
    finally:
        torch.set_default_dtype(default)


def model_class(folder):
    config = json.loads((folder / "config.json").read_text())
    return getattr(transformers, config["architectures"][0])


def load(folder):
    """The stored model in fp32. Its parameters are the tensors on disk."""
    model = model_class(folder).from_pretrained(folder, dtype=torch.float32, **EAGER)
    golden_experts.split_experts(decoder(model))
    return model


def load_fp64(folder, weights):
    """The model inside all_fp64(); weights: the parameters of the fp32 model by their names in memory."""
    config = transformers.AutoConfig.from_pretrained(folder)
    config.dtype = None
    model = model_class(folder)._from_config(config, **EAGER).double()
    golden_experts.split_experts(decoder(model))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])
    return model


def disk_names(model, folder):
    """The name on disk of every parameter in memory: the tensor with the same values."""
    stored = safetensors.torch.load_file(folder / "model.safetensors")
    names = {}
    for name, parameter in model.named_parameters():
        found = [key for key, tensor in stored.items() if torch.equal(tensor, parameter)]
        assert len(found) == 1, (name, found)
        names[name] = found[0]
    assert sorted(names.values()) == sorted(stored), "every stored tensor is a parameter"
    return names


def decoder(model):
    """The module with embed_tokens, layers, norm and rotary_emb."""
    return getattr(model.model, "language_model", model.model)


# --- Training: expected.json ---


def read_batches():
    """Every golden uses the same batches."""
    return json.loads((GOLDENS / "llama" / "expected.json").read_text())["batches"]


def cross_entropy(model, batch):
    return model(input_ids=torch.tensor(batch["input_ids"]), labels=torch.tensor(batch["labels"])).loss


def train(model, batches, names, compute_loss=cross_entropy):
    """The AdamW run. Parameters without a gradient (a vision tower) take no part in anything."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=OPTIMIZER["learning_rate"],
                                  betas=(OPTIMIZER["beta1"], OPTIMIZER["beta2"]), eps=OPTIMIZER["epsilon"],
                                  weight_decay=OPTIMIZER["weight_decay"])
    losses, norms, first_norms = [], [], None
    for batch in batches:
        optimizer.zero_grad()
        loss = compute_loss(model, batch)
        loss.backward()
        if first_norms is None:
            first_norms = {names[name]: parameter.grad.norm().item()
                           for name, parameter in model.named_parameters() if parameter.grad is not None}
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), OPTIMIZER["clip_norm"])
        optimizer.step()
        losses.append(loss.item())
        norms.append(norm.item())
    return {
        "batches": batches,
        "first_loss": losses[0],
        "gradient_norm": norms[0],
        "gradient_norms": first_norms,
        "optimizer": OPTIMIZER,
        "losses": losses,
        "gradient_norm_per_step": norms,
    }


def relative(got, wanted):
    """The gradient of an expert that no token chose is 0 on both sides."""
    return abs(got - wanted) / abs(wanted) if got != wanted else 0.0


def differences(got, wanted):
    """The largest relative differences of two expected.json."""
    assert got["batches"] == wanted["batches"] and got["optimizer"] == wanted["optimizer"]
    assert list(got) == list(wanted)
    names = wanted["gradient_norms"]
    assert list(got["gradient_norms"]) == list(names)
    return {
        "first_loss": relative(got["first_loss"], wanted["first_loss"]),
        "gradient_norm": relative(got["gradient_norm"], wanted["gradient_norm"]),
        "gradient_norms": max(relative(got["gradient_norms"][name], names[name]) for name in names),
        "losses": max(map(relative, got["losses"], wanted["losses"])),
        "gradient_norm_per_step": max(map(relative, got["gradient_norm_per_step"], wanted["gradient_norm_per_step"])),
    }


def make_model(name):
    cls, config, seed = MODELS[name]
    torch.manual_seed(seed)
    model = cls(config())
    fill_random(model, seed)
    folder = GOLDENS / name
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as saved:
        model.save_pretrained(saved)
        for file in ["config.json", "model.safetensors"]:
            (folder / file).write_bytes((pathlib.Path(saved) / file).read_bytes())
    model = load(folder)
    expected = train(model, read_batches(), disk_names(model, folder))
    (folder / "expected.json").write_text(json.dumps(expected, indent=1))
    print(f"{name}: loss {expected['first_loss']:.6f}, gradient norm {expected['gradient_norm']:.6f}")


def stored_expected(folder):
    return json.loads((folder / "expected.json").read_text())


def check(name):
    folder = GOLDENS / name
    model = load(folder)
    wanted = stored_expected(folder)
    found = differences(train(model, wanted["batches"], disk_names(model, folder)), wanted)
    print(name, " ".join(f"{key} {value:.1e}" for key, value in found.items()))
    first_step = max(found["first_loss"], found["gradient_norm"], found["gradient_norms"])
    good = first_step < FIRST_STEP_TOLERANCE.get(name, 1e-6) and found["losses"] < 5e-5
    return all([good, check_frozen(name), check_bf16(name), check_router_loss(name)])


# --- Training of some tensors: frozen.json ---


def trained_names(model, names, case):
    """The parameters in memory that a case trains."""
    _, train_patterns, freeze_patterns = case
    tied = model.config.get_text_config().tie_word_embeddings

    def matches(name, patterns):
        both = ["model.embed_tokens.weight", "lm_head.weight"]
        return any(fnmatch.fnmatchcase(called, pattern) for pattern in patterns
                   for called in (both if tied and names[name] in both else [names[name]]))

    return [name for name in names if (not train_patterns or matches(name, train_patterns))
            and not matches(name, freeze_patterns)]


def train_some(model, batches, names, case):
    """A case: the AdamW run in which the other parameters need no gradient, and some numbers of the final weights."""
    trained = trained_names(model, names, case)
    assert trained, case
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in trained)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    run = train(model, batches, names)
    assert list(run["gradient_norms"]) == [names[name] for name in before if name in trained], case
    weights = {}
    for name, parameter in model.named_parameters():
        values = parameter.detach().flatten()
        if name not in trained:
            assert torch.equal(parameter, before[name]), (case, name)
            continue
        change = (values.double() - before[name].flatten().double()).norm()
        samples = values[torch.linspace(0, len(values) - 1, WEIGHT_SAMPLES).long()].tolist()
        weights[names[name]] = [values.double().norm().item(), change.item(), *samples]
    return {
        "losses": run["losses"],
        "gradient_norm_per_step": run["gradient_norm_per_step"],
        "gradient_norms": run["gradient_norms"],
        "weights": weights,
    }


def short(value):
    """JSON with nine digits, which tell all fp32 numbers apart."""
    if isinstance(value, float):
        return json.dumps(float(f"{value:.9g}"))
    if isinstance(value, list):
        return "[" + ", ".join(map(short, value)) + "]"
    return json.dumps(value)


def make_frozen(name):
    folder = GOLDENS / name
    batches = stored_expected(folder)["batches"]
    cases = []
    for case in FROZEN[name]:
        model = load(folder)
        run = train_some(model, batches, disk_names(model, folder), case)
        if case[0] == "all":
            assert max(map(relative, run["losses"], stored_expected(folder)["losses"])) < 5e-6, name
        # A line for each tensor: gradient norm of the first step, then the numbers of the final weights.
        tensors = [f"    {json.dumps(tensor)}: {short([run['gradient_norms'][tensor], *run['weights'][tensor]])}"
                   for tensor in run["weights"]]
        cases.append("\n".join([
            "  {",
            f'   "name": {json.dumps(case[0])},',
            f'   "train": {json.dumps(case[1])},',
            f'   "freeze": {json.dumps(case[2])},',
            f'   "losses": {short(run["losses"])},',
            f'   "gradient_norm_per_step": {short(run["gradient_norm_per_step"])},',
            '   "tensors": {\n' + ",\n".join(tensors) + "\n   }",
            "  }",
        ]))
    (folder / "frozen.json").write_text('{\n "cases": [\n' + ",\n".join(cases) + "\n ]\n}\n")
    print(f"{name}: {len(cases)} cases, {(folder / 'frozen.json').stat().st_size} bytes")


def stored_frozen(folder):
    """By case what train_some returned."""
    if not (folder / "frozen.json").exists():
        return {}
    return {
        case["name"]: {
            "losses": case["losses"],
            "gradient_norm_per_step": case["gradient_norm_per_step"],
            "gradient_norms": {name: numbers[0] for name, numbers in case["tensors"].items()},
            "weights": {name: numbers[1:] for name, numbers in case["tensors"].items()},
        }
        for case in json.loads((folder / "frozen.json").read_text())["cases"]
    }


def frozen_differences(got, wanted):
    """The largest differences of two runs of a case: relative ones, of a weight's samples absolute ones."""
    tensors = wanted["weights"]
    return {
        "first_loss": relative(got["losses"][0], wanted["losses"][0]),
        "losses": max(map(relative, got["losses"], wanted["losses"])),
        "gradient_norm": relative(got["gradient_norm_per_step"][0], wanted["gradient_norm_per_step"][0]),
        "gradient_norm_per_step": max(map(relative, got["gradient_norm_per_step"], wanted["gradient_norm_per_step"])),
        "gradient_norms": max(relative(got["gradient_norms"][name], wanted["gradient_norms"][name])
                              for name in tensors),
        "weight_norms": max(relative(got["weights"][name][0], tensors[name][0]) for name in tensors),
        "change_norms": max(relative(got["weights"][name][1], tensors[name][1]) for name in tensors),
        "samples": max(abs(a - b) for name in tensors for a, b in zip(got["weights"][name][2:], tensors[name][2:])),
    }


def frozen_noise(name):
    folder = GOLDENS / name
    batches, stored = stored_expected(folder)["batches"], stored_frozen(folder)
    exact, perturbed = {}, {}

    def keep(worst, got, case):
        for key, value in frozen_differences(got, stored[case[0]]).items():
            worst[key] = max(worst.get(key, (0, "")), (value, case[0]))

    model = load(folder)
    names, weights = disk_names(model, folder), dict(model.named_parameters())
    for case in FROZEN[name]:
        with all_fp64():
            keep(exact, train_some(load_fp64(folder, weights), batches, names, case), case)
        for seed in range(8):
            model = load(folder)
            perturb(model, seed)
            keep(perturbed, train_some(model, batches, names, case), case)
    for kind, worst in [("fp64", exact), ("perturbed", perturbed)]:
        print(name, kind, " ".join(f"{key} {value:.1e} ({case})" for key, (value, case) in worst.items()), flush=True)


def check_frozen(name):
    folder = GOLDENS / name
    stored = stored_frozen(folder)
    assert list(stored) == [case[0] for case in FROZEN.get(name, [])], f"{name}: frozen.json has other cases"
    worst = {}
    for case in FROZEN.get(name, []):
        model = load(folder)
        run = train_some(model, stored_expected(folder)["batches"], disk_names(model, folder), case)
        for key, value in frozen_differences(run, stored[case[0]]).items():
            worst[key] = max(worst.get(key, 0), value)
    if not worst:
        return True
    print(name, "frozen", " ".join(f"{key} {value:.1e}" for key, value in worst.items()))
    first_step = max(worst["first_loss"], worst["gradient_norm"], worst["gradient_norms"])
    return first_step < FIRST_STEP_TOLERANCE.get(name, 1e-6) and worst["losses"] < 5e-5


# --- Mixtures of experts: bf16.json, router_loss.json ---


def pretty(value, depth=0):
    """JSON with a line for each member of an object."""
    if isinstance(value, dict):
        lines, ends = [f"{json.dumps(key)}: {pretty(inner, depth + 1)}" for key, inner in value.items()], "{}"
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        lines, ends = [pretty(inner, depth + 1) for inner in value], "[]"
    else:
        return short(value)
    indent = "\n" + " " * depth
    return f"{ends[0]}{indent} " + f",{indent} ".join(lines) + f"{indent}{ends[1]}"


def sample_gradient(gradient):
    """Elements of a gradient, evenly spaced from the first to the last; all of them if there are few."""
    count = min(gradient.numel(), GRADIENT_SAMPLES)
    return gradient.flatten()[[(gradient.numel() - 1) * i // max(count - 1, 1) for i in range(count)]].clone()


def bf16_step(model, batch, names):
    """What bf16.json says of the first batch, and samples of the gradients by the names on disk."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.bfloat16())
    with golden_experts.record_routers(decoder(model)) as routing:
        loss = cross_entropy(model, batch)
    loss.backward()
    gradients = {names[name]: parameter.grad for name, parameter in model.named_parameters()}
    return {
        "first_loss": loss.item(),
        "gradient_norm": torch.stack([gradient.norm() for gradient in gradients.values()]).norm().item(),
        "gradient_norms": {name: gradient.norm().item() for name, gradient in gradients.items()},
        "least_router_gap": routing.least_gap(),
    }, {name: sample_gradient(gradient) for name, gradient in gradients.items()}


def make_bf16(name):
    folder = GOLDENS / name
    model = load(folder)
    step, samples = bf16_step(model, read_batches()[0], disk_names(model, folder))
    (folder / "bf16.json").write_text(pretty(step) + "\n")
    safetensors.torch.save_file(samples, folder / "bf16_gradients.safetensors")
    print(f"{name}: loss {step['first_loss']:.6f}, least gap of routers {step['least_router_gap']:.1e}, "
          f"{(folder / 'bf16_gradients.safetensors').stat().st_size} bytes")


def bf16_differences(folder, step, samples):
    """The largest differences to what is stored: of samples as a part of the largest one."""
    stored = json.loads((folder / "bf16.json").read_text())
    gradients = safetensors.torch.load_file(folder / "bf16_gradients.safetensors")
    assert stored["gradient_norms"].keys() == step["gradient_norms"].keys() == gradients.keys() == samples.keys()
    return {
        "first_loss": relative(step["first_loss"], stored["first_loss"]),
        "gradient_norm": relative(step["gradient_norm"], stored["gradient_norm"]),
        "gradient_norms": max(relative(step["gradient_norms"][key], norm)
                              for key, norm in stored["gradient_norms"].items()),
        "samples": max(scaled_difference(gradients[key], samples[key].double()) for key in gradients),
    }


def report(name, what, found):
    print(name, what, " ".join(f"{key} {value:.1e}" for key, value in found.items()), flush=True)


def check_bf16(name):
    folder = GOLDENS / name
    if not (folder / "bf16.json").exists():
        return True
    model = load(folder)
    found = bf16_differences(folder, *bf16_step(model, read_batches()[0], disk_names(model, folder)))
    report(name, "bf16", found)
    return max(found.values()) < FIRST_STEP_TOLERANCE.get(name, 1e-6)


def router_loss_run(model, batches, names, case):
    """A case of router_loss.json: the loss of tokens and the auxiliary loss, trained together."""
    text, rows = decoder(model), ROUTER_LOSS_ROWS[case]
    transformers_loss = sys.modules[type(model).__module__].load_balancing_loss_func
    first, losses, router_losses = {}, [], []

    def compute_loss(model, batch):
        ids, labels = torch.tensor(batch["input_ids"]), torch.tensor(batch["labels"])
        mask = (torch.arange(ids.shape[1]) < torch.tensor(rows)[:, None]).long()
        with golden_experts.record_routers(text) as routing:
            loss = model(input_ids=ids, attention_mask=mask, labels=labels.masked_fill(mask == 0, -100)).loss
        router_loss = routing.loss(mask)
        # Of logits, its function computes the same as ours. What its models give to it may be probabilities.
        experts, chosen = routing.logits[0].shape[-1], routing.chosen[0].shape[-1]
        theirs = transformers_loss(tuple(routing.logits), experts, chosen, mask)
        assert relative(router_loss.item(), theirs.item()) < 1e-5, (router_loss, theirs)
        if not losses:
            first["counts"] = routing.counts(mask)
            first["mean_probabilities"] = routing.shares(mask)[1].tolist()
        losses.append(loss.item())
        router_losses.append(router_loss.item())
        return loss + ROUTER_LOSS_COEFFICIENT * router_loss

    run = train(model, batches[:ROUTER_LOSS_STEPS], names, compute_loss)
    return {
        "name": case,
        "row_tokens": rows,
        **first,
        "losses": losses,
        "router_losses": router_losses,
        "gradient_norm_per_step": run["gradient_norm_per_step"],
        "gradient_norms": run["gradient_norms"],
    }


def make_router_loss(name):
    folder = GOLDENS / name
    cases = []
    for case in ROUTER_LOSS_ROWS:
        model = load(folder)
        cases.append(router_loss_run(model, read_batches(), disk_names(model, folder), case))
        print(f"{name} {case}: loss {cases[-1]['losses'][0]:.6f}, router loss {cases[-1]['router_losses'][0]:.6f}")
    (folder / "router_loss.json").write_text(
        pretty({"coefficient": ROUTER_LOSS_COEFFICIENT, "cases": cases}) + "\n")


def router_loss_differences(got, wanted):
    assert got.keys() == wanted.keys() and got["counts"] == wanted["counts"]
    norms = wanted["gradient_norms"]
    assert got["gradient_norms"].keys() == norms.keys()
    found = {
        "first_loss": relative(got["losses"][0], wanted["losses"][0]),
        "first_router_loss": relative(got["router_losses"][0], wanted["router_losses"][0]),
        "gradient_norms": max(relative(got["gradient_norms"][key], norms[key]) for key in norms),
    }
    for key in ["mean_probabilities", "losses", "router_losses", "gradient_norm_per_step"]:
        found[key] = max(map(relative, got[key], wanted[key]))
    return found


def stored_router_loss(folder):
    if not (folder / "router_loss.json").exists():
        return []
    return json.loads((folder / "router_loss.json").read_text())["cases"]


def check_router_loss(name):
    folder = GOLDENS / name
    good = True
    for wanted in stored_router_loss(folder):
        model = load(folder)
        got = router_loss_run(model, read_batches(), disk_names(model, folder), wanted["name"])
        found = router_loss_differences(got, wanted)
        report(name, f"router_loss {wanted['name']}", found)
        first_step = max(found["first_loss"], found["first_router_loss"], found["gradient_norms"])
        good &= first_step < FIRST_STEP_TOLERANCE.get(name, 1e-6)
        good &= found["losses"] < 5e-5
    return good


def expert_noise(name, weights, names):
    """The largest differences of bf16.json and router_loss.json to fp64 and, for the second, to perturbed weights.
    Then the smallest cosine of the gradients of PyTorch in bf16 with those of bf16.json."""
    folder, batches = GOLDENS / name, read_batches()
    with all_fp64():
        exact = bf16_step(load_fp64(folder, weights), batches[0], names)
    report(name, "bf16", bf16_differences(folder, *exact))
    for wanted in stored_router_loss(folder):
        with all_fp64():
            exact = router_loss_run(load_fp64(folder, weights), batches, names, wanted["name"])
        report(name, f"router_loss {wanted['name']} fp64", router_loss_differences(exact, wanted))
        worst = {}
        for seed in range(8):
            model = load(folder)
            perturb(model, seed)
            got = router_loss_run(model, batches, names, wanted["name"])
            for key, value in router_loss_differences(got, wanted).items():
                worst[key] = max(worst.get(key, 0), value)
        report(name, f"router_loss {wanted['name']} perturbed", worst)
    _, samples = bf16_step(load(folder).bfloat16(), batches[0], names)
    stored = safetensors.torch.load_file(folder / "bf16_gradients.safetensors")
    cosines = {key: torch.cosine_similarity(samples[key].double(), stored[key].double(), dim=0).item()
               for key in stored if stored[key].any()}
    lowest = min(cosines, key=cosines.get)
    print(f"{name} PyTorch in bf16: cosine at least {cosines[lowest]:.5f} ({lowest})", flush=True)


# --- Generation: generated.json ---


def fix_longrope(model, tokens):
    """Chooses short or long factors once for `tokens` positions; transformers would choose at every step."""
    rotary = decoder(model).rotary_emb
    if rotary.rope_type != "longrope" and not hasattr(rotary, "fixed_longrope"):
        return
    rotary.fixed_longrope = True
    rotary.rope_type = "default"
    rotary.inv_freq, _ = ROPE_INIT_FUNCTIONS["longrope"](rotary.config, seq_len=tokens)


def decode(model, prompt):
    """Greedy tokens by whole forward passes, the smallest gap between the two largest logits, and that of routers."""
    fix_longrope(model, len(prompt) + NEW_TOKENS)
    ids, gap = list(prompt), math.inf
    with torch.no_grad(), golden_experts.record_routers(decoder(model)) as routing:
        for _ in range(NEW_TOKENS):
            logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]
            best = torch.topk(logits, 2)
            gap = min(gap, (best.values[0] - best.values[1]).item())
            ids.append(best.indices[0].item())
    return ids[len(prompt):], gap, routing.least_gap()


def draw_prompts(seed):
    draw = random.Random(seed)
    return [[draw.randrange(3, 320) for _ in range(length)] for length in PROMPT_LENGTHS]


def make_generated(name):
    model = load(GOLDENS / name)
    # Prompts without a near tie; of the first ones, those whose answers repeat themselves least.
    best = None
    for seed in range(1, SEEDS + 1):
        prompts = draw_prompts(seed)
        answers = [decode(model, prompt) for prompt in prompts]
        gap = min(gap for _, gap, _ in answers)
        router_gap = min(router_gap for *_, router_gap in answers)
        distinct = min(len(set(tokens)) for tokens, *_ in answers)
        if gap >= SMALLEST_GAP and router_gap >= SMALLEST_ROUTER_GAP and (best is None or distinct > best[0]):
            best = distinct, seed, prompts, answers, gap, router_gap
    if best is None:
        sys.exit(f"{name}: no prompts without a near tie")
    distinct, seed, prompts, answers, gap, router_gap = best
    lines = [
        f' "prompts": {json.dumps(prompts)}',
        f' "new_tokens": {NEW_TOKENS}',
        f' "tokens": {json.dumps([tokens for tokens, *_ in answers])}',
        f' "least_gap": {json.dumps(gap)}',
    ]
    (GOLDENS / name / "generated.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{name}: prompts of seed {seed}, least gap {gap:.2e}, of routers {router_gap:.2e}, "
          f"at least {distinct} distinct tokens")


# --- Halves of a layer: stages.safetensors ---


def halves(layer, settings):
    """Both halves of a decoder layer as functions of the residual stream, in the order of its own forward."""
    def attend(hidden):
        return layer.self_attn(hidden_states=hidden, **settings)[0]

    def feed(hidden):
        output = layer.mlp(hidden)
        return output[0] if isinstance(output, tuple) else output  # some experts return their weights, too

    if hasattr(layer, "pre_feedforward_layernorm"):  # Gemma 3: a norm before and after
        return (lambda x: x + layer.post_attention_layernorm(attend(layer.input_layernorm(x))),
                lambda x: x + layer.post_feedforward_layernorm(feed(layer.pre_feedforward_layernorm(x))))
    if hasattr(layer, "post_feedforward_layernorm"):  # OLMo 2 and 3: a norm after
        return (lambda x: x + layer.post_attention_layernorm(attend(x)),
                lambda x: x + layer.post_feedforward_layernorm(feed(x)))
    scale = getattr(layer, "residual_multiplier", 1.0)  # Granite
    return (lambda x: x + attend(layer.input_layernorm(x)) * scale,
            lambda x: x + feed(layer.post_attention_layernorm(x)) * scale)


def layer_settings(text, hidden):
    """What the model passes to each of its layers: masks, positions and rotation."""
    settings = {}

    def keep(index):
        def hook(_, args, kwargs):
            assert len(args) == 1
            settings[index] = kwargs
        return hook

    hooks = [layer.register_forward_pre_hook(keep(i), with_kwargs=True) for i, layer in enumerate(text.layers)]
    with torch.no_grad():
        text(inputs_embeds=hidden, use_cache=False)
    for hook in hooks:
        hook.remove()
    return settings


def stage_names(name, text):
    """The halves of each layer that has stages."""
    experts = golden_experts.expert_layers(text)
    stages = {}
    for index in STAGE_LAYERS.get(name, [1]):
        stages[index] = [f"layers.{index}.attention"]
        if index not in STAGE_ATTENTION_ALONE.get(name, []):
            stages[index].append(f"layers.{index}.{'experts' if index in experts else 'feed_forward'}")
    return stages


def draw_samples(name, text, seed):
    """By stage: a random input and a random gradient of the output."""
    generator = torch.Generator().manual_seed(seed)
    shape = (STAGE_ROWS, STAGE_TOKENS, text.norm.weight.shape[0])
    return {stage: (torch.randn(shape, generator=generator), torch.randn(shape, generator=generator))
            for stage in [*sum(stage_names(name, text).values(), []), "final_norm"]}


def compute_stages(name, model, names, samples):
    text = decoder(model)
    parameters = dict(model.named_parameters())
    tensors = {}

    def record(stage, function):
        hidden, gradient = (tensor.to(text.norm.weight.dtype) for tensor in samples[stage])
        hidden = hidden.clone().requires_grad_()
        output = function(hidden)
        found = torch.autograd.grad(output, [hidden, *parameters.values()], gradient, allow_unused=True)
        tensors[f"{stage}.input"] = hidden.detach()
        tensors[f"{stage}.output"] = output.detach()
        tensors[f"{stage}.output_gradient"] = gradient
        tensors[f"{stage}.input_gradient"] = found[0]
        for parameter, value in zip(parameters, found[1:]):
            if value is not None:
                tensors[f"{stage}.gradient.{names[parameter]}"] = value

    settings = layer_settings(text, samples["final_norm"][0].to(text.norm.weight.dtype))
    for index, stages in stage_names(name, text).items():
        attention, feed_forward = halves(text.layers[index], settings[index])
        for stage, function in zip(stages, [attention, feed_forward]):
            record(stage, function)
        hidden = tensors[f"layers.{index}.attention.input"]
        with torch.no_grad():
            whole = text.layers[index](hidden, **settings[index])
            assert torch.equal(feed_forward(attention(hidden)), whole), (name, index)
    record("final_norm", text.norm)
    return tensors


def make_stages(name):
    folder = GOLDENS / name
    model = load(folder)
    for seed in range(100, 100 + SEEDS):
        samples = draw_samples(name, decoder(model), seed)
        with golden_experts.record_routers(decoder(model)) as routing:
            tensors = compute_stages(name, model, disk_names(model, folder), samples)
        if routing.least_gap() >= SMALLEST_ROUTER_GAP:
            break
    else:
        sys.exit(f"{name}: no inputs without a near tie of routers")
    safetensors.torch.save_file({key: tensor.contiguous() for key, tensor in tensors.items()},
                                folder / "stages.safetensors")
    print(f"{name}: seed {seed}, {len(tensors)} tensors, {(folder / 'stages.safetensors').stat().st_size} bytes")


# --- Noise ---


def perturb(model, seed):
    """Changes all weights by about half a rounding step."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1 + 2**-24 * torch.randn(parameter.shape, generator=generator))


def perturbed_losses(folder, batches, names, wanted):
    """The largest change of the run's losses when the weights change by about half a rounding step (8 draws)."""
    worst = 0
    for seed in range(8):
        model = load(folder)
        perturb(model, seed)
        worst = max(worst, *map(relative, train(model, batches, names)["losses"], wanted["losses"]))
    return worst


def noise(name):
    folder = GOLDENS / name
    model = load(folder)
    names = disk_names(model, folder)
    weights = dict(model.named_parameters())
    wanted = stored_expected(folder)
    stages = {}
    if (folder / "stages.safetensors").exists():
        stages = safetensors.torch.load_file(folder / "stages.safetensors")
    samples = {key.removesuffix(".input"): (stages[key], stages[key.removesuffix("input") + "output_gradient"])
               for key in stages if key.endswith(".input")}
    spread = perturbed_losses(folder, wanted["batches"], names, wanted)
    with all_fp64():
        found = differences(train(load_fp64(folder, weights), wanted["batches"], names), wanted)
        line = " ".join([f"{key} {value:.1e}" for key, value in found.items()] + [f"perturbed losses {spread:.1e}"])
        if stages:
            exact = compute_stages(name, load_fp64(folder, weights), names, samples)
            assert exact.keys() == stages.keys()
            worst = max(exact, key=lambda key: scaled_difference(stages[key], exact[key]))
            line += f" stages {scaled_difference(stages[worst], exact[worst]):.1e} ({worst})"
        if (folder / "generated.json").exists():
            generated = json.loads((folder / "generated.json").read_text())
            model = load_fp64(folder, weights)
            answers = [decode(model, prompt) for prompt in generated["prompts"]]
            assert [tokens for tokens, *_ in answers] == generated["tokens"], f"{name}: fp64 decodes other tokens"
            line += f" least_gap {abs(min(gap for _, gap, _ in answers) - generated['least_gap']):.1e} (absolute)"
    print(name, line, flush=True)
    if golden_experts.expert_layers(decoder(model)):
        expert_noise(name, weights, names)


def scaled_difference(got, exact):
    """The largest difference over the largest value."""
    difference = (got.double() - exact).abs().max().item()
    return difference / exact.abs().max().item() if difference else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = {"model": make_model, "generated": make_generated, "stages": make_stages, "frozen": make_frozen,
               "bf16": make_bf16, "router_loss": make_router_loss, "check": check, "noise": noise,
               "frozen_noise": frozen_noise}
    parser.add_argument("action", choices=actions)
    parser.add_argument("names", nargs="+", metavar="NAME", help="folder in tests/goldens")
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    results = [actions[options.action](name) for name in options.names]
    return 1 if False in results else 0


if __name__ == "__main__":
    sys.exit(main())
