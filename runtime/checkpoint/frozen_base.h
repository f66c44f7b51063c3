#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/model_spec.h"
#include "runtime/checkpoint/frozen_tensor.h"
#include "runtime/parameters/parameter_source.h"
#include "schedule/training_job.h"

namespace horizon {

// The frozen tensors of a model are the base that its trained tensors belong to. Checkpoints hold
// their checksums instead of their bytes (frozen_tensor.h).

// Computes the checksums of frozen tensors. Their values are added in pieces, one tensor after
// another.
class FrozenChecksums {
 public:
  // Adds the next values of the tensor `name`, as the two halves of the split fp32 master. `lo` is
  // all 0 where compute reads only the high halves.
  void Add(const std::string& name, std::span<const uint16_t> hi, std::span<const int16_t> lo);
  std::vector<FrozenTensor> Finish();

 private:
  std::vector<FrozenTensor> tensors_;
  uint32_t high_ = 0;
  uint32_t low_ = 0;
  uint64_t low_bytes_ = 0;
};

// Computes the checksums of the tensors of `source` that `job` freezes. They equal those of
// ParameterStore::ChecksumFrozen for a store that was filled from the same source. Reads all of
// these tensors once. Errors are those of the source and of SelectTrained.
absl::StatusOr<std::vector<FrozenTensor>> ChecksumFrozenBase(const ModelSpec& spec,
                                                             const TrainingJob& job,
                                                             const ParameterSource& source);

}  // namespace horizon
