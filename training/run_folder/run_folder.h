#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "model/model_spec.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/export/export_model.h"

namespace horizon {

// The files of a run folder, `--output` of train:
//   job.json, train.yaml, plan.json   the job, the options, and the plan that executes it
//   base/                             config.json and tokenizer files of the initial model, the
//                                     tensors of a multimodal model's other parts, and how the
//                                     folder stores experts
//   metrics.jsonl, eval.jsonl         one line for each step; one line for each evaluation
//   routing.jsonl                     of a model with experts: which ones the tokens chose
//   timeline.json                     the last step, for ui.perfetto.dev
//   machine.json, prediction.json     the machine's profile, and the prediction made from it before
//                                     the first step
//   timelines.json                    a steady step, predicted and measured; kept up to date
//   run.json                          the results, written when the run ends or is stopped
//   checkpoints/step-N/               see runtime/checkpoint/
//   model/                            the trained model
//   lock                              locked while a process works in the folder
inline constexpr char kBaseFolder[] = "base";

// The folder that contains `path`.
std::string ParentFolder(const std::string& path);
// The run folder of a checkpoint: RUN for RUN/checkpoints/step-N.
std::string RunOfCheckpoint(const std::string& checkpoint);

// Finds the checkpoint that a run resumes from; nullopt for a run that starts from its initial
// weights. `resume` is the value of --resume: nothing, "auto" (the newest checkpoint of the run
// folder, if it has one) or the path of a run or of one checkpoint. InvalidArgument if the run
// folder holds a run or other files (HoldsNoRun) and --resume is not given, or if it holds files
// but no run and --resume is "auto"; NotFound if a path names no checkpoint; errors of the newest
// checkpoint as in OpenNewestCheckpoint.
absl::StatusOr<std::optional<Checkpoint>> FindResume(Io& io,
                                                     const std::optional<std::string>& resume,
                                                     const std::string& run_folder);

// The model that a run begins with.
struct InitialModel {
  const std::string& config_text;
  const std::string& model;  // as the user named it
  const ModelSpec& spec;
  // The chat template that replaces the model's own; none: the model's own is kept.
  std::optional<std::string> chat_template = std::nullopt;
};
// Writes what an export needs besides the trained weights to RUN/base: the model's config.json and,
// if `model.model` is a folder, the other files of the model, the tensors of a multimodal model's
// other parts, and how the folder stores experts. Nothing is written if RUN/base is complete;
// config.json, which marks it complete, is written last.
absl::Status SaveModelFiles(Io& io, const std::string& run_folder, const InitialModel& model);

// Adds the files that SaveModelFiles wrote to `base` to the options of an export of `spec`: files
// to copy, the layout of experts, and tensors of other parts to carry over. `base` may also be a
// model folder. Returns a warning for the user, or "": if the other parts of a multimodal model are
// missing, it is exported as a text model.
absl::StatusOr<std::string> AddModelFiles(Io& io, const std::string& base, const ModelSpec& spec,
                                          ExportOptions& options);

}  // namespace horizon
