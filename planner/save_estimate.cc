#include "planner/save_estimate.h"

#include "model/stages.h"

namespace horizon {

SaveEstimate EstimateSave(const ModelSpec& spec, const TrainingJob& job,
                          const HardwareProfile& profile) {
  SaveEstimate estimate{.assumed = profile.disks.empty()};
  estimate.bytes_per_second =
      estimate.assumed ? kAssumedDisk : profile.disks.front().write_bytes_per_second.value;
  const ParameterBytes each = BytesOfParameter(job);
  for (const Stage& stage : ListStages(spec)) {
    for (const TensorSpec& tensor : stage.tensors) {
      const uint64_t blocks = (tensor.parameters + kMomentBlock - 1) / kMomentBlock;
      estimate.weights_bytes += 2 * tensor.parameters;
      estimate.bytes += (2 + each.low_half) * tensor.parameters +
                        MomentBytes(job.state_format, tensor.parameters, blocks);
    }
  }
  return estimate;
}

}  // namespace horizon
