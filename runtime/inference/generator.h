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

// Settings of a Generator. As in training, the plan does not change the results.
struct GenerationSetup {
  DeviceKind device = DeviceKind::kHost;
  NumberType compute_type = NumberType::kBf16;
  int64_t batch = 1;           // texts that are generated at the same time
  int64_t capacity = 0;        // most tokens of a text, prompt and answer together
  int64_t longest_prompt = 0;  // 1 to capacity - 1
  StreamPlan plan;
};
// The memory that a Generator reserves. Errors as in Generator::Create.
absl::StatusOr<InferenceBytes> GenerationBytes(const ModelSpec& spec, const GenerationSetup& setup);

// Why an answer ended.
enum class FinishReason {
  kEndToken,     // the model chose one of the end ids, which is not part of the answer
  kMaxTokens,    // the answer has max_tokens tokens
  kContextFull,  // prompt and answer fill the capacity
  kStopped,      // on_token returned false
};
std::span<const EnumWord<FinishReason>> WordsOf(FinishReason);

// Options of one call of Generate.
struct GenerateOptions {
  int64_t max_tokens = 128;
  std::vector<int32_t> end_ids;
  SamplingOptions sampling;
  // The number of the first prompt among all texts of the caller. The random draws of a text depend
  // on the seed and on its number, not on the batch it is in.
  uint64_t first_text = 0;
};

// The generated tokens of one text.
struct Answer {
  std::vector<int32_t> ids;
  FinishReason reason = FinishReason::kMaxTokens;
};

// How long one call of Generate took.
struct GenerationTimes {
  Nanoseconds prompt{0};  // until the first token of each text was chosen
  Nanoseconds answer{0};  // all time after that
  int64_t prompt_tokens = 0;
  int64_t answer_tokens = 0;  // decoded tokens, without the first of each text
};

// Generates text with a model. A prefill pass computes the prompts and fills the KV cache; then
// every step of a decode pass adds one token to each text. Both passes use one copy of the
// parameters and stream them as the plan says. Used by one thread.
//
// A text's logits, and so its tokens, do not depend on the plan, the threads or the lengths of the
// other texts. They may differ in their last bits between batches of up to 8 texts and larger ones,
// and from the logits of a text computed in one pass, because sums are taken in a different order.
class Generator {
 public:
  // Everything the environment refers to, and `spec`, outlive the generator. Errors of
  // ModelPass::Create; InvalidArgument when capacity or longest_prompt is out of range.
  static absl::StatusOr<std::unique_ptr<Generator>> Create(const ModelSpec& spec,
                                                           const GenerationSetup& setup,
                                                           const RunEnvironment& environment);

  // The parameter store, which must be filled before the first call of Generate.
  ParameterStore& store() { return decode_->store(); }

  // Called for every token of an answer, in order within a text; returning false ends that text.
  using OnToken = std::function<bool(size_t text, int32_t id)>;
  // Called with the logits of each unfinished text before its token is chosen; for tests.
  using OnLogits = std::function<void(size_t text, std::span<const float> logits)>;

  // Returns the answers in the order of the prompts; there may be at most `batch` prompts.
  // InvalidArgument for an empty prompt, one longer than longest_prompt, an id that the model does
  // not have, or options out of range; Internal (marked as numerics) when the model gives no finite
  // logits.
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
  // Makes prefill_ a pass with room for at least this many tokens per row.
  absl::Status PreparePrefill(int64_t tokens);

  const ModelSpec& spec_;
  const GenerationSetup setup_;
  std::unique_ptr<ModelPass> decode_;
  std::unique_ptr<ModelPass> prefill_;  // created beside decode_
  GenerationTimes times_;
};

}  // namespace horizon
