#include "training/data_settings.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "common/check.h"
#include "common/files/make_folders.h"
#include "common/progress_line.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "model/chat/built_in_format.h"
#include "model/chat/chat_encoder.h"

namespace horizon {
namespace {

ModelTokenizer BytesAsTokens() {
  ModelTokenizer bytes;
  bytes.tokenizer = MakeByteTokenizer();
  bytes.begin_id = bytes.tokenizer->IdOf("<|begin|>");
  bytes.end_id = bytes.tokenizer->IdOf("<|end|>");
  bytes.pad_id = bytes.tokenizer->IdOf("<|pad|>");
  // A question, a newline, the answer, the end.
  const absl::StatusOr<ChatTemplateText> plain = BuiltInTemplate(BuiltInFormat::kPlain, bytes);
  CHECK(plain.ok());
  bytes.chat_templates = {*plain};
  bytes.special_tokens = {
      {"bos_token", "<|begin|>"}, {"eos_token", "<|end|>"}, {"pad_token", "<|pad|>"}};
  return bytes;
}

std::string Describe(const DataStatistics& found, int64_t sequence) {
  const auto count = [](int64_t number) { return WithCommas(static_cast<uint64_t>(number)); };
  return StrCat(
      "data: ", count(found.samples), " samples, ", count(found.tokens), " tokens, ",
      count(found.trained_tokens), " of them trained",
      found.truncated > 0 ? StrCat(", ", found.truncated, " cut at ", sequence, " tokens") : "",
      found.cut_before_end > 0
          ? StrCat(" (", found.cut_before_end, " of them before the token that ends the answer)")
          : "",
      found.dropped > 0 ? StrCat(", ", found.dropped, " with nothing to learn") : "",
      found.bad_lines > 0 ? StrCat(", ", found.bad_lines, " bad lines skipped") : "");
}

}  // namespace

absl::StatusOr<ModelTokenizer> TokenizerFor(Io& io, TokenizerChoice choice,
                                            const std::string& model) {
  if (choice == TokenizerChoice::kByte) return BytesAsTokens();
  const absl::StatusOr<FileInfo> info = io.Info(model);
  if (!info.ok() || info->kind != FileKind::kDirectory) return ModelTokenizer();
  absl::StatusOr<ModelTokenizer> loaded = LoadTokenizer(io, model);
  if (absl::IsNotFound(loaded.status())) return ModelTokenizer();
  return loaded;
}

absl::StatusOr<DataFiles> DataFilesFrom(const DataSettings& settings,
                                        const ModelTokenizer& tokenizer, int64_t vocab,
                                        int64_t sequence) {
  DataFiles files;
  files.kind = settings.kind;
  files.on_bad_line = settings.on_bad_line;
  files.tokenise = {.tokenizer = tokenizer.tokenizer.get(),
                    .end_id = tokenizer.end_id,
                    .chat = MakeChatEncoder(tokenizer, settings.chat),
                    .vocab = vocab,
                    .sequence = sequence,
                    .train_on_prompt = settings.train_on_prompt};
  return files;
}

absl::StatusOr<DataOptions> DataOptionsFrom(Io& io, const DataSettings& settings,
                                            const ModelTokenizer& tokenizer, const ModelSpec& spec,
                                            int64_t sequence) {
  DataOptions options;
  ASSIGN_OR_RETURN(options.files, DataFilesFrom(settings, tokenizer, spec.vocab, sequence));
  if (settings.eval_file.has_value()) options.eval_paths = {*settings.eval_file};
  options.eval_share = settings.eval_share;
  options.packing = settings.packing;
  options.shuffle = settings.shuffle;
  options.cache_folder = settings.cache_folder;
  RETURN_IF_ERROR(MakeFolders(io, options.cache_folder));
  options.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 64u));
  return options;
}

absl::StatusOr<TrainingData> OpenJobData(Io& io, Clock& clock, Log& log,
                                         const DataSettings& settings, const ModelSpec& spec,
                                         const TrainingJob& job) {
  ASSIGN_OR_RETURN(const ModelTokenizer tokenizer, TokenizerFor(io, settings.tokenizer, job.model));
  ASSIGN_OR_RETURN(DataOptions options,
                   DataOptionsFrom(io, settings, tokenizer, spec, job.sequence));
  options.files.paths = {job.data};
  options.seed = job.seed;
  ASSIGN_OR_RETURN(TrainingData data, OpenTrainingData(io, options, LoggingListener(clock, log)));
  log.Info(Describe(data.statistics, job.sequence));
  return data;
}

absl::StatusOr<std::optional<std::string>> ChosenChatTemplate(Io& io, const DataSettings& settings,
                                                              const std::string& model) {
  if (settings.tokenizer == TokenizerChoice::kByte) return std::nullopt;
  if (settings.chat.own.has_value()) return settings.chat.own->text;
  if (settings.chat.format == "auto") return std::nullopt;
  ASSIGN_OR_RETURN(const ModelTokenizer tokenizer, TokenizerFor(io, settings.tokenizer, model));
  if (tokenizer.tokenizer == nullptr) return std::nullopt;
  ASSIGN_OR_RETURN(const BuiltInFormat format, ParseWord<BuiltInFormat>(settings.chat.format));
  ASSIGN_OR_RETURN(ChatTemplateText chosen, BuiltInTemplate(format, tokenizer));
  return std::move(chosen.text);
}

DataListener LoggingListener(Clock& clock, Log& log) {
  auto line = std::make_shared<ProgressLine>(log, clock);
  return {.progress =
              [line](std::string_view what, Bytes done, Bytes all) {
                if (all > 0_B && line->IsDue()) {
                  const double share = static_cast<double>(done) / static_cast<double>(all);
                  line->Show({{StrCat(what, " the data: ", ToString(done), " of ", ToString(all))},
                              {StrCat(", ", static_cast<int>(100 * share), " %"), 1}});
                }
                return absl::OkStatus();
              },
          .warning = [&log](std::string_view text) { log.Warning(text); }};
}

}  // namespace horizon
