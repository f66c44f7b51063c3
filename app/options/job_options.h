#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/options/option.h"
#include "common/files/io.h"
#include "model/model_spec.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Options become a job here, and nowhere else. job_options.cc has one table of what of a job can be
// said on a command line: the option's name, unit and help, and the field it sets, which has the
// range. `train` takes all of it, the commands that plan a part; both read the same lines.

// The job of `train`: every option of the table. Where one is not given, `values` holds.
struct TrainJobOptions {
  TrainingJob values{.steps = 100};
  // What follows from something else where it is not given.
  std::optional<int64_t> sequence;       // 1024, or the model's limit where that is less
  std::optional<std::string> gradients;  // as compute
  // Of fields that are words, what was typed, by option; filled with their values by AddTo.
  std::map<std::string, std::string, std::less<>> words;

  void AddTo(OptionList& list);
  // The job these make for a model on a kind of device. InvalidArgument (ValidateJob's) where they
  // contradict each other or the model.
  absl::StatusOr<TrainingJob> ToJob(const ModelSpec& spec, DeviceKind device) const;
};

// The job of a command that plans: that of a file or the strategy's own, with what the options
// --sequence, --batch, --state, --accumulate, --clip-norm, --optimizer-place, --compute,
// --gradients,
// --train and --freeze change in it: all that an error about a job can tell to change.
struct PlanJobOptions {
  std::string strategy = "horizon";
  std::optional<int64_t> sequence;
  std::optional<std::string> batch;  // nothing: 1, or the job file's
  std::string state;                 // empty: as the strategy has it
  // Nothing: as the strategy or the job file has it.
  std::optional<int64_t> accumulate;
  std::optional<double> clip_norm;
  std::optional<std::string> optimizer_place;
  std::optional<std::string> compute;
  std::optional<std::string> gradients;
  std::vector<std::string> train;  // empty: all, or the job file's; so is freeze
  std::vector<std::string> freeze;
  std::optional<std::string> job_file;
  double margin_percent = 5;

  void AddTo(OptionList& list);
  absl::StatusOr<Strategy> ReadStrategy() const;
  bool proposes_batch() const { return batch == "auto"; }
  bool proposes_state() const { return state == "auto"; }
  // The job file, or the strategy's default job on this machine, with what the options change; a
  // sequence not given is 1024, or the model's limit where that is less. `spec`: what is trained,
  // null where that is still to be found. InvalidArgument for a value out of range, for fields that
  // do not go together or with the model, or a job file for another kind of device.
  absl::StatusOr<TrainingJob> Read(Io& io, const std::string& model, const ModelSpec* spec,
                                   const HardwareProfile& profile) const;
  double margin() const { return margin_percent / 100; }
};

// One option of the table ("train"), for a command that takes single ones of them.
Option JobOptionNamed(std::string_view name, OptionTarget target);

// InvalidArgument where the job is for another kind of device than the machine's.
absl::Status CheckDevice(const TrainingJob& job, const HardwareProfile& profile);

}  // namespace horizon
