#include "app/data_options.h"

#include <utility>

#include "common/enum_words.h"
#include "common/status_macros.h"
#include "model/chat_format.h"
#include "runtime/data/sample.h"
#include "runtime/data/tokenise_files.h"

namespace horizon {
namespace {

std::vector<std::string> WithAuto(std::vector<std::string> words) {
  words.insert(words.begin(), "auto");
  return words;
}

}  // namespace

void DataFlags::AddTo(OptionList& list) {
  const auto add = [&](Option option) { list.options.push_back(std::move(option)); };
  add({.name = "data-kind",
       .value = &data_kind,
       .unit = "kind",
       .help = "What a record of the data is; auto looks at the keys of the first one",
       .choices = WithAuto(AllWords<DataKind>())});
  add({.name = "tokenizer",
       .value = &tokenizer,
       .unit = "which",
       .help = "The tokenizer.json of the model's folder, or bytes as tokens",
       .choices = {"model", "byte"}});
  add({.name = "chat-format",
       .value = &chat_format,
       .unit = "format",
       .help = "How conversations are written down; auto follows the model's chat_template",
       .choices = WithAuto(AllWords<ChatMarkup>())});
  add({.name = "train-on-prompt",
       .value = &train_on_prompt,
       .help = "Learn questions too, not the answers alone"});
  add({.name = "packing",
       .value = &packing,
       .unit = "true|false",
       .help = "Let several samples share a row, without seeing each other; false: pad each one",
       .choices = {"true", "false"}});
  add({.name = "on-bad-line",
       .value = &on_bad_line,
       .unit = "what",
       .help = "When a record cannot be used: stop, or skip it and count",
       .choices = AllWords<OnBadLine>()});
  add({.name = "cache",
       .value = &cache,
       .unit = "folder",
       .help = "Where tokenised data is kept; not given: the user's cache folder",
       .is_path = true});
}

TokenizerChoice DataFlags::tokenizer_choice() const {
  return tokenizer == "byte" ? TokenizerChoice::kByte : TokenizerChoice::kModel;
}

absl::StatusOr<DataSettings> DataFlags::ToSettings(const CommandContext& context,
                                                   const std::string& fallback_cache) const {
  DataSettings settings{.tokenizer = tokenizer_choice(),
                        .chat_format = chat_format,
                        .train_on_prompt = train_on_prompt,
                        .packing = packing == "true"};
  if (data_kind != "auto") {
    ASSIGN_OR_RETURN(settings.kind, ParseWord<DataKind>(data_kind));
  }
  ASSIGN_OR_RETURN(settings.on_bad_line, ParseWord<OnBadLine>(on_bad_line));
  settings.cache_folder = cache.has_value()              ? *cache
                          : context.cache_folder.empty() ? fallback_cache
                                                         : context.cache_folder + "/tokens";
  return settings;
}

}  // namespace horizon
