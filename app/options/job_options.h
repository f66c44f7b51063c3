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
#include "model/sample_lengths.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Makes a TrainingJob from command-line options; this is the only place that does. job_options.cc
// has one table of the options that set a field of a job: name, unit, help and the field, which
// determines the range. `train` takes all of them, the planning commands take some.

// The job of `train`: every option of the table. An option that is not given keeps the field of
// `values`.
struct TrainJobOptions {
  TrainingJob values{.steps = 100};
  // Fields with a default that depends on something else.
  // Default: values.steps. At most one of steps and epochs is given.
  std::optional<int64_t> steps;
  std::optional<int64_t> epochs;
  std::optional<int64_t> sequence;       // default 1024, or the model's limit if that is less
  std::optional<std::string> gradients;  // default: as compute
  // The words of the fields that are enums, by option name. AddTo fills in the values of `values`.
  std::map<std::string, std::string, std::less<>> words;

  void AddTo(OptionList& list);
  // The job for a model on a kind of device. With --epochs its steps are not known yet
  // (TrainingSettings::job). InvalidArgument (ValidateJob's) when options contradict each other or
  // the model.
  absl::StatusOr<TrainingJob> ToJob(const ModelSpec& spec, DeviceKind device) const;
};

// --rope-scaling, for LoadModelSpec (model/rope_scaling.h).
Option RopeScalingOption(std::optional<std::string>* target);

// --sample-length, for commands that predict: how long the samples in packed rows are.
Option SampleLengthOption(std::optional<int64_t>* target);
// What the option says, as TrainingJob::sample_lengths: all samples alike.
std::vector<SampleLength> SamplesOfLength(int64_t length);

// The job of a planning command: the job of a file, or the strategy's default job. The options
// --sequence, --sample-length, --batch, --state, --accumulate, --clip-norm, --optimizer-place,
// --compute, --gradients, --train and --freeze change it. These cover every change that an error
// about a job can ask for.
struct PlanJobOptions {
  std::string strategy = "auto";
  std::optional<int64_t> sequence;
  std::optional<int64_t> sample_length;  // not given: the job file's lengths, or whole rows
  std::optional<std::string> batch;      // not given: the job file's, or one is proposed
  std::string state;                     // empty: the strategy's
  // Not given: the strategy's or the job file's.
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
  // With auto it is `horizon`, whose job other strategies can train too (PlanRequest).
  absl::StatusOr<Strategy> ReadStrategy() const;
  bool any_strategy() const { return strategy == "auto"; }
  bool proposes_batch() const {
    return batch.has_value() ? *batch == "auto" : !job_file.has_value();
  }
  bool proposes_state() const { return state == "auto"; }
  // Reads the job file, or takes the strategy's default job on this machine, and applies the
  // options. Without --sequence the default job has 1024 tokens, or the model's limit if that is
  // less. `spec` is the model that is trained; null when it is not known yet. InvalidArgument for a
  // value out of range, for fields that do not go together or with the model, and for a job file
  // for another kind of device; errors of LoadJob.
  absl::StatusOr<TrainingJob> Read(Io& io, const std::string& model, const ModelSpec* spec,
                                   const HardwareProfile& profile) const;
  double margin() const { return margin_percent / 100; }
};

// One option of the table by its name ("train"), for a command that takes only some of them.
Option JobOptionNamed(std::string_view name, OptionTarget target);

// Returns InvalidArgument if the job is for another kind of device than the machine's.
absl::Status CheckDevice(const TrainingJob& job, const HardwareProfile& profile);

}  // namespace horizon
