#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "common/documents/enum_words.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "model/model_spec.h"
#include "model/read_config.h"
#include "runtime/checkpoint/checkpoint_names.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_values.h"
#include "runtime/export/export_model.h"
#include "schedule/training_job.h"
#include "training/frozen_weights.h"
#include "training/initial_weights.h"
#include "training/run_folder/run_folder.h"

namespace horizon {
namespace {

constexpr char kConfigFile[] = "config.json";

class ExportCommand : public Command {
 public:
  std::string_view name() const override { return "export"; }
  CommandGroup group() const override { return CommandGroup::kTrain; }
  std::string_view summary() const override {
    return "Write the model of a run as a Hugging Face folder";
  }
  std::string_view details() const override {
    return "Checks the newest checkpoint of the run, or the one that is named, and writes config, "
           "weights, tokenizer files, chat template and generation config into a new folder, which "
           "transformers and other programs load directly. --dtype fp32 writes the master weights "
           "exactly, bf16 rounds them to nearest.\n"
           "\n"
           "A multimodal model is written whole: the tensors beside its text part are copied "
           "unchanged from the model that the run started from. If the run has kept none, because "
           "it started from random weights or the checkpoint was moved, --base names a model "
           "folder that has them; without --base the text part is written as a text model. Frozen "
           "tensors are copied unchanged, in the number format of the model that the run started "
           "from; quantised ones are written like trained ones.";
  }
  OptionList Options() override {
    return {.options = {{.name = "output",
                         .value = &output_,
                         .unit = "folder",
                         .help = "New or empty folder for the model",
                         .required = true},
                        {.name = "dtype",
                         .value = &dtype_,
                         .unit = "type",
                         .help = "Number format of the exported weights",
                         .choices = AllWords<NumberType>()},
                        {.name = "base",
                         .value = &base_,
                         .unit = "folder",
                         .help = "Model folder to take config, tokenizer files and the tensors "
                                 "beside a text part from (default what the run has kept)"},
                        {.name = "json", .value = &json_, .help = "Answer in JSON"}},
            .positionals = {{.name = "RUN",
                             .value = &run_,
                             .help = "Folder of a run, or of one checkpoint in it",
                             .words = WordKind::kFolder}}};
  }

  absl::Status Run(const CommandContext& context) override {
    Io& io = context.io;
    RETURN_IF_ERROR(CheckExportFolder(io, output_));
    ASSIGN_OR_RETURN(const Checkpoint checkpoint, Open(io));
    context.log.Info(StrCat("checking ", checkpoint.path(), ", step ", checkpoint.manifest().step));
    RETURN_IF_ERROR(checkpoint.VerifyPayload());
    ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointValues> values,
                     CheckpointValues::Open(io, checkpoint));
    ExportOptions options{.folder = output_};
    ASSIGN_OR_RETURN(options.dtype, ParseWord<NumberType>(dtype_));
    if (options.dtype == NumberType::kFp32 && !values->has_low_halves()) {
      context.log.Warning("this checkpoint has no low halves: fp32 values are those of bf16");
    }
    ASSIGN_OR_RETURN(const ModelSpec spec, TakeModel(context, checkpoint, options));
    ASSIGN_OR_RETURN(options.frozen, TakeFrozen(io, checkpoint, spec));
    RETURN_IF_ERROR(ExportModel(io, spec, *values, options));
    return Answer(context, checkpoint, options);
  }

 private:
  absl::StatusOr<Checkpoint> Open(Io& io) const {
    if (io.Info(JoinPath(run_, kManifestFile)).ok()) return Checkpoint::Open(io, run_);
    absl::StatusOr<Checkpoint> newest = OpenNewestCheckpoint(io, run_);
    if (!absl::IsNotFound(newest.status())) return newest;
    const bool trained = io.Info(run_ + "/model/config.json").ok();
    return absl::NotFoundError(
        StrCat("there is no checkpoint in ", run_,
               trained ? StrCat("; the trained model is in ", run_, "/model as it is")
                       : std::string("; name the folder of a run (--output of train)")));
  }

  // Sets what of the export does not come out of the checkpoint.
  absl::StatusOr<ModelSpec> TakeModel(const CommandContext& context, const Checkpoint& checkpoint,
                                      ExportOptions& options) const {
    Io& io = context.io;
    const std::string base =
        base_.value_or(JoinPath(RunOfCheckpoint(checkpoint.path()), kBaseFolder));
    absl::StatusOr<std::string> config = ReadTextFile(io, JoinPath(base, kConfigFile));
    const bool moved = absl::IsNotFound(config.status()) && !base_.has_value();
    // A checkpoint that was moved away from its run still has its config.
    if (moved) config = checkpoint.ReadText(kConfigFile);
    RETURN_IF_ERROR(config.status());
    options.config_text = *std::move(config);
    ASSIGN_OR_RETURN(
        const Document document,
        ParseJson(moved ? StrCat(checkpoint.path(), "/", kConfigFile) : JoinPath(base, kConfigFile),
                  options.config_text));
    ASSIGN_OR_RETURN(ModelConfig model, ReadConfig(document, "model"));
    std::string warning =
        StrCat("there is no ", base,
               ": the model is written without tokenizer files, and one that "
               "was the text part of a multimodal model as a text model; --base names a model "
               "folder that has the rest");
    if (!moved) {
      ASSIGN_OR_RETURN(warning, AddModelFiles(io, base, model.spec, options));
    }
    if (!warning.empty()) context.log.Warning(warning);
    return std::move(model.spec);
  }

  // Where the tensors are that the run did not train; nothing where it trained all.
  absl::StatusOr<std::optional<FrozenWeights>> TakeFrozen(Io& io, const Checkpoint& checkpoint,
                                                          const ModelSpec& spec) const {
    const CheckpointFacts& facts = checkpoint.manifest().facts;
    if (facts.frozen.empty()) return std::nullopt;
    WeightSource source;
    if (base_.has_value()) {
      source = FolderWeights{.folder = *base_};
    } else {
      absl::StatusOr<WeightSource> kept = ReadWeightSource(io, RunOfCheckpoint(checkpoint.path()));
      if (absl::IsNotFound(kept.status())) {
        return absl::NotFoundError(
            StrCat(checkpoint.path(), " lacks ", facts.frozen.size(),
                   " tensors that were frozen, and the run that knows where they are is not "
                   "around it: name the model it began with as --base"));
      }
      RETURN_IF_ERROR(kept.status());
      source = *std::move(kept);
    }
    return OpenFrozen(
        io, source, spec,
        {.path = checkpoint.path(), .job = facts.job, .initial_checksums = facts.frozen});
  }

  absl::Status Answer(const CommandContext& context, const Checkpoint& checkpoint,
                      const ExportOptions& options) const {
    const int64_t step = checkpoint.manifest().step;
    if (json_) {
      JsonWriter json;
      json.BeginObject().Key("checkpoint").String(checkpoint.path()).Key("step").Integer(step);
      json.Key("dtype").String(dtype_).Key("model").String(output_);
      json.Key("carried_over").BeginArray();
      for (const std::string& path : options.copies) {
        json.String(path.substr(path.rfind('/') + 1));
      }
      json.EndArray().EndObject();
      return context.output.Write(std::move(json).Finish());
    }
    return context.output.Write(StrCat("wrote step ", step, " of ", checkpoint.path(), " as ",
                                       dtype_, " to ", output_, ", with ", options.copies.size(),
                                       " files of tokenizer and generation\n"));
  }

  std::string run_;
  std::string output_;
  std::string dtype_ = "bf16";
  std::optional<std::string> base_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeExportCommand() { return std::make_unique<ExportCommand>(); }

}  // namespace horizon
