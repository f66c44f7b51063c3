#pragma once

#include <cstdint>
#include <optional>
#include <string>

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

// What `horizon train` is told: flags, or a YAML file with the same names (--config). Those that
// change the numbers of a run become its job.
struct TrainOptions {
  std::string model;
  std::string init = "weights";
  std::string data;
  DataFlags data_flags;
  std::optional<std::string> eval_data;
  double eval_share = 0;
  int64_t eval_every = 0;
  std::string shuffle = "true";
  std::string output;
  TrainJobOptions job;
  std::string plan = "auto";
  std::string device = "auto";
  std::optional<Bytes> device_memory;
  std::optional<BytesPerSecond> link;
  std::optional<int64_t> threads;
  std::optional<std::string> machine;
  bool log_gradient_norms = false;
  std::string on_non_finite = "stop";
  std::string save = "full";
  int64_t save_every = 500;
  int64_t keep = 2;
  std::string on_save_failure = "continue";
  std::optional<std::string> resume;
  std::string export_dtype = "bf16";
  std::optional<std::string> config;
  bool json = false;

  void AddTo(OptionList& list);
  // What the library is told (training_settings.h), for a model and the device that was chosen.
  // InvalidArgument where the options contradict each other or the model.
  absl::StatusOr<TrainingSettings> ToSettings(const CommandContext& context, const ModelSpec& spec,
                                              const DeviceName& on) const;
  // A run folder may be moved, and its train.yaml names the place where it was: with the train.yaml
  // of a run as --config and no other --output, the folder it lies in is the output.
  absl::Status FollowMovedRun(Io& io);

 private:
  // train.yaml: the options as they were given, with the device and the date that were chosen and
  // paths from the root, so that it means the same wherever and whenever a process is started.
  std::string TextFor(Io& io, const DeviceName& on, const ChatChoice& chat) const;
};

}  // namespace horizon
