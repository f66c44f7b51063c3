#include "experiments/accuracy/question_set.h"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>

#include "common/check.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "experiments/arithmetic_stories.h"

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
  set.bytes_.tokenizer = MakeByteTokenizer();
  set.bytes_.end_id = set.bytes_.tokenizer->IdOf("<|end|>");
  CHECK(set.bytes_.end_id.has_value());
  ASSIGN_OR_RETURN(set.chat_, MakeChatEncoder(set.bytes_, {.format = "plain"}));
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
  HeldOut asked{.result = result};
  Conversation conversation;
  conversation.messages.push_back(TextMessage("user", question));
  ASSIGN_OR_RETURN(EncodedChat prompt, chat_->Encode(conversation, GenerationPrompt::kWith));
  asked.prompt = std::move(prompt.ids);
  held_out_.push_back(std::move(asked));
  return absl::OkStatus();
}

absl::StatusOr<TrainingData> QuestionSet::Open(Io& io, int64_t sequence, int64_t seed) const {
  DataOptions options;
  options.files.paths = {JoinPath(folder_, "problems.jsonl")};
  options.files.kind = DataKind::kQa;
  options.files.tokenise.tokenizer = &tokenizer();
  options.files.tokenise.end_id = bytes_.end_id;
  options.files.tokenise.chat = *chat_;
  options.files.tokenise.vocab = tokenizer().id_limit();
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
