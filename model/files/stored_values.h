#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "model/files/model_files.h"
#include "model/files/stored_tensor.h"

namespace horizon {

// Reads the values of tensors on disk as fp32, whatever format they are stored in.
//
//   StoredValues values(files);
//   RETURN_IF_ERROR(values.Read(stored, first, into));
//
// Nothing is dequantised but what is asked for. Needs about 1 MiB of memory; for MXFP4, which is
// stored transposed, also the bytes of one expert's matrix, which stays in memory for the next
// range (9 MB for gpt-oss). One thread at a time. `files` must outlive it.
class StoredValues {
 public:
  explicit StoredValues(const ModelFiles& files) : files_(files) {}

  // Writes elements [first, first + into.size()) of a tensor that MatchTensors found in these
  // files; the range must be within the tensor (CHECK). F32, F16 and BF16 convert exactly; codes of
  // a quantised tensor are multiplied by their scales (dequantize.h). A value may come out as an
  // infinity or NaN.
  //
  // Returns DataLoss, with file, tensor, expert and place, for a scale that is no scale (not
  // finite, negative, or MXFP4's NaN), and when a file has become shorter; otherwise Io's error.
  absl::Status Read(const StoredTensor& tensor, uint64_t first, std::span<float> into);

  // "'FILE': element 7 of tensor "NAME"", and behind it ", of expert 3," if one tensor holds all
  // experts of a layer. NAME is what the file calls the values, their codes or their blocks. For
  // messages about a value.
  std::string DescribeElement(const StoredTensor& tensor, uint64_t element) const;

 private:
  absl::Status ReadPlain(const StoredTensor& tensor, uint64_t first, std::span<float> into);
  absl::Status ReadFp8(const StoredTensor& tensor, uint64_t first, std::span<float> into);
  absl::Status ReadMxfp4(const StoredTensor& tensor, uint64_t first, std::span<float> into);
  // Dequantises the codes of elements that are in one matrix of an FP8 tensor; `first` counts from
  // the beginning of the matrix.
  absl::Status DequantizeFp8(const StoredTensor& tensor, uint64_t matrix, uint64_t first,
                             std::span<const std::byte> codes, std::span<float> into);
  // Reads rows [begin, end) of the scales of a matrix of an FP8 tensor into scales_.
  absl::Status ReadScaleRows(const StoredTensor& tensor, uint64_t matrix, uint64_t begin,
                             uint64_t end);
  // Makes blocks_ and block_scales_ those of an expert.
  absl::Status ReadExpert(const StoredTensor& tensor, uint64_t expert);

  const ModelFiles& files_;
  std::vector<std::byte> bytes_;        // a piece as it is in the file
  std::vector<std::byte> scale_bytes_;  // scales of FP8 as they are in the file ...
  std::vector<float> scales_;           // ... and as fp32
  // The matrix of an expert in MXFP4, as it is in the file. nullptr: none is.
  const ModelFiles::Location* packed_ = nullptr;
  uint64_t packed_expert_ = 0;
  std::vector<std::byte> blocks_;
  std::vector<std::byte> block_scales_;
};

}  // namespace horizon
