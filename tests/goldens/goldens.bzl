"""The golden models: the one list that BUILD files and tests go by."""

# With expected.json alone.
EXPERTS = [
    "gpt_oss",
    "mixtral",
    "qwen3_moe",
]

# With generated.json and stages.safetensors as well.
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

# Of these, those with frozen.json.
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

# Of the folder stored: quantised models, with what transformers makes of them ...
QUANTISED = [
    "gpt_oss_mxfp4",
    "qwen3_moe_fp8",
]

# ... and models in both layouts of experts.
STORED_EXPERTS = [
    "mixtral_fused",
    "mixtral_usual",
    "qwen3_moe_fused",
    "qwen3_moe_usual",
]
