#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

// kModel: the tokenizer in the model's folder. kByte: the built-in one, in which a token is a byte.
enum class TokenizerChoice { kModel, kByte };

// A file or folder to train on, and how often compared with the others its samples are drawn
// (SampleMix). 0: no weight is given.
struct WeightedData {
  std::string path;
  double weight = 0;
};

// Reads what a person names as data: "stories.jsonl", or with a weight "stories.jsonl:0.3". A colon
// may also be part of a name: if a file or folder has the whole text as its name, it has no weight.
// InvalidArgument for a weight that is not above 0.
absl::StatusOr<WeightedData> ReadWeightedData(Io& io, const std::string& text);

// How data files are read and tokenised, and which samples are held out for evaluation.
struct DataSettings {
  std::vector<WeightedData> sources;  // empty: the one that the job names
  std::optional<DataKind> kind;       // none: derived from the keys of the first record
  TokenizerChoice tokenizer = TokenizerChoice::kModel;
  ChatChoice chat;  // the chat template that turns conversations into text
  bool train_on_prompt = false;
  bool packing = true;
  OnBadLine on_bad_line = OnBadLine::kStop;
  std::string cache_folder;  // holds tokenised data; created if missing
  bool shuffle = true;
  // The held-out data: a separate file or folder, or a fraction of the samples (0 to 0.5).
  std::optional<std::string> eval_file;
  double eval_share = 0;
};

// The tokenizer of the model folder `model`, or the built-in one. If the folder has none, or
// `model` is not a folder, the result's `tokenizer` is null: data that consists of token ids needs
// none.
absl::StatusOr<ModelTokenizer> TokenizerFor(Io& io, TokenizerChoice choice,
                                            const std::string& model);

// Converts the settings into options for reading data files, for a vocabulary size and a sequence
// length in tokens. The caller fills in the paths. `tokenizer` must outlive the use of the result.
absl::StatusOr<DataFiles> DataFilesFrom(const DataSettings& settings,
                                        const ModelTokenizer& tokenizer, int64_t vocab,
                                        int64_t sequence);
// The same with the other options that training and evaluation need for their data, such as packing
// and the held-out fraction. The caller fills in the paths of the training data. Creates the cache
// folder.
absl::StatusOr<DataOptions> DataOptionsFrom(Io& io, const DataSettings& settings,
                                            const ModelTokenizer& tokenizer, const ModelSpec& spec,
                                            int64_t sequence);

// The text of the chat template that the settings choose instead of the model's own, to be exported
// with the trained model. nullopt if they choose none, if there is no tokenizer, or with
// TokenizerChoice::kByte.
absl::StatusOr<std::optional<std::string>> ChosenChatTemplate(Io& io, const DataSettings& settings,
                                                              const std::string& model);

// The data files of these files and folders, in their order. Logs what is skipped in a folder
// (FindDataFiles).
absl::StatusOr<std::vector<std::string>> DataFilesOf(Io& io, Log& log,
                                                     const std::vector<std::string>& paths);

// Opens the data of a job and logs how many samples and tokens it has, and of several sources how
// often an epoch goes through each. Returns the errors of the
// functions above and of OpenTrainingData. `io` must outlive the result.
absl::StatusOr<TrainingData> OpenJobData(Io& io, Clock& clock, Log& log,
                                         const DataSettings& settings, const ModelSpec& spec,
                                         const TrainingJob& job);

// A listener that logs warnings and, every two seconds, the progress of reading and tokenising.
// `clock` and `log` must outlive it.
DataListener LoggingListener(Clock& clock, Log& log);

}  // namespace horizon
