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

// The tensors of a multimodal model that are not in its text part (vision tower, projector). They
// are not trained; an exported model contains them byte for byte under their own names. A run keeps
// them in a file of its own, so that it can export complete models even when the folder it started
// from is gone.
struct CarriedTensors {
  // How the original folder names the tensors of the text part. An export uses the same names.
  DiskNaming naming = DiskNaming::kLanguageModel;
  std::vector<TensorDeclaration> tensors;
  // Reads the bytes of a tensor; only one thread may call it at a time. Copies share the open
  // files, and the Io that opened them must outlive all copies. Returns DataLoss if a file has
  // become shorter.
  TensorSource read;

  Bytes bytes() const;
};

// Opens the carried tensors of a model folder. `spec` must have a wrapper (CHECK). Reads the
// headers, but no values, and does not check the text part. Returns the errors of ModelFiles and
// FindNaming.
absl::StatusOr<CarriedTensors> OpenCarriedTensors(Io& io, const std::string& folder,
                                                  const ModelSpec& spec);

// Write the tensors to one safetensors file, with the naming in its metadata, and read such a file.
// Saving writes to a temporary file beside `path` and renames it, so `path` holds either its old
// content or all of the new; the temporary file is removed after an error. Saving returns
// ResourceExhausted if the disk has too little free space. Loading returns DataLoss if the file is
// corrupt, is a symbolic link, has no naming in its metadata, or holds a tensor of the text part.
absl::Status SaveCarriedTensors(Io& io, const std::string& path, const CarriedTensors& carried);
absl::StatusOr<CarriedTensors> LoadCarriedTensors(Io& io, const std::string& path);

}  // namespace horizon
