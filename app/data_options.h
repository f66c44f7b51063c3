#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/option.h"
#include "model/model_spec.h"
#include "model/tokenizer/load_tokenizer.h"
#include "runtime/data/training_data.h"

namespace horizon {

// The flags that say how data files are read, of every command that reads them.
struct DataFlags {
  std::string data_kind = "auto";
  std::string tokenizer = "model";
  std::string chat_format = "auto";
  bool train_on_prompt = false;
  std::string packing = "true";
  std::string on_bad_line = "stop";
  std::optional<std::string> cache;

  void AddTo(OptionList& list);
};

// The model folder's tokenizer, or the built-in one. Where the folder has none, or `model` is no
// folder, `tokenizer` is null: data of token ids needs none.
absl::StatusOr<ModelTokenizer> TokenizerFor(Io& io, const DataFlags& flags,
                                            const std::string& model);

// What the flags say of reading files, for a vocabulary and a length of rows; the paths are the
// caller's to fill in. `tokenizer` outlives the use of the result.
absl::StatusOr<DataFiles> DataFilesFrom(const DataFlags& flags, const ModelTokenizer& tokenizer,
                                        int64_t vocab, int64_t sequence);

// The same with everything else that training or evaluating needs of its data.
// `fallback_cache` is where token caches go when neither a flag nor the user's cache folder says.
absl::StatusOr<DataOptions> DataOptionsFrom(const CommandContext& context, const DataFlags& flags,
                                            const ModelTokenizer& tokenizer, const ModelSpec& spec,
                                            int64_t sequence, const std::string& fallback_cache);

// A listener that logs: what takes long, every few seconds, and warnings.
DataListener LoggingListener(const CommandContext& context);

}  // namespace horizon
