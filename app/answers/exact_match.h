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

// How many questions of conversations a model answers right.
struct MatchOptions {
  int64_t max_tokens = 256;
  int64_t limit = 1000;  // questions
  int64_t batch = 8;     // answered at once
  int64_t show = 0;      // of the wrong ones
};

struct Question {
  std::vector<int32_t> prompt;  // the conversation up to the answer
  std::string text;             // what was asked last
  std::string expected;
};
struct Questions {
  std::vector<Question> list;
  int64_t bad_lines = 0;
  std::vector<int32_t> end_ids;
};
// The first questions of the files: of every conversation the last. InvalidArgument "FILE:LINE:
// REASON" for a record that is wrong (unless they are skipped) or is no conversation; errors of
// RecordStream and CheckKind.
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
// Greedy answers, in batches. `spec` and what the context names outlive the call only.
absl::StatusOr<MatchReport> AnswerQuestions(const CommandContext& context,
                                            const InferenceFlags& flags, const ChosenDevice& device,
                                            const ModelSpec& spec,
                                            const ParameterStore::Source& source,
                                            const MatchOptions& options, const Questions& questions,
                                            const Tokenizer& tokenizer);

std::string MatchText(const MatchReport& report);
void WriteMatches(const MatchReport& report, JsonWriter& json);  // as one object

}  // namespace horizon
