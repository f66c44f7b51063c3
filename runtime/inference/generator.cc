#include "runtime/inference/generator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "runtime/execution/run_memory.h"
#include "schedule/build/build_schedule.h"

namespace horizon {
namespace {

constexpr std::array<EnumWord<FinishReason>, 4> kReasons = {
    {{FinishReason::kEndToken, "end"},
     {FinishReason::kMaxTokens, "max_tokens"},
     {FinishReason::kContextFull, "context_full"},
     {FinishReason::kStopped, "stopped"}}};

Bytes AlignUp(Bytes bytes) { return bytes.RoundedUp(kBufferAlignment); }

// Prompt lengths are rounded up to a multiple of this, so that prompts of similar lengths can use
// the same prefill pass.
constexpr int64_t kPrefillMultiple = 16;

int64_t PrefillTokens(const GenerationSetup& setup, int64_t prompt) {
  const int64_t rounded = (prompt + kPrefillMultiple - 1) / kPrefillMultiple * kPrefillMultiple;
  return std::min(rounded, setup.capacity);
}

TrainingJob JobOf(const GenerationSetup& setup, int64_t sequence) {
  TrainingJob job;
  PlaceOn(setup.device, job);
  job.sequence = sequence;
  job.micro_batch = setup.batch;
  job.compute_type = setup.compute_type;
  // Nothing is updated; every strategy takes these.
  job.optimizer_place = OptimizerPlace::kAfterStep;
  job.clip_norm = 0;
  return job;
}

absl::Status CheckSetup(const GenerationSetup& setup) {
  if (setup.batch < 1 || setup.capacity < 2 || setup.longest_prompt < 1 ||
      setup.longest_prompt >= setup.capacity) {
    return absl::InvalidArgumentError(StrCat(
        "generating ", setup.batch, " texts of ", setup.capacity, " tokens from prompts of up to ",
        setup.longest_prompt, ": a prompt has at least one token and leaves room for one"));
  }
  return absl::OkStatus();
}

struct Sizes {
  Bytes decode;  // of the device
  Bytes spare;   // for the prefill of the longest prompt beside it
  Bytes host;
};

Bytes HostBytes(const Schedule& schedule) {
  return schedule.memory.totals[static_cast<size_t>(Memory::kPinned)] +
         schedule.memory.totals[static_cast<size_t>(Memory::kHost)];
}

absl::StatusOr<Sizes> SizesOf(const ModelSpec& spec, const GenerationSetup& setup) {
  RETURN_IF_ERROR(CheckSetup(setup));
  ASSIGN_OR_RETURN(const Schedule decode, BuildSchedule(spec, JobOf(setup, setup.capacity),
                                                        setup.plan, PassKind::kDecode));
  ASSIGN_OR_RETURN(const Schedule prefill,
                   BuildSchedule(spec, JobOf(setup, PrefillTokens(setup, setup.longest_prompt)),
                                 setup.plan, PassKind::kPrefill));
  // The prefill's own host memory: all buffers that it does not share with decode.
  Bytes own;
  for (const Buffer& buffer : prefill.memory.buffers) {
    if (buffer.memory == Memory::kDevice || RunMemory::IsShared(prefill, buffer.kind)) continue;
    own += AlignUp(buffer.bytes);
  }
  return Sizes{.decode = AlignUp(decode.memory.totals[static_cast<size_t>(Memory::kDevice)]),
               .spare = RunMemory::SpareBytesBeside(prefill, decode),
               .host = HostBytes(decode) + own};
}

}  // namespace

std::span<const EnumWord<FinishReason>> WordsOf(FinishReason) { return kReasons; }

absl::StatusOr<InferenceBytes> GenerationBytes(const ModelSpec& spec,
                                               const GenerationSetup& setup) {
  ASSIGN_OR_RETURN(const Sizes sizes, SizesOf(spec, setup));
  return InferenceBytes{.device = sizes.decode + sizes.spare, .host = sizes.host};
}

absl::StatusOr<std::unique_ptr<Generator>> Generator::Create(const ModelSpec& spec,
                                                             const GenerationSetup& setup,
                                                             const RunEnvironment& environment) {
  ASSIGN_OR_RETURN(const Sizes sizes, SizesOf(spec, setup));
  std::unique_ptr<Generator> generator(new Generator(spec, setup));
  ASSIGN_OR_RETURN(generator->decode_, ModelPass::Create({.spec = spec,
                                                          .job = JobOf(setup, setup.capacity),
                                                          .plan = setup.plan,
                                                          .kind = PassKind::kDecode},
                                                         environment, sizes.spare));
  return generator;
}

absl::Status Generator::PreparePrefill(int64_t tokens) {
  const int64_t sequence = PrefillTokens(setup_, tokens);
  if (prefill_ != nullptr && prefill_->schedule().job.sequence == sequence) {
    return absl::OkStatus();
  }
  prefill_.reset();
  ASSIGN_OR_RETURN(prefill_, ModelPass::CreateBeside({.spec = spec_,
                                                      .job = JobOf(setup_, sequence),
                                                      .plan = setup_.plan,
                                                      .kind = PassKind::kPrefill},
                                                     *decode_));
  return absl::OkStatus();
}

absl::Status Generator::CheckPrompts(std::span<const std::vector<int32_t>> prompts,
                                     const GenerateOptions& options) const {
  RETURN_IF_ERROR(ValidateSampling(options.sampling));
  if (options.max_tokens < 0) {
    return absl::InvalidArgumentError(
        StrCat("max_tokens ", options.max_tokens, " is not 0 or above"));
  }
  CHECK(static_cast<int64_t>(prompts.size()) <= setup_.batch);
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto length = static_cast<int64_t>(prompts[i].size());
    if (length < 1 || length > setup_.longest_prompt) {
      return absl::InvalidArgumentError(StrCat("prompt ", i, " has ", length,
                                               " tokens; there is room for 1 to ",
                                               setup_.longest_prompt));
    }
    for (const int32_t id : prompts[i]) {
      if (id >= 0 && id < spec_.vocab) continue;
      return absl::InvalidArgumentError(StrCat("prompt ", i, " has token ", id,
                                               "; the vocabulary of ", spec_.name, " has ",
                                               spec_.vocab));
    }
  }
  return absl::OkStatus();
}

// A text being generated.
struct Generator::Text {
  std::vector<int32_t> ids;  // prompt and answer
  size_t prompt = 0;
  bool done = false;
  FinishReason reason = FinishReason::kMaxTokens;

  size_t answered() const { return ids.size() - prompt; }
  std::span<const int32_t> answer() const { return std::span(ids).subspan(prompt); }
};

// The texts of one call of Generate.
class Generator::Run {
 public:
  Run(const Generator& generator, std::span<const std::vector<int32_t>> prompts,
      const GenerateOptions& options, const OnToken& on_token, const OnLogits& on_logits)
      : g_(generator), options_(options), on_token_(on_token), on_logits_(on_logits) {
    for (const std::vector<int32_t>& prompt : prompts) {
      texts_.push_back({.ids = prompt, .prompt = prompt.size()});
    }
  }

  // Puts every prompt at the beginning of its row. The rest of a row, and rows without a text, are
  // padding samples.
  std::vector<TokenRecord> PromptRecords(int64_t sequence) const {
    std::vector<TokenRecord> records(static_cast<size_t>(g_.setup_.batch * sequence));
    for (size_t row = 0; row < static_cast<size_t>(g_.setup_.batch); ++row) {
      const size_t length = row < texts_.size() ? texts_[row].prompt : 0;
      for (size_t t = 0; t < static_cast<size_t>(sequence); ++t) {
        TokenRecord& record = records[row * static_cast<size_t>(sequence) + t];
        record.position = static_cast<int32_t>(t < length ? t : t - length);
        if (t < length) record.id = texts_[row].ids[t];
      }
    }
    return records;
  }

  // The newest token of every text. A finished text repeats its last token at the same position;
  // the result is not used.
  std::vector<TokenRecord> NewestRecords() const {
    std::vector<TokenRecord> records(static_cast<size_t>(g_.setup_.batch));
    for (size_t row = 0; row < texts_.size(); ++row) {
      records[row].id = texts_[row].ids.back();
      records[row].position = static_cast<int32_t>(texts_[row].ids.size() - 1);
    }
    return records;
  }

  // The model's logits: multiplied by the logit multiplier, in `memory`, where the model has one.
  std::span<const float> Scaled(std::span<const float> row, std::vector<float>& memory) const {
    const auto scale = static_cast<float>(g_.spec_.logit_multiplier);
    if (scale == 1.0F) return row;
    memory.assign(row.begin(), row.end());
    for (float& logit : memory) logit *= scale;
    return memory;
  }

  // Chooses the next token of every unfinished text.
  absl::Status Choose(std::span<const float> logits) {
    const auto vocab = static_cast<size_t>(g_.spec_.vocab);
    for (size_t i = 0; i < texts_.size(); ++i) {
      if (texts_[i].done) continue;
      std::vector<float> scaled;
      const std::span<const float> row = Scaled(logits.subspan(i * vocab, vocab), scaled);
      if (on_logits_) on_logits_(i, row);
      ASSIGN_OR_RETURN(const int32_t id,
                       ChooseToken(row, texts_[i].ids, options_.sampling,
                                   {.text = options_.first_text + i,
                                    .position = static_cast<uint64_t>(texts_[i].answered())}));
      AcceptToken(i, id);
    }
    return absl::OkStatus();
  }

  bool Done() const {
    return std::all_of(texts_.begin(), texts_.end(), [](const Text& text) { return text.done; });
  }
  // With max_tokens 0 nothing needs to be computed.
  void EndWithoutTokens() {
    for (size_t i = 0; i < texts_.size(); ++i) {
      if (options_.max_tokens == 0) End(i, FinishReason::kMaxTokens);
    }
  }

  std::vector<Answer> Answers() const {
    std::vector<Answer> answers;
    for (const Text& text : texts_) {
      const std::span<const int32_t> ids = text.answer();
      answers.push_back({.ids = {ids.begin(), ids.end()}, .reason = text.reason});
    }
    return answers;
  }
  int64_t TokensOfAnswers() const {
    int64_t tokens = 0;
    for (const Text& text : texts_) tokens += static_cast<int64_t>(text.answered());
    return tokens;
  }

 private:
  void End(size_t i, FinishReason reason) {
    texts_[i].done = true;
    texts_[i].reason = reason;
  }

  void AcceptToken(size_t i, int32_t id) {
    Text& text = texts_[i];
    if (std::find(options_.end_ids.begin(), options_.end_ids.end(), id) != options_.end_ids.end()) {
      return End(i, FinishReason::kEndToken);
    }
    text.ids.push_back(id);
    const bool goes_on = !on_token_ || on_token_(i, id);
    if (!goes_on) return End(i, FinishReason::kStopped);
    if (static_cast<int64_t>(text.answered()) >= options_.max_tokens) {
      return End(i, FinishReason::kMaxTokens);
    }
    if (static_cast<int64_t>(text.ids.size()) >= g_.setup_.capacity) {
      End(i, FinishReason::kContextFull);
    }
  }

  const Generator& g_;
  const GenerateOptions& options_;
  const OnToken& on_token_;
  const OnLogits& on_logits_;
  std::vector<Text> texts_;
};

absl::StatusOr<std::vector<Answer>> Generator::Generate(
    std::span<const std::vector<int32_t>> prompts, const GenerateOptions& options,
    const OnToken& on_token, const OnLogits& on_logits) {
  times_ = {};
  RETURN_IF_ERROR(CheckPrompts(prompts, options));
  Run run(*this, prompts, options, on_token, on_logits);
  run.EndWithoutTokens();
  if (run.Done()) return run.Answers();
  Clock& clock = decode_->environment().clock;
  const Nanoseconds begin = clock.Now();
  size_t longest = 0;
  for (const std::vector<int32_t>& prompt : prompts) {
    longest = std::max(longest, prompt.size());
    times_.prompt_tokens += static_cast<int64_t>(prompt.size());
  }
  RETURN_IF_ERROR(PreparePrefill(static_cast<int64_t>(longest)));
  {
    ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor, prefill_->Start());
    RETURN_IF_ERROR(executor->Begin(
        StepKind::kFirst, {.tokens = run.PromptRecords(prefill_->schedule().job.sequence)}));
    ASSIGN_OR_RETURN(const StepResult result, executor->End());
    RETURN_IF_ERROR(run.Choose(result.logits));
  }
  const Nanoseconds prompts_done = clock.Now();
  times_.prompt = prompts_done - begin;
  const int64_t first_tokens = run.TokensOfAnswers();
  if (run.Done()) return run.Answers();
  ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor, decode_->Start());
  for (int64_t step = 1; !run.Done(); ++step) {
    RETURN_IF_ERROR(executor->Begin(step == 1 ? StepKind::kFirst : StepKind::kSteady,
                                    {.number = step, .tokens = run.NewestRecords()}));
    ASSIGN_OR_RETURN(const StepResult result, executor->End());
    RETURN_IF_ERROR(run.Choose(result.logits));
  }
  times_.answer = clock.Now() - prompts_done;
  times_.answer_tokens = run.TokensOfAnswers() - first_tokens;
  return run.Answers();
}

}  // namespace horizon
