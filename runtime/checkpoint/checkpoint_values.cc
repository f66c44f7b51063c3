#include "runtime/checkpoint/checkpoint_values.h"

#include <cstdint>
#include <span>
#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/optimizer/split_master.h"

namespace horizon {

absl::StatusOr<std::unique_ptr<CheckpointValues>> CheckpointValues::Open(
    Io& io, const Checkpoint& checkpoint) {
  std::unique_ptr<CheckpointValues> values(new CheckpointValues(checkpoint));
  const Manifest& manifest = checkpoint.manifest();
  values->files_.resize(manifest.files.size());
  for (const TensorRecord& record : manifest.tensors) {
    if (record.part != StatePart::kHi && record.part != StatePart::kLo) continue;
    std::unique_ptr<File>& file = values->files_[record.file];
    if (file == nullptr) {
      const std::string path = JoinPath(checkpoint.path(), manifest.files[record.file].name);
      ASSIGN_OR_RETURN(file, io.Open(path, OpenMode::kRead));
    }
    if (record.part == StatePart::kLo) {
      values->low_.emplace(record.name, &record);
    } else {
      values->high_.push_back(&record);
      values->by_name_.emplace(record.name, &record);
    }
  }
  return values;
}

std::vector<ModelValues::Tensor> CheckpointValues::Tensors() const {
  std::vector<Tensor> tensors;
  for (const TensorRecord* record : high_) tensors.push_back({record->name, record->shape});
  return tensors;
}

absl::Status CheckpointValues::Read(const TensorRecord& record, uint64_t offset,
                                    std::span<std::byte> into) {
  ASSIGN_OR_RETURN(const size_t count, files_[record.file]->ReadAt(record.offset + offset, into));
  if (count == into.size()) return absl::OkStatus();
  return absl::DataLossError(
      StrCat(checkpoint_.path(), " has become shorter while tensor ", record.name, " was read"));
}

absl::Status CheckpointValues::ReadHi(const std::string& tensor, uint64_t first,
                                      std::span<uint16_t> into) {
  return Read(*by_name_.at(tensor), 2 * first, std::as_writable_bytes(into));
}

absl::Status CheckpointValues::ReadMaster(const std::string& tensor, uint64_t first,
                                          std::span<float> into) {
  std::vector<uint16_t> hi(into.size());
  std::vector<int16_t> lo(into.size(), 0);
  RETURN_IF_ERROR(ReadHi(tensor, first, hi));
  if (const auto low = low_.find(tensor); low != low_.end()) {
    RETURN_IF_ERROR(Read(*low->second, 2 * first, std::as_writable_bytes(std::span(lo))));
  }
  return JoinMasterHost(hi, lo, into);
}

}  // namespace horizon
