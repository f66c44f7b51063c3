#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/log.h"
#include "model/chat/chat_encoder.h"
#include "model/model_spec.h"
#include "model/tokenizer/load_tokenizer.h"
#include "runtime/data/sample.h"
#include "runtime/data/tokenise_files.h"
#include "runtime/data/training_data.h"
#include "schedule/training_job.h"

namespace horizon {

enum class TokenizerChoice { kModel, kByte };

// How data files are read, and what of them is held out.
struct DataSettings {
  std::optional<DataKind> kind;  // none: by the keys of the first record
  TokenizerChoice tokenizer = TokenizerChoice::kModel;
  ChatChoice chat;  // how conversations are written down
  bool train_on_prompt = false;
  bool packing = true;
  OnBadLine on_bad_line = OnBadLine::kStop;
  std::string cache_folder;  // of tokenised data; made if missing
  bool shuffle = true;
  // Held out: a file of its own, or a share of the samples (0 to 0.5).
  std::optional<std::string> eval_file;
  double eval_share = 0;
};

// The model folder's tokenizer, or the built-in one. Where the folder has none, or `model` is no
// folder, `tokenizer` is null: data of token ids needs none.
absl::StatusOr<ModelTokenizer> TokenizerFor(Io& io, TokenizerChoice choice,
                                            const std::string& model);

// What the settings say of reading files, for a vocabulary and a length of rows; the paths are the
// caller's to fill in. `tokenizer` outlives the use of the result.
absl::StatusOr<DataFiles> DataFilesFrom(const DataSettings& settings,
                                        const ModelTokenizer& tokenizer, int64_t vocab,
                                        int64_t sequence);
// The same with everything else that training or evaluating needs of its data, but for the paths.
// Makes the cache folder.
absl::StatusOr<DataOptions> DataOptionsFrom(Io& io, const DataSettings& settings,
                                            const ModelTokenizer& tokenizer, const ModelSpec& spec,
                                            int64_t sequence);

// The text of the chat template that the settings choose in place of the model's own; nothing where
// they choose none, or bytes are the tokens. For the model that is exported.
absl::StatusOr<std::optional<std::string>> ChosenChatTemplate(Io& io, const DataSettings& settings,
                                                              const std::string& model);

// The data of a job, opened; the log says what was found. Errors of the above and of
// OpenTrainingData. `io` outlives the result.
absl::StatusOr<TrainingData> OpenJobData(Io& io, Clock& clock, Log& log,
                                         const DataSettings& settings, const ModelSpec& spec,
                                         const TrainingJob& job);

// A listener that logs: what takes long, every few seconds, and warnings. Both outlive it.
DataListener LoggingListener(Clock& clock, Log& log);

}  // namespace horizon
