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
#include "model/files/disk_tensors.h"
#include "model/files/tensor_entry.h"
#include "model/model_spec.h"
#include "model/tensor_spec.h"
#include "runtime/parameters/parameter_source.h"

namespace horizon {

// Reads the weights of a Hugging Face folder. Open checks every header and that the files hold
// exactly the tensors of `spec` (match_tensors.h), before anything is allocated for the values. If
// the config.json of the folder says that the weights are quantised, they are dequantised range by
// range as they are read (stored_values.h, which also says how much memory that needs besides the
// headers). It owns the open files; `io` outlives it and its copies, which share the files. One
// thread at a time may use it and its copies.
//
//   ASSIGN_OR_RETURN(const WeightFiles weights, WeightFiles::Open(io, folder, spec));
//   RETURN_IF_ERROR(store.Fill(weights.values()));
class WeightFiles {
 public:
  // Errors are those of ModelFiles, MatchTensors, and of reading the folder's config.json.
  static absl::StatusOr<WeightFiles> Open(Io& io, const std::string& folder, const ModelSpec& spec);

  // The values as fp32 masters; F32, F16 and BF16 convert exactly. Reading gives DataLoss for a
  // value that is not finite, and InvalidArgument for one that is infinite as bf16, both naming
  // file, tensor and element as on disk (disk_tensors.h); otherwise the errors of StoredValues.
  ParameterSource values() const;

  // The tensor in the files that holds the same values as `tensor`, in the same order; its name may
  // differ. nullptr if there is none, because the folder has another layout or stores it quantised.
  // The pointer is valid as long as a copy of this object.
  const TensorEntry* FindPlain(const DiskTensor& tensor) const;
  // The bytes of such a tensor from byte `offset` on, exactly as stored.
  absl::Status ReadBytes(const TensorEntry& tensor, uint64_t offset,
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
