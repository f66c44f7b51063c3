#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/io.h"
#include "model/model_spec.h"
#include "runtime/parameter_store.h"

namespace horizon {

// The weights of a Hugging Face folder as masters: for ParameterStore::Fill. Opening checks every
// header and that the files hold exactly the tensors of `spec` (match_tensors.h), before anything
// is allocated for the values; F32, F16 and BF16 then become fp32, exactly. Holds 1 MiB besides the
// headers, whatever is asked of it. The source owns the open files; `io` outlives it and its
// copies, which share them: one thread at a time.
// Errors of opening are those of ModelFiles and MatchTensors. Reading gives DataLoss for a value
// that is not finite, InvalidArgument for one that is infinite as bf16, both naming file, tensor
// and element as they are on disk (disk_tensors.h); DataLoss when a file has become shorter; else
// Io's error.
absl::StatusOr<ParameterStore::Source> OpenModelSource(Io& io, const std::string& folder,
                                                       const ModelSpec& spec);

}  // namespace horizon
