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
// file as a person would have it, and others to be asked.
class QuestionSet {
 public:
  struct Sizes {
    int64_t problems = 0;  // to train on
    int64_t held_out = 0;  // to be asked
  };
  struct HeldOut {
    std::vector<int32_t> prompt;  // the question, up to where the answer begins
    int64_t result = 0;
  };

  // Writes FOLDER/problems.jsonl and FOLDER/held_out.jsonl, records of query and response as
  // MetaMathQA has them. No question is in both. The folder exists. Io's errors.
  static absl::StatusOr<QuestionSet> Write(Io& io, const std::string& folder, const Sizes& sizes);

  // What a model is trained on: bytes as tokens, the plain chat format, loss on the answers alone,
  // rows of `sequence` tokens in the order of `seed`. FOLDER/tokens holds them tokenised. The set
  // and `io` outlive the data. Errors of OpenTrainingData.
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
  std::optional<ChatEncoder> chat_;  // of the plain format; set by Write
  std::vector<HeldOut> held_out_;
  int64_t longest_answer_ = 0;  // tokens, with the one that ends it
};

}  // namespace horizon
