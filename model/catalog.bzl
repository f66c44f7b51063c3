"""The known models, by family and size.

Each is catalog/NAME.json and becomes text in the program. Beside a name stand the Hugging Face ids
that have this architecture: the base model and its usual fine-tuned variants.
"""

CATALOG = {
    "llama-3.1-8b": [
        "meta-llama/Llama-3.1-8B",
        "meta-llama/Llama-3.1-8B-Instruct",
        "meta-llama/Meta-Llama-3.1-8B",
        "meta-llama/Meta-Llama-3.1-8B-Instruct",
    ],
    "llama-3.1-70b": [
        "meta-llama/Llama-3.1-70B",
        "meta-llama/Llama-3.1-70B-Instruct",
        "meta-llama/Meta-Llama-3.1-70B",
        "meta-llama/Meta-Llama-3.1-70B-Instruct",
    ],
    "llama-3.1-405b": [
        "meta-llama/Llama-3.1-405B",
        "meta-llama/Llama-3.1-405B-Instruct",
        "meta-llama/Meta-Llama-3.1-405B",
        "meta-llama/Meta-Llama-3.1-405B-Instruct",
    ],
    "llama-3.2-1b": [
        "meta-llama/Llama-3.2-1B",
        "meta-llama/Llama-3.2-1B-Instruct",
    ],
    "llama-3.2-3b": [
        "meta-llama/Llama-3.2-3B",
        "meta-llama/Llama-3.2-3B-Instruct",
    ],
    "llama-3.3-70b": ["meta-llama/Llama-3.3-70B-Instruct"],
    "qwen2.5-0.5b": [
        "Qwen/Qwen2.5-0.5B",
        "Qwen/Qwen2.5-0.5B-Instruct",
    ],
    "qwen2.5-1.5b": [
        "Qwen/Qwen2.5-1.5B",
        "Qwen/Qwen2.5-1.5B-Instruct",
    ],
    "qwen2.5-3b": [
        "Qwen/Qwen2.5-3B",
        "Qwen/Qwen2.5-3B-Instruct",
    ],
    "qwen2.5-7b": [
        "Qwen/Qwen2.5-7B",
        "Qwen/Qwen2.5-7B-Instruct",
    ],
    "qwen2.5-14b": [
        "Qwen/Qwen2.5-14B",
        "Qwen/Qwen2.5-14B-Instruct",
    ],
    "qwen2.5-32b": [
        "Qwen/Qwen2.5-32B",
        "Qwen/Qwen2.5-32B-Instruct",
    ],
    "qwen2.5-72b": [
        "Qwen/Qwen2.5-72B",
        "Qwen/Qwen2.5-72B-Instruct",
    ],
    "qwen3-0.6b": [
        "Qwen/Qwen3-0.6B",
        "Qwen/Qwen3-0.6B-Base",
    ],
    "qwen3-1.7b": [
        "Qwen/Qwen3-1.7B",
        "Qwen/Qwen3-1.7B-Base",
    ],
    "qwen3-4b": [
        "Qwen/Qwen3-4B",
        "Qwen/Qwen3-4B-Base",
    ],
    "qwen3-8b": [
        "Qwen/Qwen3-8B",
        "Qwen/Qwen3-8B-Base",
    ],
    "qwen3-14b": [
        "Qwen/Qwen3-14B",
        "Qwen/Qwen3-14B-Base",
    ],
    "qwen3-32b": ["Qwen/Qwen3-32B"],
    "qwen3-30b-a3b": [
        "Qwen/Qwen3-30B-A3B",
        "Qwen/Qwen3-30B-A3B-Base",
    ],
    "qwen3-235b-a22b": ["Qwen/Qwen3-235B-A22B"],
    "mistral-7b": ["mistralai/Mistral-7B-v0.1"],
    "mistral-7b-v0.3": [
        "mistralai/Mistral-7B-v0.3",
        "mistralai/Mistral-7B-Instruct-v0.3",
    ],
    "mistral-nemo-12b": [
        "mistralai/Mistral-Nemo-Base-2407",
        "mistralai/Mistral-Nemo-Instruct-2407",
    ],
    "mistral-small-24b": [
        "mistralai/Mistral-Small-24B-Base-2501",
        "mistralai/Mistral-Small-24B-Instruct-2501",
    ],
    "mixtral-8x7b": [
        "mistralai/Mixtral-8x7B-v0.1",
        "mistralai/Mixtral-8x7B-Instruct-v0.1",
    ],
    "gpt-oss-20b": ["openai/gpt-oss-20b"],
    "gpt-oss-120b": ["openai/gpt-oss-120b"],
    # The text part: the published 4b, 12b and 27b have an image encoder as well.
    "gemma-3-1b": [
        "google/gemma-3-1b-pt",
        "google/gemma-3-1b-it",
    ],
    "gemma-3-4b": [
        "google/gemma-3-4b-pt",
        "google/gemma-3-4b-it",
    ],
    "gemma-3-12b": [
        "google/gemma-3-12b-pt",
        "google/gemma-3-12b-it",
    ],
    "gemma-3-27b": [
        "google/gemma-3-27b-pt",
        "google/gemma-3-27b-it",
    ],
    "olmo-2-7b": [
        "allenai/OLMo-2-1124-7B",
        "allenai/OLMo-2-1124-7B-SFT",
        "allenai/OLMo-2-1124-7B-DPO",
        "allenai/OLMo-2-1124-7B-Instruct",
    ],
    "olmo-2-13b": [
        "allenai/OLMo-2-1124-13B",
        "allenai/OLMo-2-1124-13B-SFT",
        "allenai/OLMo-2-1124-13B-DPO",
        "allenai/OLMo-2-1124-13B-Instruct",
    ],
    "olmo-2-32b": [
        "allenai/OLMo-2-0325-32B",
        "allenai/OLMo-2-0325-32B-SFT",
        "allenai/OLMo-2-0325-32B-DPO",
        "allenai/OLMo-2-0325-32B-Instruct",
    ],
    "olmo-3-7b": [
        "allenai/Olmo-3-1025-7B",
        "allenai/Olmo-3-7B-Instruct",
        "allenai/Olmo-3-7B-Think",
    ],
    "olmo-3-32b": [
        "allenai/Olmo-3-1125-32B",
        "allenai/Olmo-3-32B-Think",
    ],
    "phi-4": ["microsoft/phi-4"],
    "phi-4-mini": ["microsoft/Phi-4-mini-instruct"],
    "smollm2-135m": [
        "HuggingFaceTB/SmolLM2-135M",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
    ],
    "smollm2-360m": [
        "HuggingFaceTB/SmolLM2-360M",
        "HuggingFaceTB/SmolLM2-360M-Instruct",
    ],
    "smollm2-1.7b": [
        "HuggingFaceTB/SmolLM2-1.7B",
        "HuggingFaceTB/SmolLM2-1.7B-Instruct",
    ],
    "smollm3-3b": [
        "HuggingFaceTB/SmolLM3-3B",
        "HuggingFaceTB/SmolLM3-3B-Base",
    ],
    "granite-3.3-2b": [
        "ibm-granite/granite-3.3-2b-base",
        "ibm-granite/granite-3.3-2b-instruct",
    ],
    "granite-3.3-8b": [
        "ibm-granite/granite-3.3-8b-base",
        "ibm-granite/granite-3.3-8b-instruct",
    ],
    "exaone-4.0-1.2b": ["LGAI-EXAONE/EXAONE-4.0-1.2B"],
    "exaone-4.0-32b": ["LGAI-EXAONE/EXAONE-4.0-32B"],
}
