#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/units.h"
#include "model/files/model_files.h"

namespace horizon {

// The number format of a tensor on disk.
enum class StoredFormat {
  kPlain,  // F32, F16 or BF16, as the file says
  // One tensor NAME of F8_E4M3 codes (e4m3fn), and one NAME_scale_inv of F32 or BF16. A value is
  // code x scale. Each block of `block_rows` x `block_columns` of a matrix has one scale; the last
  // blocks of a row or column may be cut. A tensor with three dimensions is a list of matrices.
  kFp8,
  // For a tensor NAME [experts, inputs, outputs], two tensors of U8, both output-major:
  //   NAME_blocks [experts, outputs, inputs / 32, 16]: two 4-bit codes (e2m1) a byte, the lower
  //   half
  //     of the byte first
  //   NAME_scales [experts, outputs, inputs / 32]: the exponents of powers of two, plus 127
  // A value is code x 2^(scale - 127).
  kMxfp4,
};

// How the files of a folder store one tensor (DiskTensor). The pointers are valid as long as the
// ModelFiles.
struct StoredTensor {
  StoredFormat format = StoredFormat::kPlain;
  std::vector<int64_t> shape;                    // of the values, dequantised
  const ModelFiles::Location* values = nullptr;  // the tensor, its codes, or its blocks
  const ModelFiles::Location* scales = nullptr;  // nullptr: kPlain
  int64_t block_rows = 0;                        // kFp8
  int64_t block_columns = 0;

  // What the files hold for it.
  Bytes bytes() const;
  // "BF16", "FP8 128x128", "MXFP4".
  std::string FormatName() const;
};

}  // namespace horizon
