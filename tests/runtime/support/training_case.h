#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/kernel_table.h"
#include "model/model_spec.h"
#include "runtime/device/device.h"
#include "runtime/execution/step.h"
#include "runtime/parameters/parameter_store.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// A golden model with PyTorch's results (tests/goldens), ready to be trained.
struct Golden {
  ModelSpec spec;
  std::vector<std::vector<TokenRecord>> batches;  // 2 x 40 tokens each
  double first_loss = 0;
  double gradient_norm = 0;
  std::map<std::string, double> gradient_norms;  // by the tensors' names on disk
  std::vector<double> losses;
  std::map<std::string, std::vector<float>> tensors;
  std::map<std::string, std::string> disk_names;  // by our names of the tensors
  // For each tensor on disk, our tensors that it consists of, in its order.
  std::map<std::string, std::vector<std::string>> parts_on_disk;
  TrainingJob job;  // the AdamW run, fp32 throughout
};
Golden LoadGolden(const std::string& family);

// The names of the goldens without experts, and of all.
std::vector<std::string> DenseGoldens();
std::vector<std::string> AllGoldens();

// Random tokens of a micro-batch, drawn from `seed`. Every `ignored`-th position has no label (0:
// all have).
std::vector<TokenRecord> RandomTokens(const ModelSpec& spec, const TrainingJob& job, uint64_t seed,
                                      int64_t ignored = 0);

// Makes the device of a run, with at least this much memory.
using MakeDevice = std::function<absl::StatusOr<std::unique_ptr<Device>>(Bytes bytes)>;
MakeDevice OnHostDevice();

// The results of a training case.
struct TrainingCaseOutcome {
  std::vector<StepResult> steps;
  uint64_t digest = 0;  // of masters and moments
  std::vector<std::string> tensor_names;
  std::map<std::string, std::vector<float>> tensors;
  std::map<std::string, std::vector<float>> gradients;  // of the last step, where they are stored
};
// The gradient norms of the first step, by the names of the tensors on disk.
std::map<std::string, double> NormsOnDisk(const Golden& golden, const TrainingCaseOutcome& outcome);
// Converts the values of our tensors to those of the tensors on disk.
std::map<std::string, std::vector<float>> TensorsOnDisk(
    const Golden& golden, const std::map<std::string, std::vector<float>>& tensors);
// Trains a golden model on its own batches, from its own weights. If the run fails, the test fails
// and the outcome has no steps.
TrainingCaseOutcome RunGolden(const Golden& golden, const TrainingJob& job, const StreamPlan& plan,
                              int64_t steps);
double RelativeError(double got, double wanted);
double Cosine(const std::vector<float>& a, const std::vector<float>& b);

// Trains `steps` steps from the given masters; micro-batch i of step s is batch(s, i). Every
// failure is returned as an error.
struct RunRequest {
  const ModelSpec& spec;
  const TrainingJob& job;
  const StreamPlan& plan;
  ParameterStore::Source source;
  std::function<std::vector<TokenRecord>(int64_t step, int64_t micro_batch)> batch;
  int64_t steps = 1;
  MakeDevice device = OnHostDevice();
  const KernelTable* kernels = nullptr;     // for that device; null: the host's
  DeviceContext* device_context = nullptr;  // for a CUDA device
};
absl::StatusOr<TrainingCaseOutcome> RunTrainingCase(const RunRequest& request);

// Expects the same losses, gradient norms of every tensor, masters and moments, bit for bit.
void ExpectEqualRuns(const TrainingCaseOutcome& got, const TrainingCaseOutcome& wanted);

// Everything on the device, nothing recomputed: the plan that others are compared with.
StreamPlan ResidentPlan();

// Sources of masters: the golden's tensors, or random values for any spec.
ParameterStore::Source SourceOf(const Golden& golden);
ParameterStore::Source RandomSource(const ModelSpec& spec, int64_t seed);

}  // namespace horizon
