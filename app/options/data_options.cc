#include "app/options/data_options.h"

#include <utility>

#include "common/documents/document.h"
#include "common/documents/enum_words.h"
#include "common/documents/json.h"
#include "common/files/io.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/chat/built_in_format.h"
#include "model/chat/date_text.h"
#include "runtime/data/sample.h"
#include "runtime/data/tokenise_files.h"

namespace horizon {
namespace {

std::vector<std::string> WithAuto(std::vector<std::string> words) {
  words.insert(words.begin(), "auto");
  return words;
}

}  // namespace

void ChatFlags::AddTo(OptionList& list) {
  const auto add = [&](Option option) { list.options.push_back(std::move(option)); };
  add({.name = "chat-format",
       .value = &chat_format,
       .unit = "format",
       .help = "How conversations become text; auto uses the model's chat template",
       .choices = WithAuto(AllWords<BuiltInFormat>()),
       .group = "Conversations"});
  add({.name = "chat-template",
       .value = &chat_template,
       .unit = "file",
       .help = "Jinja chat template to use instead of the model's own",
       .is_path = true,
       .group = "Conversations"});
  add({.name = "chat-template-args",
       .value = &chat_template_args,
       .unit = "JSON",
       .help = "More variables for the chat template, such as '{\"enable_thinking\": false}'",
       .group = "Conversations"});
  add({.name = "chat-date",
       .value = &chat_date,
       .unit = "YYYY-MM-DD",
       .help = "Date for chat templates that print the current one (default today in UTC)",
       .group = "Conversations"});
}

absl::StatusOr<ChatChoice> ChatFlags::ToChoice(const CommandContext& context) const {
  ChatChoice choice{.format = chat_format};
  if (chat_template.has_value()) {
    ASSIGN_OR_RETURN(std::string text, ReadTextFile(context.io, *chat_template));
    choice.own =
        ChatTemplateText{.name = "default", .text = std::move(text), .where = *chat_template};
  }
  if (chat_template_args.has_value()) {
    ASSIGN_OR_RETURN(Document arguments, ParseJson("--chat-template-args", *chat_template_args));
    const auto* object = arguments.root.As<Value::Object>();
    if (object == nullptr) {
      return absl::InvalidArgumentError(
          StrCat("--chat-template-args is ", arguments.root.KindName(),
                 "; it must be an object such as '{\"enable_thinking\": false}'"));
    }
    choice.arguments = *object;
  }
  ASSIGN_OR_RETURN(choice.now,
                   ParseDay(chat_date.value_or(DateText("%Y-%m-%d", context.clock.UnixSeconds()))));
  return choice;
}

void DataFlags::AddTo(OptionList& list) {
  const auto add = [&](Option option) { list.options.push_back(std::move(option)); };
  add({.name = "data-kind",
       .value = &data_kind,
       .unit = "kind",
       .help = "What the records are; auto looks at the keys of the first one",
       .choices = WithAuto(AllWords<DataKind>()),
       .group = "Data"});
  add({.name = "tokenizer",
       .value = &tokenizer,
       .unit = "which",
       .help = "Tokenizer: the model folder's tokenizer.json, or one token per byte",
       .choices = {"model", "byte"},
       .group = "Data"});
  chat.AddTo(list);
  add({.name = "train-on-prompt",
       .value = &train_on_prompt,
       .help = "Train on the prompts too, not only on the answers",
       .group = "Data"});
  add({.name = "packing",
       .value = &packing,
       .unit = "true|false",
       .help = "Pack several samples into one row, without attention between them; false pads "
               "every sample to a row",
       .choices = {"true", "false"},
       .group = "Data"});
  add({.name = "on-bad-line",
       .value = &on_bad_line,
       .unit = "what",
       .help = "What to do with a record that cannot be used: stop, or skip and count it",
       .choices = AllWords<OnBadLine>(),
       .group = "Data"});
  add({.name = "cache",
       .value = &cache,
       .unit = "folder",
       .help = "Folder for tokenised data (default the user's cache folder)",
       .is_path = true,
       .group = "Data"});
}

TokenizerChoice DataFlags::tokenizer_choice() const {
  return tokenizer == "byte" ? TokenizerChoice::kByte : TokenizerChoice::kModel;
}

absl::StatusOr<DataSettings> DataFlags::ToSettings(const CommandContext& context,
                                                   const std::string& fallback_cache) const {
  DataSettings settings{.tokenizer = tokenizer_choice(),
                        .train_on_prompt = train_on_prompt,
                        .packing = packing == "true"};
  ASSIGN_OR_RETURN(settings.chat, chat.ToChoice(context));
  if (data_kind != "auto") {
    ASSIGN_OR_RETURN(settings.kind, ParseWord<DataKind>(data_kind));
  }
  ASSIGN_OR_RETURN(settings.on_bad_line, ParseWord<OnBadLine>(on_bad_line));
  settings.cache_folder = cache.has_value()              ? *cache
                          : context.cache_folder.empty() ? fallback_cache
                                                         : context.cache_folder + "/tokens";
  return settings;
}

void TrainingDataFlags::AddTo(OptionList& list) {
  const auto add = [&](Option option) { list.options.push_back(std::move(option)); };
  add({.name = "data",
       .value = &paths,
       .unit = "file or folder[:weight]",
       .help = "Training data: text, or .jsonl or .json with documents, conversations, questions "
               "and answers, or token ids; give several, with weights to draw from them in "
               "proportion (a.jsonl:0.3)",
       .is_path = true,
       .required = true});
  reading.AddTo(list);
  add({.name = "eval-data",
       .value = &eval_data,
       .unit = "file or folder",
       .help = "Held-out data for loss and perplexity, in the formats of --data",
       .is_path = true,
       .group = "Evaluation",
       .words = WordKind::kFile});
  add({.name = "eval-share",
       .value = &eval_share,
       .unit = "share",
       .help = "Share of the samples to hold out instead, from 0 to 0.5",
       .minimum = 0,
       .maximum = 0.5,
       .group = "Evaluation"});
  add({.name = "shuffle",
       .value = &shuffle,
       .unit = "true|false",
       .help = "Take the samples in random order, a new one in each epoch",
       .choices = {"true", "false"},
       .group = "Data"});
}

absl::StatusOr<DataSettings> TrainingDataFlags::ToSettings(
    const CommandContext& context, const std::string& fallback_cache) const {
  ASSIGN_OR_RETURN(DataSettings settings, reading.ToSettings(context, fallback_cache));
  settings.shuffle = shuffle == "true";
  for (const std::string& text : paths) {
    ASSIGN_OR_RETURN(settings.sources.emplace_back(), ReadWeightedData(context.io, text));
  }
  settings.eval_file = eval_data;
  settings.eval_share = eval_share;
  return settings;
}

}  // namespace horizon
