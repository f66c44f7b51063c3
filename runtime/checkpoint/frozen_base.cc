#include "runtime/checkpoint/frozen_base.h"

#include <algorithm>
#include <utility>

#include "common/crc32c.h"
#include "common/status_macros.h"
#include "kernels/optimizer/split_master.h"
#include "model/stages.h"
#include "model/trained_tensors.h"

namespace horizon {
namespace {

constexpr uint64_t kPiece = uint64_t{1} << 18;  // values read at once

}  // namespace

void FrozenChecksums::Add(const std::string& name, std::span<const uint16_t> hi,
                          std::span<const int16_t> lo) {
  if (tensors_.empty() || tensors_.back().name != name) {
    high_ = low_ = 0;
    low_bytes_ = 0;
    tensors_.push_back({.name = name});
  }
  high_ = Crc32c(std::as_bytes(hi), high_);
  low_ = Crc32c(std::as_bytes(lo), low_);
  low_bytes_ += lo.size_bytes();
  tensors_.back().crc32c = Crc32cCombine(high_, low_, low_bytes_);
}

std::vector<FrozenTensor> FrozenChecksums::Finish() { return std::exchange(tensors_, {}); }

absl::StatusOr<std::vector<FrozenTensor>> ChecksumFrozenBase(const ModelSpec& spec,
                                                             const TrainingJob& job,
                                                             const ParameterSource& source) {
  std::vector<Stage> stages = ListStages(spec);
  RETURN_IF_ERROR(SelectTrained(spec, {.train = job.train, .freeze = job.freeze}, stages));
  FrozenChecksums checksums;
  std::vector<float> values(kPiece);
  std::vector<uint16_t> hi(kPiece);
  std::vector<int16_t> lo(kPiece);
  for (const Stage& stage : stages) {
    for (const TensorSpec& tensor : stage.tensors) {
      for (uint64_t done = 0; done < tensor.parameters && !tensor.trained; done += kPiece) {
        const uint64_t count = std::min(kPiece, tensor.parameters - done);
        const auto of = [&](auto& all) { return std::span(all).first(count); };
        RETURN_IF_ERROR(source(tensor, done, of(values)));
        RETURN_IF_ERROR(SplitMasterHost(of(values), of(hi), of(lo)));
        if (job.compute_type != NumberType::kFp32) std::fill_n(lo.begin(), count, int16_t{0});
        checksums.Add(tensor.name, of(hi), of(lo));
      }
    }
  }
  return checksums.Finish();
}

}  // namespace horizon
