#include "model/config_tables.h"

#include <array>

namespace horizon {
namespace {

// Read from transformers 5.22.
constexpr std::array<FamilyDefaults, 7> kFamilies = {{
    {ModelFamily::kLlama, 32000, 4096, 11008, 32, 32, 0, 0, 2048, 1e-6, 1e4, 0},
    {ModelFamily::kQwen2, 151936, 4096, 22016, 32, 32, 32, 0, 32768, 1e-6, 1e4, 4096},
    {ModelFamily::kQwen3, 151936, 4096, 22016, 32, 32, 32, 128, 32768, 1e-6, 1e4, 4096},
    {ModelFamily::kMistral, 32000, 4096, 14336, 32, 32, 8, 0, 131072, 1e-6, 1e4, 4096},
    {ModelFamily::kMixtral, 32000, 4096, 14336, 32, 32, 8, 0, 131072, 1e-5, 1e6, 0},
    {ModelFamily::kQwen3Moe, 151936, 2048, 6144, 24, 32, 4, 0, 32768, 1e-6, 1e4, 4096},
    {ModelFamily::kGptOss, 201088, 2880, 2880, 36, 64, 8, 64, 131072, 1e-5, 150000.0, 128},
}};

// router_aux_loss_coef counts only with output_router_logits, which
// is refused.
constexpr std::string_view kHarmless[] = {"_attn_implementation",
                                          "_attn_implementation_autoset",
                                          "_commit_hash",
                                          "_name_or_path",
                                          "architectures",
                                          "attn_implementation",
                                          "auto_map",
                                          "bad_words_ids",
                                          "begin_suppress_tokens",
                                          "bos_token_id",
                                          "chunk_size_feed_forward",
                                          "cross_attention_hidden_size",
                                          "decoder_start_token_id",
                                          "diversity_penalty",
                                          "do_sample",
                                          "dtype",
                                          "early_stopping",
                                          "encoder_no_repeat_ngram_size",
                                          "eos_token_id",
                                          "experts_per_token",
                                          "exponential_decay_length_penalty",
                                          "finetuning_task",
                                          "forced_bos_token_id",
                                          "forced_eos_token_id",
                                          "id2label",
                                          "initial_context_length",
                                          "is_decoder",
                                          "label2id",
                                          "length_penalty",
                                          "max_length",
                                          "min_length",
                                          "model_type",
                                          "name_or_path",
                                          "no_repeat_ngram_size",
                                          "num_beam_groups",
                                          "num_beams",
                                          "num_labels",
                                          "num_return_sequences",
                                          "output_attentions",
                                          "output_hidden_states",
                                          "output_scores",
                                          "pad_token_id",
                                          "prefix",
                                          "problem_type",
                                          "remove_invalid_values",
                                          "repetition_penalty",
                                          "return_dict",
                                          "return_dict_in_generate",
                                          "router_aux_loss_coef",
                                          "sep_token_id",
                                          "suppress_tokens",
                                          "task_specific_params",
                                          "temperature",
                                          "tf_legacy_loss",
                                          "tokenizer_class",
                                          "top_k",
                                          "top_p",
                                          "torch_dtype",
                                          "torchscript",
                                          "transformers_version",
                                          "typical_p",
                                          "unsloth_fixed",
                                          "unsloth_version",
                                          "use_bfloat16",
                                          "use_cache"};

constexpr NeutralKey kNotHonoured[] = {
    {"add_cross_attention", Neutral::kFalse},
    {"attention_dropout", Neutral::kZero},
    {"attn_logit_softcapping", Neutral::kNull},
    {"clip_qkv", Neutral::kNull},
    {"compression_config", Neutral::kNull},
    {"embd_pdrop", Neutral::kZero},
    {"final_logit_softcapping", Neutral::kNull},
    {"hidden_dropout", Neutral::kZero},
    {"is_encoder_decoder", Neutral::kFalse},
    {"mlp_layer_types", Neutral::kEmpty},
    {"n_shared_experts", Neutral::kZero},
    {"num_nextn_predict_layers", Neutral::kZero},
    {"output_router_logits", Neutral::kFalse},
    {"per_layer_config", Neutral::kEmpty},
    {"pretraining_tp", Neutral::kOne},
    {"pruned_heads", Neutral::kEmpty},
    {"quantization_config", Neutral::kNull},
    {"resid_pdrop", Neutral::kZero},
    {"rope_interleaved", Neutral::kFalse},
    {"rotary_pct", Neutral::kOne},
    {"router_jitter_noise", Neutral::kZero},
    {"shared_expert_intermediate_size", Neutral::kZero},
    {"tie_encoder_decoder", Neutral::kFalse},
    {"use_mrope", Neutral::kFalse},
    {"use_qk_norm", Neutral::kFalse},
};

}  // namespace

std::span<const FamilyDefaults> KnownFamilies() { return kFamilies; }

std::span<const std::string_view> HarmlessKeys() { return kHarmless; }

std::span<const NeutralKey> KeysNotHonoured() { return kNotHonoured; }

}  // namespace horizon
