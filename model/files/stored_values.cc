#include "model/files/stored_values.h"

#include <algorithm>
#include <cmath>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/files/convert.h"
#include "model/files/dequantize.h"
#include "model/files/dtype.h"

namespace horizon {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

uint64_t Dimension(const std::vector<int64_t>& shape, size_t from_end) {
  return static_cast<uint64_t>(shape[shape.size() - from_end]);
}

uint64_t ElementsOf(const StoredTensor& tensor) {
  uint64_t elements = 1;
  for (const int64_t length : tensor.shape) elements *= static_cast<uint64_t>(length);
  return elements;
}

std::string InFile(const ModelFiles& files, const ModelFiles::Location& location) {
  return StrCat("'", files.files()[location.file].path(), "'");
}

// ", of expert 3,"; a tensor of two dimensions belongs to one expert at most, and its name tells
// which.
std::string OfExpert(const StoredTensor& tensor, uint64_t expert) {
  return tensor.shape.size() < 3 ? std::string() : StrCat(", of expert ", expert, ",");
}

}  // namespace

absl::Status StoredValues::Read(const StoredTensor& tensor, uint64_t first, std::span<float> into) {
  const uint64_t elements = ElementsOf(tensor);
  CHECK(first <= elements && into.size() <= elements - first);
  switch (tensor.format) {
    case StoredFormat::kPlain:
      return ReadPlain(tensor, first, into);
    case StoredFormat::kFp8:
      return ReadFp8(tensor, first, into);
    case StoredFormat::kMxfp4:
      return ReadMxfp4(tensor, first, into);
  }
  CHECK(false);
  return absl::OkStatus();
}

absl::Status StoredValues::ReadPlain(const StoredTensor& tensor, uint64_t first,
                                     std::span<float> into) {
  const Dtype dtype = tensor.values->tensor->dtype;
  const uint64_t width = BitsOf(dtype) / 8;
  const uint64_t piece = kPieceBytes / width;
  bytes_.resize(kPieceBytes);
  for (uint64_t done = 0; done < into.size(); done += piece) {
    const auto values = into.subspan(done, std::min<uint64_t>(piece, into.size() - done));
    const auto bytes = std::span(bytes_).first(values.size() * width);
    RETURN_IF_ERROR(files_.ReadRange(tensor.values->tensor->name, (first + done) * width, bytes));
    RETURN_IF_ERROR(ConvertToFloat(dtype, bytes, values));
  }
  return absl::OkStatus();
}

absl::Status StoredValues::ReadFp8(const StoredTensor& tensor, uint64_t first,
                                   std::span<float> into) {
  const uint64_t matrix_elements = Dimension(tensor.shape, 1) * Dimension(tensor.shape, 2);
  bytes_.resize(kPieceBytes);
  for (uint64_t done = 0; done < into.size();) {
    const uint64_t at = first + done;
    const uint64_t in_matrix = at % matrix_elements;
    const uint64_t count = std::min(
        {kPieceBytes, static_cast<uint64_t>(into.size()) - done, matrix_elements - in_matrix});
    const auto codes = std::span(bytes_).first(count);
    RETURN_IF_ERROR(files_.ReadRange(tensor.values->tensor->name, at, codes));
    RETURN_IF_ERROR(
        DequantizeFp8(tensor, at / matrix_elements, in_matrix, codes, into.subspan(done, count)));
    done += count;
  }
  return absl::OkStatus();
}

absl::Status StoredValues::DequantizeFp8(const StoredTensor& tensor, uint64_t matrix,
                                         uint64_t first, std::span<const std::byte> codes,
                                         std::span<float> into) {
  const uint64_t columns = Dimension(tensor.shape, 1);
  const auto block_rows = static_cast<uint64_t>(tensor.block_rows);
  const auto block_columns = static_cast<uint64_t>(tensor.block_columns);
  const uint64_t first_row = first / columns / block_rows;  // of the scales
  const uint64_t last_row = (first + codes.size() - 1) / columns / block_rows;
  RETURN_IF_ERROR(ReadScaleRows(tensor, matrix, first_row, last_row + 1));
  const uint64_t scale_columns = Dimension(tensor.scales->tensor->shape, 1);
  // What is left of a block in its row has one scale.
  for (uint64_t done = 0; done < codes.size();) {
    const uint64_t row = (first + done) / columns;
    const uint64_t column = (first + done) % columns;
    const uint64_t block_end = std::min(columns, (column / block_columns + 1) * block_columns);
    const uint64_t count = std::min<uint64_t>(block_end - column, codes.size() - done);
    const float scale =
        scales_[(row / block_rows - first_row) * scale_columns + column / block_columns];
    DequantizeE4m3(codes.subspan(done, count), scale, into.subspan(done, count));
    done += count;
  }
  return absl::OkStatus();
}

absl::Status StoredValues::ReadScaleRows(const StoredTensor& tensor, uint64_t matrix,
                                         uint64_t begin, uint64_t end) {
  const TensorEntry& entry = *tensor.scales->tensor;
  const uint64_t rows = Dimension(entry.shape, 2);
  const uint64_t columns = Dimension(entry.shape, 1);
  const uint64_t width = BitsOf(entry.dtype) / 8;
  scales_.resize((end - begin) * columns);
  scale_bytes_.resize(scales_.size() * width);
  RETURN_IF_ERROR(
      files_.ReadRange(entry.name, (matrix * rows + begin) * columns * width, scale_bytes_));
  RETURN_IF_ERROR(ConvertToFloat(entry.dtype, scale_bytes_, scales_));
  for (size_t i = 0; i < scales_.size(); ++i) {
    if (std::isfinite(scales_[i]) && scales_[i] >= 0) continue;
    return absl::DataLossError(StrCat(
        InFile(files_, *tensor.scales), ": the scale in row ", begin + i / columns, " and column ",
        i % columns, " of tensor ", Quoted(entry.name), OfExpert(tensor, matrix), " is ",
        scales_[i], "; a scale is a finite number of at least 0"));
  }
  return absl::OkStatus();
}

absl::Status StoredValues::ReadMxfp4(const StoredTensor& tensor, uint64_t first,
                                     std::span<float> into) {
  const uint64_t columns = Dimension(tensor.shape, 2);  // of a matrix as stored: its inputs
  const uint64_t rows = Dimension(tensor.shape, 1);
  for (uint64_t done = 0; done < into.size();) {
    const uint64_t expert = (first + done) / (rows * columns);
    const uint64_t in_matrix = (first + done) % (rows * columns);
    const uint64_t count = std::min<uint64_t>(into.size() - done, rows * columns - in_matrix);
    RETURN_IF_ERROR(ReadExpert(tensor, expert));
    DequantizeMxfp4Transposed(
        {.blocks = blocks_, .scales = block_scales_, .rows = rows, .columns = columns}, in_matrix,
        into.subspan(done, count));
    done += count;
  }
  return absl::OkStatus();
}

absl::Status StoredValues::ReadExpert(const StoredTensor& tensor, uint64_t expert) {
  if (packed_ == tensor.values && packed_expert_ == expert) return absl::OkStatus();
  packed_ = nullptr;  // until all of it is there
  const uint64_t blocks = Dimension(tensor.shape, 1) * Dimension(tensor.shape, 2) / kMxfp4Block;
  blocks_.resize(blocks * kMxfp4BlockBytes);
  block_scales_.resize(blocks);
  const std::string& scales = tensor.scales->tensor->name;
  RETURN_IF_ERROR(files_.ReadRange(tensor.values->tensor->name, expert * blocks_.size(), blocks_));
  RETURN_IF_ERROR(files_.ReadRange(scales, expert * block_scales_.size(), block_scales_));
  const auto bad = std::find(block_scales_.begin(), block_scales_.end(), kMxfp4NanScale);
  if (bad != block_scales_.end()) {
    const auto at = static_cast<uint64_t>(bad - block_scales_.begin());
    const uint64_t row_blocks = Dimension(tensor.shape, 2) / kMxfp4Block;
    return absl::DataLossError(StrCat(InFile(files_, *tensor.scales), ": the scale of block ",
                                      at % row_blocks, " in row ", at / row_blocks, " of tensor ",
                                      Quoted(scales), OfExpert(tensor, expert),
                                      " is 255, which is no number; a scale is 0 to 254"));
  }
  packed_ = tensor.values;
  packed_expert_ = expert;
  return absl::OkStatus();
}

std::string StoredValues::DescribeElement(const StoredTensor& tensor, uint64_t element) const {
  const uint64_t expert = tensor.shape.size() < 3
                              ? 0
                              : element / (Dimension(tensor.shape, 1) * Dimension(tensor.shape, 2));
  return StrCat(InFile(files_, *tensor.values), ": element ", element, " of tensor ",
                Quoted(tensor.values->tensor->name), OfExpert(tensor, expert));
}

}  // namespace horizon
