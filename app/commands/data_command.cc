#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/answers/data_report.h"
#include "app/commands/commands.h"
#include "app/options/data_options.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/load_model_spec.h"
#include "runtime/data/check_data.h"
#include "runtime/data/tokenise_files.h"

namespace horizon {
namespace {

constexpr int64_t kMostSequence = int64_t{1} << 28;

class DataCommand : public Command {
 public:
  // A check goes through to the end unless it is told otherwise.
  DataCommand() { flags_.on_bad_line = "skip"; }

  std::string_view name() const override { return "data"; }
  CommandGroup group() const override { return CommandGroup::kTrain; }
  std::string_view summary() const override {
    return "Check data files: lengths, bad lines, and a sample as the model will see it";
  }
  std::string_view details() const override {
    return "'horizon data check FILE...' reads JSON lines, JSON arrays and plain text. A record "
           "has \"text\" (to continue), \"instruction\" and \"output\", \"messages\", "
           "\"conversations\", \"prompt\" and \"completion\", \"query\" and \"response\" (or "
           "\"question\" and \"answer\"), or \"input_ids\". The answer shows the first sample with "
           "its token ids and its loss mask. Nothing is written.";
  }
  OptionList Options() override {
    OptionList list;
    list.options.push_back(
        {.name = "model",
         .value = &model_,
         .unit = "folder",
         .help = "Hugging Face folder whose tokenizer and chat template are used"});
    list.options.push_back({.name = "sequence",
                            .value = &sequence_,
                            .unit = "tokens",
                            .help = "Sequence length of a row in tokens",
                            .minimum = 2,
                            .maximum = kMostSequence});
    flags_.AddTo(list);
    // Nothing is kept here, and both ways of making rows are shown.
    std::erase_if(list.options, [](const Option& option) {
      return option.name == "cache" || option.name == "packing";
    });
    list.options.push_back({.name = "threads",
                            .value = &threads_,
                            .unit = "threads",
                            .help = "CPU threads that tokenise (default one per core)",
                            .minimum = 1,
                            .maximum = 1024});
    list.options.push_back({.name = "json", .value = &json_, .help = "Answer in JSON"});
    list.positionals = {{.name = "ACTION", .value = &action_, .help = "The word check"},
                        {.name = "FILE",
                         .value = &files_,
                         .help = "Files or folders to check: .jsonl, .ndjson, .json, .txt or .md",
                         .words = WordKind::kFile}};
    return list;
  }

  absl::Status Run(const CommandContext& context) override {
    if (action_ != "check") {
      return absl::InvalidArgumentError(
          StrCat("horizon data knows 'check' only, found '", action_, "'"));
    }
    if (files_.empty()) return absl::InvalidArgumentError("name the files to check");
    ASSIGN_OR_RETURN(const DataSettings settings, flags_.ToSettings(context, ""));
    ASSIGN_OR_RETURN(const ModelTokenizer tokenizer,
                     TokenizerFor(context.io, settings.tokenizer, model_.value_or("")));
    ASSIGN_OR_RETURN(const int64_t vocab, VocabularyOf(context.io, tokenizer));
    ASSIGN_OR_RETURN(DataFiles files, DataFilesFrom(settings, tokenizer, vocab, sequence_));
    ASSIGN_OR_RETURN(files.paths, DataFilesOf(context.io, context.log, files_));
    ASSIGN_OR_RETURN(const DataCheck check, Check(context, files));
    const MaskStyle style = context.output.has_colour() ? MaskStyle::kColour : MaskStyle::kBrackets;
    RETURN_IF_ERROR(json_ ? context.output.Write(DataCheckJson(files, check))
                          : context.output.WriteRaw(
                                DataCheckText(files, check, style, context.answer_columns())));
    if (check.files.statistics.samples > 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "there is no sample to learn from: no record of the data can be used; the answer says why");
  }

 private:
  absl::StatusOr<DataCheck> Check(const CommandContext& context, const DataFiles& files) const {
    const DataListener listener = LoggingListener(context.clock, context.log);
    const auto threads =
        threads_.value_or(std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, 64));
    return CheckData(context.io, files, static_cast<int>(threads), [&](Bytes done, Bytes all) {
      return listener.progress("tokenising", done, all);
    });
  }

  // The model's where its config.json says; else what the tokenizer can give.
  absl::StatusOr<int64_t> VocabularyOf(Io& io, const ModelTokenizer& tokenizer) const {
    if (model_.has_value()) {
      const std::string config = JoinPath(*model_, "config.json");
      if (io.Info(config).ok()) {
        ASSIGN_OR_RETURN(const ModelConfig model, LoadModelSpec(io, config));
        return model.spec.vocab;
      }
    }
    if (tokenizer.tokenizer != nullptr) return tokenizer.tokenizer->id_limit();
    return std::numeric_limits<int32_t>::max();
  }

  DataFlags flags_;
  std::optional<std::string> model_;
  int64_t sequence_ = 1024;
  std::optional<int64_t> threads_;
  std::string action_;
  std::vector<std::string> files_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDataCommand() { return std::make_unique<DataCommand>(); }

}  // namespace horizon
