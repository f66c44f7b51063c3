#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/options/option.h"
#include "model/chat/chat_encoder.h"
#include "training/data_settings.h"

namespace horizon {

// The flags that say how conversations are written down.
struct ChatFlags {
  std::string chat_format = "auto";
  std::optional<std::string> chat_template;
  std::optional<std::string> chat_template_args;
  std::optional<std::string> chat_date;

  void AddTo(OptionList& list);
  // Reads the template's file. The date is today's where none is given. InvalidArgument for
  // arguments that are no JSON object and a date that is none; Io's errors.
  absl::StatusOr<ChatChoice> ToChoice(const CommandContext& context) const;
};

// The flags that say how data files are read, of every command that reads them.
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
  // `fallback_cache` is where token caches go when neither a flag nor the user's cache folder says.
  absl::StatusOr<DataSettings> ToSettings(const CommandContext& context,
                                          const std::string& fallback_cache) const;
};

}  // namespace horizon
