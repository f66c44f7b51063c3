#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/options/inference_options.h"
#include "common/documents/json.h"
#include "model/model_spec.h"
#include "model/tokenizer/tokenizer.h"
#include "runtime/data/tokenise_files.h"
#include "runtime/parameters/parameter_store.h"

namespace horizon {

// Counts how many questions of a data file a model answers right (`horizon eval --exact-match`).
struct MatchOptions {
  int64_t max_tokens = 256;  // of an answer
  int64_t limit = 1000;      // number of questions
  int64_t batch = 8;         // questions answered at once
  int64_t show = 0;          // number of wrong answers to show
};

struct Question {
  std::vector<int32_t> prompt;  // the conversation up to the answer
  std::string text;             // the last message before the answer
  std::string expected;         // the right answer
};
struct Questions {
  std::vector<Question> list;
  int64_t bad_lines = 0;
  std::vector<int32_t> end_ids;
};
// Reads the first `options.limit` questions of the files. Each conversation gives one question: its
// last answer is the expected one, and the messages before it are the prompt. InvalidArgument
// "FILE:LINE: REASON" for a record that is wrong (unless such records are skipped) or holds no
// question with an answer; errors of RecordStream and CheckKind.
absl::StatusOr<Questions> ReadQuestions(Io& io, const DataFiles& files,
                                        const MatchOptions& options);

struct MatchReport {
  int64_t questions = 0;
  int64_t same_text = 0;
  int64_t numbers = 0;  // questions whose expected answer has a number
  int64_t same_number = 0;
  int64_t too_long = 0;  // questions that leave no room for an answer; they count as wrong
  int64_t bad_lines = 0;
  struct Wrong {
    std::string question;
    std::string expected;
    std::string answer;
  };
  std::vector<Wrong> wrong;
};
// Generates answers greedily, in batches, and compares them. `spec` and the objects of the context
// need to live as long as the call only.
absl::StatusOr<MatchReport> AnswerQuestions(const CommandContext& context,
                                            const InferenceFlags& flags, const ChosenDevice& device,
                                            const ModelSpec& spec,
                                            const ParameterStore::Source& source,
                                            const MatchOptions& options, const Questions& questions,
                                            const Tokenizer& tokenizer);

std::string MatchText(const MatchReport& report);
void WriteMatches(const MatchReport& report, JsonWriter& json);  // writes one object

}  // namespace horizon
