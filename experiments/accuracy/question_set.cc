#include "experiments/accuracy/question_set.h"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>

#include "common/check.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "experiments/arithmetic_stories.h"
#include "model/chat_format.h"
#include "runtime/data/encode_chat.h"

namespace horizon {
namespace {

constexpr uint64_t kTrainingSeed = 1;
constexpr uint64_t kHeldOutSeed = 2;

StoryProblem ProblemOf(uint64_t seed, uint64_t number) {
  return MakeStoryProblem(seed, number, StoryLevel::kSmallSums);
}

std::string RecordOf(const StoryProblem& problem) {
  JsonWriter json(JsonWriter::Style::kOneLine);
  json.BeginObject().Key("query").String(problem.question);
  json.Key("response").String(problem.answer).EndObject();
  return std::move(json).Finish() + "\n";
}

}  // namespace

absl::StatusOr<QuestionSet> QuestionSet::Write(Io& io, const std::string& folder,
                                               const Sizes& sizes) {
  CHECK(sizes.problems >= 1 && sizes.held_out >= 1);
  QuestionSet set;
  set.folder_ = folder;
  const std::optional<int32_t> end = set.tokenizer_->IdOf("<|end|>");
  CHECK(end.has_value());
  set.end_id_ = *end;
  std::unordered_set<std::string> questions;
  std::string text;
  for (int64_t i = 0; i < sizes.problems; ++i) {
    const StoryProblem problem = ProblemOf(kTrainingSeed, static_cast<uint64_t>(i));
    text += RecordOf(problem);
    questions.insert(problem.question);
  }
  RETURN_IF_ERROR(WriteTextFile(io, JoinPath(folder, "problems.jsonl"), text));
  text.clear();
  // There are millions of questions, so that new ones are found soon.
  for (uint64_t i = 0; static_cast<int64_t>(set.held_out_.size()) < sizes.held_out; ++i) {
    const StoryProblem problem = ProblemOf(kHeldOutSeed, i);
    if (!questions.insert(problem.question).second) continue;
    text += RecordOf(problem);
    RETURN_IF_ERROR(set.AddHeldOut(problem.question, problem.result));
    set.longest_answer_ =
        std::max(set.longest_answer_, static_cast<int64_t>(problem.answer.size()) + 1);
  }
  RETURN_IF_ERROR(WriteTextFile(io, JoinPath(folder, "held_out.jsonl"), text));
  return set;
}

absl::Status QuestionSet::AddHeldOut(const std::string& question, int64_t result) {
  const ChatFormat plain;
  const ChatTurn turn{.role = ChatRole::kUser, .content = question};
  HeldOut asked{.result = result};
  std::vector<bool> is_answer;
  RETURN_IF_ERROR(EncodeChat({.tokenizer = *tokenizer_, .format = plain, .end_id = end_id_},
                             RenderChatPrompt(plain, std::span(&turn, 1)), asked.prompt,
                             is_answer));
  held_out_.push_back(std::move(asked));
  return absl::OkStatus();
}

absl::StatusOr<TrainingData> QuestionSet::Open(Io& io, int64_t sequence, int64_t seed) const {
  DataOptions options;
  options.files.paths = {JoinPath(folder_, "problems.jsonl")};
  options.files.kind = DataKind::kQa;
  options.files.tokenise.tokenizer = tokenizer_.get();
  options.files.tokenise.end_id = end_id_;
  options.files.tokenise.vocab = tokenizer_->id_limit();
  options.files.tokenise.sequence = sequence;
  options.seed = seed;
  options.cache_folder = JoinPath(folder_, "tokens");
  return OpenTrainingData(io, options);
}

int64_t QuestionSet::longest_prompt() const {
  size_t longest = 0;
  for (const HeldOut& asked : held_out_) longest = std::max(longest, asked.prompt.size());
  return static_cast<int64_t>(longest);
}

}  // namespace horizon
