#include "app/data_options.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "app/make_folders.h"
#include "common/enum_words.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "common/units.h"
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
       .help = "Where tokenised data is kept; not given: the user's cache folder"});
}

absl::StatusOr<ModelTokenizer> TokenizerFor(Io& io, const DataFlags& flags,
                                            const std::string& model) {
  if (flags.tokenizer == "byte") {
    ModelTokenizer bytes;
    bytes.tokenizer = MakeByteTokenizer();
    bytes.begin_id = bytes.tokenizer->IdOf("<|begin|>");
    bytes.end_id = bytes.tokenizer->IdOf("<|end|>");
    bytes.pad_id = bytes.tokenizer->IdOf("<|pad|>");
    return bytes;
  }
  const absl::StatusOr<FileInfo> info = io.Info(model);
  if (!info.ok() || info->kind != FileKind::kDirectory) return ModelTokenizer();
  absl::StatusOr<ModelTokenizer> loaded = LoadTokenizer(io, model);
  if (absl::IsNotFound(loaded.status())) return ModelTokenizer();
  return loaded;
}

absl::StatusOr<DataFiles> DataFilesFrom(const DataFlags& flags, const ModelTokenizer& tokenizer,
                                        int64_t vocab, int64_t sequence) {
  DataFiles files;
  if (flags.data_kind != "auto") {
    ASSIGN_OR_RETURN(files.kind, ParseWord<DataKind>(flags.data_kind));
  }
  ASSIGN_OR_RETURN(files.on_bad_line, ParseWord<OnBadLine>(flags.on_bad_line));
  // Bytes have no template: a question, a newline, the answer.
  const bool plain = flags.tokenizer == "byte" && flags.chat_format == "auto";
  files.tokenise = {
      .tokenizer = tokenizer.tokenizer.get(),
      .end_id = tokenizer.end_id,
      .chat = ChooseChatFormat(plain ? "plain" : flags.chat_format, tokenizer.chat_template),
      .vocab = vocab,
      .sequence = sequence,
      .train_on_prompt = flags.train_on_prompt};
  return files;
}

absl::StatusOr<DataOptions> DataOptionsFrom(const CommandContext& context, const DataFlags& flags,
                                            const ModelTokenizer& tokenizer, const ModelSpec& spec,
                                            int64_t sequence, const std::string& fallback_cache) {
  DataOptions options;
  ASSIGN_OR_RETURN(options.files, DataFilesFrom(flags, tokenizer, spec.vocab, sequence));
  options.packing = flags.packing == "true";
  options.cache_folder = flags.cache.has_value()        ? *flags.cache
                         : context.cache_folder.empty() ? fallback_cache
                                                        : context.cache_folder + "/tokens";
  RETURN_IF_ERROR(MakeFolders(context.io, options.cache_folder));
  options.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 64u));
  return options;
}

DataListener LoggingListener(const CommandContext& context) {
  auto told = std::make_shared<Nanoseconds>(context.clock.Now());
  return {.progress =
              [&context, told](std::string_view what, uint64_t done, uint64_t bytes) {
                if (context.clock.Now() - *told >= std::chrono::seconds(2) && bytes > 0) {
                  *told = context.clock.Now();
                  context.log.Info(StrCat(what, " the data: ", ToString(Bytes(CheckedU64(done))),
                                          " of ", ToString(Bytes(CheckedU64(bytes)))));
                }
                return absl::OkStatus();
              },
          .warning = [&context](std::string_view text) { context.log.Warning(text); }};
}

}  // namespace horizon
