"""The golden models: the one list that BUILD files and tests go by."""

# Mixtures of experts, with every file of answers that there is.
EXPERTS = [
    "gpt_oss",
    "gpt_oss_clamped",
    "mixtral",
    "qwen3_moe",
    "qwen3_moe_sparse",
    "qwen3_moe_top1",
]

# With expected.json, generated.json and stages.safetensors.
DENSE = [
    "exaone4",
    "gemma3",
    "granite",
    "llama",
    "ministral3",
    "mistral_window",
    "olmo2",
    "olmo3",
    "phi3",
    "phi3_longrope",
    "phi3_short",
    "qwen2",
    "qwen3",
    "smollm3",
]

# Models of text and images, of which the text part is used; with generated.json.
WRAPPERS = [
    "gemma3_wrapper",
    "mistral3_wrapper",
]

# Of those without experts, the ones with frozen.json.
FROZEN = [
    "gemma3",
    "granite",
    "llama",
    "olmo3",
    "phi3",
    "qwen2",
    "qwen3",
]

GOLDENS = EXPERTS + DENSE + WRAPPERS
