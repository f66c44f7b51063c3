#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/options/data_options.h"
#include "app/options/job_options.h"
#include "app/options/option.h"
#include "common/files/io.h"
#include "common/units.h"
#include "model/chat/chat_encoder.h"
#include "model/model_spec.h"
#include "runtime/execution/compute_device.h"
#include "training/training_settings.h"

namespace horizon {

// The options of `horizon train`, from the command line or from a YAML file with the same names
// (--config). The options that change the numbers of a run are in `job`.
struct TrainOptions {
  std::string model;
  std::optional<std::string> rope_scaling;
  std::string init = "weights";
  TrainingDataFlags data;
  int64_t eval_every = 0;
  std::string output;
  TrainJobOptions job;
  std::string plan = "auto";
  std::string device = "auto";
  std::optional<Bytes> device_memory;
  std::optional<BytesPerSecond> link;
  std::optional<int64_t> threads;
  std::optional<std::string> machine;
  std::vector<std::string> metrics = {"jsonl"};
  bool log_gradient_norms = false;
  std::string on_non_finite = "stop";
  std::string save = "full";
  int64_t save_every = 500;
  int64_t keep = 2;
  std::string on_save_failure = "continue";
  std::optional<std::string> resume;
  bool restart_schedule = false;
  std::string export_dtype = "bf16";
  std::optional<std::string> config;
  bool json = false;

  void AddTo(OptionList& list);
  // The settings for the training library (training_settings.h), for a model and the chosen device.
  // InvalidArgument when the options contradict each other or the model.
  absl::StatusOr<TrainingSettings> ToSettings(const CommandContext& context, const ModelSpec& spec,
                                              const DeviceName& on) const;
  // Sets the output of a run whose folder was moved: its train.yaml still names the old place. When
  // --config is the train.yaml of a run and --output is not given, the output is the folder that
  // holds the file.
  absl::Status FollowMovedRun(Io& io);

 private:
  // The text of train.yaml: the options as given, with the chosen device and date and with absolute
  // paths, so that it means the same wherever and whenever it is used.
  std::string TextFor(Io& io, const DeviceName& on, const ChatChoice& chat) const;
};

}  // namespace horizon
