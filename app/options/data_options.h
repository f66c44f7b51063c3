#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/options/option.h"
#include "model/chat/chat_encoder.h"
#include "training/data_settings.h"

namespace horizon {

// The options for how conversations are turned into text, that is the chat template and its
// variables.
struct ChatFlags {
  std::string chat_format = "auto";
  std::optional<std::string> chat_template;
  std::optional<std::string> chat_template_args;
  std::optional<std::string> chat_date;

  void AddTo(OptionList& list);
  // Reads the template's file. Without --chat-date the date is today's. InvalidArgument for
  // template arguments that are not a JSON object and for an invalid date; Io's errors.
  absl::StatusOr<ChatChoice> ToChoice(const CommandContext& context) const;
};

// The options for how data files are read. Every command that reads data has them.
struct DataFlags {
  std::string data_kind = "auto";
  std::string tokenizer = "model";
  ChatFlags chat;
  bool train_on_prompt = false;
  std::string packing = "true";
  std::string on_bad_line = "stop";
  std::optional<std::string> cache;

  void AddTo(OptionList& list);
  TokenizerChoice tokenizer_choice() const;
  // `fallback_cache` is the folder for token caches when --cache is not given and the user has no
  // cache folder.
  absl::StatusOr<DataSettings> ToSettings(const CommandContext& context,
                                          const std::string& fallback_cache) const;
};

// The options for the data of a training: what to read, and what of it is held out. `train` has
// them, and the planning commands that say how long a training takes.
struct TrainingDataFlags {
  std::vector<std::string> paths;  // files or folders, each with its weight where it has one
  DataFlags reading;
  std::optional<std::string> eval_data;
  double eval_share = 0;
  std::string shuffle = "true";

  void AddTo(OptionList& list);
  // InvalidArgument for a weight that is no positive number, and the errors of DataFlags.
  absl::StatusOr<DataSettings> ToSettings(const CommandContext& context,
                                          const std::string& fallback_cache) const;
};

}  // namespace horizon
