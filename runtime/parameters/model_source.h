#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "model/files/dtype.h"
#include "model/model_spec.h"
#include "model/tensor_spec.h"
#include "runtime/parameters/parameter_source.h"

namespace horizon {

// Reads the weights of a Hugging Face folder. Open checks every header and that the files hold
// exactly the tensors of `spec` (match_tensors.h), before anything is allocated for the values. It
// needs 1 MiB of memory besides the headers. It owns the open files; `io` outlives it and its
// copies, which share the files. One thread at a time may use it and its copies.
//
//   ASSIGN_OR_RETURN(const WeightFiles weights, WeightFiles::Open(io, folder, spec));
//   RETURN_IF_ERROR(store.Fill(weights.values()));
class WeightFiles {
 public:
  // Errors are those of ModelFiles and MatchTensors.
  static absl::StatusOr<WeightFiles> Open(Io& io, const std::string& folder, const ModelSpec& spec);

  // The values as fp32 masters; F32, F16 and BF16 convert exactly. Reading gives DataLoss for a
  // value that is not finite, and InvalidArgument for one that is infinite as bf16, both naming
  // file, tensor and element as on disk (disk_tensors.h); DataLoss when a file has become shorter;
  // otherwise Io's error.
  ParameterSource values() const;

  // The tensor on disk that contains `tensor`: its number type, and its bytes exactly as stored.
  Dtype DtypeOf(const TensorSpec& tensor) const;
  absl::Status ReadBytes(const TensorSpec& tensor, uint64_t offset,
                         std::span<std::byte> into) const;

 private:
  class Files;
  explicit WeightFiles(std::shared_ptr<Files> files) : files_(std::move(files)) {}
  std::shared_ptr<Files> files_;
};

// The same as WeightFiles::Open, but returns only the values.
absl::StatusOr<ParameterSource> OpenModelSource(Io& io, const std::string& folder,
                                                const ModelSpec& spec);

}  // namespace horizon
