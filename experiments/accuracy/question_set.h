#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "model/chat/chat_encoder.h"
#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/tokenizer.h"
#include "runtime/data/training_data.h"

namespace horizon {

// The questions of the accuracy experiment: word problems (arithmetic_stories.h) to train on, in a
// data file like a user's, and held-out ones for the test.
class QuestionSet {
 public:
  struct Sizes {
    int64_t problems = 0;  // for training
    int64_t held_out = 0;  // for the test
  };
  struct HeldOut {
    std::vector<int32_t> prompt;  // the question, up to where the answer begins
    int64_t result = 0;
  };

  // Writes FOLDER/problems.jsonl and FOLDER/held_out.jsonl: records with query and response, in the
  // format of MetaMathQA. No question is in both files. The folder must exist. Io's errors.
  static absl::StatusOr<QuestionSet> Write(Io& io, const std::string& folder, const Sizes& sizes);

  // Opens the training data: bytes as tokens, the plain chat format, loss on the answers only, rows
  // of `sequence` tokens in the order that `seed` determines. The tokenised data is kept in
  // FOLDER/tokens. This set and `io` outlive the data. Errors of OpenTrainingData.
  absl::StatusOr<TrainingData> Open(Io& io, int64_t sequence, int64_t seed) const;

  const std::vector<HeldOut>& held_out() const { return held_out_; }
  const Tokenizer& tokenizer() const { return *bytes_.tokenizer; }
  int32_t end_id() const { return *bytes_.end_id; }  // ends an answer
  int64_t longest_prompt() const;                    // tokens
  int64_t longest_answer() const { return longest_answer_; }

 private:
  absl::Status AddHeldOut(const std::string& question, int64_t result);

  std::string folder_;
  ModelTokenizer bytes_;
  std::optional<ChatEncoder> chat_;  // for the plain format; set by Write
  std::vector<HeldOut> held_out_;
  int64_t longest_answer_ = 0;  // tokens, including the end token
};

}  // namespace horizon
