#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "app/data_options.h"
#include "app/option.h"
#include "common/units.h"
#include "model/model_spec.h"
#include "schedule/training_job.h"

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
  int64_t steps = 100;
  std::optional<int64_t> sequence;
  int64_t micro_batch = 1;
  int64_t accumulate = 1;
  double learning_rate = 1e-4;
  std::string schedule = "constant";
  int64_t warmup = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  bool decay_all = false;
  double clip_norm = 1.0;
  std::string state = "fp32";
  std::string optimizer_place = "behind_forward";
  int64_t seed = 0;
  std::string compute = "bf16";
  std::optional<std::string> gradients;
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
  // The job these make for a model. InvalidArgument (ValidateJob's) where they contradict each
  // other or the model.
  absl::StatusOr<TrainingJob> ToJob(const ModelSpec& spec, DeviceKind device_kind) const;
  bool shuffles() const { return shuffle == "true"; }
  bool random_init() const { return init == "random"; }
};

}  // namespace horizon
