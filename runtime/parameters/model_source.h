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

// The weights of a Hugging Face folder. Opening checks every header and that the files hold exactly
// the tensors of `spec` (match_tensors.h), before anything is allocated for the values. Holds 1 MiB
// besides the headers, whatever is asked of it. Owns the open files; `io` outlives it and its
// copies, which share them: one thread at a time.
//
//   ASSIGN_OR_RETURN(const WeightFiles weights, WeightFiles::Open(io, folder, spec));
//   RETURN_IF_ERROR(store.Fill(weights.values()));
class WeightFiles {
 public:
  // Errors are those of ModelFiles and MatchTensors.
  static absl::StatusOr<WeightFiles> Open(Io& io, const std::string& folder, const ModelSpec& spec);

  // As masters: F32, F16 and BF16 become fp32, exactly. Reading gives DataLoss for a value that is
  // not finite, InvalidArgument for one that is infinite as bf16, both naming file, tensor and
  // element as they are on disk (disk_tensors.h); DataLoss when a file has become shorter; else
  // Io's error.
  ParameterSource values() const;

  // The tensor on disk that `tensor` is, or is a part of: its type, and its bytes as they are.
  Dtype DtypeOf(const TensorSpec& tensor) const;
  absl::Status ReadBytes(const TensorSpec& tensor, uint64_t offset,
                         std::span<std::byte> into) const;

 private:
  class Files;
  explicit WeightFiles(std::shared_ptr<Files> files) : files_(std::move(files)) {}
  std::shared_ptr<Files> files_;
};

// Its values alone.
absl::StatusOr<ParameterSource> OpenModelSource(Io& io, const std::string& folder,
                                                const ModelSpec& spec);

}  // namespace horizon
