#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "common/units.h"
#include "model/files/disk_tensors.h"
#include "model/files/model_folder_writer.h"
#include "model/model_spec.h"

namespace horizon {

// The tensors of a multimodal model that are not of its text part (vision tower, projector). They
// are not trained: an exported model gets them byte for byte under their own names. A run keeps
// them in a file of its own, so that its models can be exported whole when the folder it began with
// is gone.
struct CarriedTensors {
  // How the folder that they are from names the text part, and so how an export names it.
  DiskNaming naming = DiskNaming::kLanguageModel;
  std::vector<TensorDeclaration> tensors;
  // Reads their bytes; one thread at a time. Shares the open files with its copies; the Io that
  // they were opened with outlives it. DataLoss when a file has become shorter.
  TensorSource read;

  Bytes bytes() const;
};

// Those of a model folder. `spec` must have a wrapper. Headers are read, values are not; the text
// part is not matched. Errors are those of ModelFiles and FindNaming.
absl::StatusOr<CarriedTensors> OpenCarriedTensors(Io& io, const std::string& folder,
                                                  const ModelSpec& spec);

// Writes them into one safetensors file, with the naming in its metadata, and reads such a file.
// Writing goes through a temporary name beside it, which is gone after an error: `path` holds what
// it held or all of them. ResourceExhausted when the disk has not the bytes they take; DataLoss
// when a file is corrupt, a symbolic link, or says no naming.
absl::Status SaveCarriedTensors(Io& io, const std::string& path, const CarriedTensors& carried);
absl::StatusOr<CarriedTensors> LoadCarriedTensors(Io& io, const std::string& path);

}  // namespace horizon
