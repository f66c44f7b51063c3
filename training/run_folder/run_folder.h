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

// A run folder, `--output` of train:
//   job.json, plan.json, train.yaml   what was asked for, and how it is done
//   base/                             config.json and tokenizer files of the model it began with,
//                                     and the tensors of a multimodal model's other parts
//   metrics.jsonl, eval.jsonl         a line a step, a line an evaluation
//   timeline.json                     the last step, for ui.perfetto.dev
//   machine.json, prediction.json     what was predicted before the first step, and from what
//   timelines.json                    a steady step, predicted and measured; kept up to date
//   run.json                          what it came to, written when it ends or is stopped
//   checkpoints/step-N/               see runtime/checkpoint/
//   model/                            the trained model
//   lock                              held while a process works here
inline constexpr char kBaseFolder[] = "base";

// The folder that a path lies in, and the run that a checkpoint RUN/checkpoints/step-N belongs to.
std::string ParentFolder(const std::string& path);
std::string RunOfCheckpoint(const std::string& checkpoint);

// Which checkpoint a run begins from. `resume` is --resume: nothing, "auto" (the newest of the run
// folder, or none) or the path of a run or of one checkpoint. InvalidArgument when the run folder
// holds steps or anything else (HoldsNoRun) and nothing was said about resuming; NotFound, with
// what is there, when a path names no checkpoint; errors of the newest checkpoint itself as
// OpenNewestCheckpoint has them.
absl::StatusOr<std::optional<Checkpoint>> FindResume(Io& io,
                                                     const std::optional<std::string>& resume,
                                                     const std::string& run_folder);

// Keeps what an export needs besides the trained weights in RUN/base: `config_text` and, when
// `model` is a folder, the files beside it that belong to the model and the tensors of a multimodal
// model's other parts. What is there already stays; config.json comes last.
struct BeganWith {
  const std::string& config_text;
  const std::string& model;  // as it was named
  const ModelSpec& spec;
  // The chat template that the run is told to use in place of the model's own.
  std::optional<std::string> chat_template = std::nullopt;
};
absl::Status KeepModelFiles(Io& io, const std::string& run_folder, const BeganWith& model);

// Takes what KeepModelFiles kept in `base` into an export of `spec`: files to copy and carried
// tensors. `base` may also be a model folder. The answer is a warning for people, or empty: a
// multimodal model whose other parts are not there is exported as a text model.
absl::StatusOr<std::string> TakeModelFiles(Io& io, const std::string& base, const ModelSpec& spec,
                                           ExportOptions& options);

}  // namespace horizon
