#include "planner/save_estimate.h"

#include <vector>

#include "model/stages.h"
#include "model/trained_tensors.h"

namespace horizon {

SaveEstimate EstimateSave(const ModelSpec& spec, const TrainingJob& job,
                          const HardwareProfile& profile) {
  SaveEstimate estimate{.assumed = profile.disks.empty()};
  estimate.bytes_per_second = estimate.assumed ? kAssumedDiskBytesPerSecond
                                               : profile.disks.front().write_bytes_per_second.value;
  const ParameterBytes each = BytesOfParameter(job);
  std::vector<Stage> stages = ListStages(spec);
  // A job that was planned has patterns that match.
  SelectTrained(spec, {.train = job.train, .freeze = job.freeze}, stages).IgnoreError();
  for (const Stage& stage : stages) {
    for (const TensorSpec& tensor : stage.tensors) {
      if (!tensor.trained) continue;
      const uint64_t blocks = (tensor.parameters + kMomentBlock - 1) / kMomentBlock;
      estimate.weights_bytes += 2_B * tensor.parameters;
      estimate.bytes += (2_B + each.low_half) * tensor.parameters +
                        MomentBytes(job.state_format, tensor.parameters, blocks);
    }
  }
  return estimate;
}

}  // namespace horizon
