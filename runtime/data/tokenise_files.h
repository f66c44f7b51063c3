#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/documents/enum_words.h"
#include "common/files/io.h"
#include "common/units.h"
#include "runtime/data/cache/content_hash.h"
#include "runtime/data/data_statistics.h"
#include "runtime/data/sample.h"
#include "runtime/data/sample_cutter.h"
#include "runtime/data/tokenise_sample.h"

namespace horizon {

// What to do with a malformed record.
enum class OnBadLine { kStop, kSkip };
std::span<const EnumWord<OnBadLine>> WordsOf(OnBadLine);

// Data files and everything that decides which samples are made from them.
struct DataFiles {
  std::vector<std::string> paths;  // at least one, read one after the other
  std::optional<DataKind> kind;    // none: detected for each file from its first valid record
  TokeniseOptions tokenise;
  OnBadLine on_bad_line = OnBadLine::kStop;
};

// Reports progress over files, in bytes. An error that it returns ends the work and is its result.
using DataProgress = std::function<absl::Status(Bytes done, Bytes all)>;

// A record that was skipped.
struct BadLine {
  std::string where;  // "FILE:LINE"
  std::string reason;
};

// What TokeniseFiles did.
struct TokenisedFiles {
  static constexpr size_t kMostBadLines = 10;
  DataStatistics statistics;
  std::vector<BadLine> bad_lines;  // the first kMostBadLines that were skipped
  std::vector<DataKind> kinds;     // of each file; kText for a file without records
  std::vector<Hash128> hashes;     // of each file's content as it was read here
};

// Reads the files once and passes every sample to `sink`, in the files' order, from the calling
// thread. Meanwhile `threads` (1 to 1024) threads tokenise; their number does not change the
// result. It needs a few MiB of memory plus what the longest records need. InvalidArgument
// "FILE:LINE: REASON" for a bad record with OnBadLine::kStop, and for a file in which records
// cannot be skipped (RecordStream, CheckKind); errors of Io and of the sink.
absl::StatusOr<TokenisedFiles> TokeniseFiles(Io& io, const DataFiles& files, int threads,
                                             const SampleSink& sink,
                                             const DataProgress& progress = nullptr);

// Hashes the content of each file, without parsing it.
absl::StatusOr<std::vector<Hash128>> HashFiles(Io& io, const std::vector<std::string>& paths,
                                               const DataProgress& progress = nullptr);

}  // namespace horizon
