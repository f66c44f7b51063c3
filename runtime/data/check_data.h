#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "runtime/data/token_line.h"
#include "runtime/data/tokenise_files.h"

namespace horizon {

// The data that a run would train on, for `horizon data check`.
struct DataCheck {
  TokenisedFiles files;
  int64_t packed_rows = 0;  // rows of the samples, packed in windows in the files' order
  TokenLine example;        // the first sample; empty when there is none
};

// Reads and tokenises data files without training or writing anything. Errors are TokeniseFiles'.
absl::StatusOr<DataCheck> CheckData(Io& io, const DataFiles& files, int threads,
                                    const DataProgress& progress = nullptr);

}  // namespace horizon
