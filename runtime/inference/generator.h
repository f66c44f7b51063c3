#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/documents/enum_words.h"
#include "model/model_spec.h"
#include "runtime/execution/executor.h"
#include "runtime/execution/model_pass.h"
#include "runtime/execution/run_environment.h"
#include "runtime/inference/inference_plan.h"
#include "runtime/inference/sampling.h"
#include "runtime/parameters/parameter_store.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// What text is generated with. The plan changes no bit of it, as in training.
struct GenerationSetup {
  DeviceKind device = DeviceKind::kHost;
  NumberType compute_type = NumberType::kBf16;
  int64_t batch = 1;           // texts at once
  int64_t capacity = 0;        // tokens of a text, prompt and answer together
  int64_t longest_prompt = 0;  // 1 to capacity - 1
  StreamPlan plan;
};
// Memory that a Generator reserves. Errors as of Generator::Create.
absl::StatusOr<InferenceBytes> GenerationBytes(const ModelSpec& spec, const GenerationSetup& setup);

enum class FinishReason {
  kEndToken,     // one of the end ids, which is not part of the answer
  kMaxTokens,    // as many as were asked for
  kContextFull,  // prompt and answer have the capacity
  kStopped,      // on_token said so
};
std::span<const EnumWord<FinishReason>> WordsOf(FinishReason);

struct GenerateOptions {
  int64_t max_tokens = 128;
  std::vector<int32_t> end_ids;
  SamplingOptions sampling;
  // Number of the first prompt among all texts of the caller: a text's draws depend on the seed and
  // its number, not on the batch it came in.
  uint64_t first_text = 0;
};

struct Answer {
  std::vector<int32_t> ids;
  FinishReason reason = FinishReason::kMaxTokens;
};

struct GenerationTimes {
  Nanoseconds prompt{0};  // until the first tokens were there
  Nanoseconds answer{0};  // all after
  int64_t prompt_tokens = 0;
  int64_t answer_tokens = 0;  // decoded after the first of each text
};

// Continues texts with a model: a prefill pass computes the prompts and fills the cache of keys and
// values, then every step of a decode pass gives each text one token more. Both passes work on one
// copy of the parameters and stream them as the plan says. One thread.
//
// A text's logits, and so its tokens, do not depend on plan, threads or lengths of the other texts.
// They may differ in their last bits between batches of up to 8 texts and larger ones, and from
// those of a text computed at once: sums are taken in another order.
class Generator {
 public:
  // What the environment names outlives the generator, as does `spec`. Errors of ModelPass::Create;
  // InvalidArgument when capacity or longest_prompt are out of range.
  static absl::StatusOr<std::unique_ptr<Generator>> Create(const ModelSpec& spec,
                                                           const GenerationSetup& setup,
                                                           const RunEnvironment& environment);

  // To be filled before the first call of Generate.
  ParameterStore& store() { return decode_->store(); }

  // Hears of every token of an answer, in order within a text; false ends that text.
  using OnToken = std::function<bool(size_t text, int32_t id)>;
  // Sees the logits of each text that is under way, before its token is chosen: for tests.
  using OnLogits = std::function<void(size_t text, std::span<const float> logits)>;

  // Answers in the order of the prompts, at most `batch` of them. InvalidArgument for an empty
  // prompt, one longer than longest_prompt, an id that the model does not have, or options out of
  // range; Internal (numerics) when the model gives no finite logits.
  absl::StatusOr<std::vector<Answer>> Generate(std::span<const std::vector<int32_t>> prompts,
                                               const GenerateOptions& options,
                                               const OnToken& on_token = {},
                                               const OnLogits& on_logits = {});

  const Schedule& decode_schedule() const { return decode_->schedule(); }
  const GenerationTimes& times() const { return times_; }  // of the last call

 private:
  struct Text;
  class Run;

  Generator(const ModelSpec& spec, const GenerationSetup& setup) : spec_(spec), setup_(setup) {}
  absl::Status CheckPrompts(std::span<const std::vector<int32_t>> prompts,
                            const GenerateOptions& options) const;
  // Makes prefill_ one for at least this many tokens a row.
  absl::Status PreparePrefill(int64_t tokens);

  const ModelSpec& spec_;
  const GenerationSetup setup_;
  std::unique_ptr<ModelPass> decode_;
  std::unique_ptr<ModelPass> prefill_;  // made beside decode_
  GenerationTimes times_;
};

}  // namespace horizon
