#include "training/data_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <string_view>
#include <system_error>
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
#include "runtime/data/records/find_data_files.h"

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

std::string DescribeShare(const SourceShare& source) {
  return StrCat("data: an epoch has ", WithCommas(static_cast<uint64_t>(source.draws)), " of the ",
                WithCommas(static_cast<uint64_t>(source.samples)), " samples of ", source.name,
                ": ", ShortNumber(source.passes()),
                source.draws == source.samples ? " pass" : " passes");
}

// The names of some files of a folder.
std::string FirstOf(const std::vector<std::string>& files, const std::string& folder) {
  constexpr size_t kMost = 5;
  std::string text;
  for (size_t i = 0; i < std::min(kMost, files.size()); ++i) {
    std::string_view name = files[i];
    if (name.starts_with(folder)) name.remove_prefix(folder.size());
    name.remove_prefix(std::min(name.find_first_not_of('/'), name.size()));
    text += StrCat(i == 0 ? "" : ", ", name);
  }
  return files.size() > kMost ? text + ", ..." : text;
}

std::vector<WeightedData> SourcesOf(const DataSettings& settings, const TrainingJob& job) {
  if (!settings.sources.empty()) return settings.sources;
  return {{.path = job.data}};
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
  options.eval_share = settings.eval_share;
  options.packing = settings.packing;
  options.shuffle = settings.shuffle;
  options.cache_folder = settings.cache_folder;
  RETURN_IF_ERROR(MakeFolders(io, options.cache_folder));
  options.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 64u));
  return options;
}

absl::StatusOr<WeightedData> ReadWeightedData(Io& io, const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || io.Info(text).ok()) return WeightedData{text};
  WeightedData data{.path = text.substr(0, colon)};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, data.weight);
  // No number: a name with a colon that is not there, which opening it says.
  if (error != std::errc() || rest != end) return WeightedData{text};
  if (data.weight > 0 && std::isfinite(data.weight)) return data;
  return absl::InvalidArgumentError(StrCat("the weight of '", data.path, "' in '", text,
                                           "' is not a number above 0; to leave data out, do not "
                                           "name it"));
}

absl::StatusOr<std::vector<std::string>> DataFilesOf(Io& io, Log& log,
                                                     const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const FoundDataFiles found, FindDataFiles(io, path));
    files.insert(files.end(), found.files.begin(), found.files.end());
    if (found.files != std::vector<std::string>{path}) {
      log.Info(StrCat("data folder ", path, ": ", found.files.size(),
                      " files: ", FirstOf(found.files, path)));
    }
    if (!found.skipped.empty()) {
      log.Warning(StrCat("data folder ", path, ": ", found.skipped.size(),
                         " files are hidden or not named as data and are not read: ",
                         FirstOf(found.skipped, path)));
    }
  }
  return files;
}

absl::StatusOr<TrainingData> OpenJobData(Io& io, Clock& clock, Log& log,
                                         const DataSettings& settings, const ModelSpec& spec,
                                         const TrainingJob& job) {
  ASSIGN_OR_RETURN(const ModelTokenizer tokenizer, TokenizerFor(io, settings.tokenizer, job.model));
  ASSIGN_OR_RETURN(DataOptions options,
                   DataOptionsFrom(io, settings, tokenizer, spec, job.sequence));
  for (const WeightedData& source : SourcesOf(settings, job)) {
    ASSIGN_OR_RETURN(std::vector<std::string> files, DataFilesOf(io, log, {source.path}));
    options.sources.push_back(
        {.name = source.path, .paths = std::move(files), .weight = source.weight});
  }
  if (settings.eval_file.has_value()) {
    ASSIGN_OR_RETURN(options.eval_paths, DataFilesOf(io, log, {*settings.eval_file}));
  }
  options.seed = job.seed;
  options.epochs = job.epochs;
  ASSIGN_OR_RETURN(TrainingData data, OpenTrainingData(io, options, LoggingListener(clock, log)));
  log.Info(Describe(data.statistics, job.sequence));
  if (data.sources.size() > 1) {
    for (const SourceShare& source : data.sources) log.Info(DescribeShare(source));
  }
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
