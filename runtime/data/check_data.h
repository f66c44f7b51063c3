#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "runtime/data/token_line.h"
#include "runtime/data/tokenise_files.h"

namespace horizon {

// What would be trained on, without training or writing anything.
struct DataCheck {
  TokenisedFiles files;
  int64_t packed_rows = 0;  // that the samples fill, packed in windows in the files' order
  TokenLine example;        // the first sample; empty: there is none
};

// Reads and tokenises data files. TokeniseFiles' errors.
absl::StatusOr<DataCheck> CheckData(Io& io, const DataFiles& files, int threads,
                                    const DataProgress& progress = nullptr);

}  // namespace horizon
