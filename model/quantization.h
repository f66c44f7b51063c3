#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "model/config_fields.h"
#include "model/model_spec.h"

namespace horizon {

// The formats of quantised checkpoints that can be read. Weights are dequantised as they are read:
// training, checkpoints and exports know nothing of it.
enum class QuantMethod {
  kNone,
  // The experts of gpt_oss as published: 4-bit numbers with one scale, a power of two, for each 32.
  kMxfp4,
  // Matrices of 8-bit numbers (e4m3fn) with one scale for each block of rows and columns, as
  // DeepSeek introduced them and Qwen3 is published (Qwen3-8B-FP8).
  kFp8,
};

// How the weights of a folder are quantised, as `quantization_config` of its config.json says.
struct Quantization {
  QuantMethod method = QuantMethod::kNone;
  int64_t block_rows = 0;     // kFp8: rows and columns of a matrix that share a scale
  int64_t block_columns = 0;  // (weight_block_size)
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

// "none", "mxfp4", "fp8 in blocks of 128 x 128".
std::string ToString(const Quantization& quantization);

// Reads `quantization_config` of a text model; kNone if it is missing or null. `fields` are those
// of the object that has the key, and `spec` is what the family made of the other keys. Returns
// InvalidArgument "FILE:LINE: quantization_config.KEY: ..." for a method, a setting or an unknown
// key that we do not read, naming those that we do, and for a model that does not have the method's
// tensors.
absl::StatusOr<Quantization> ReadQuantization(const Document& document, ConfigFields& fields,
                                              const ModelSpec& spec);

}  // namespace horizon
