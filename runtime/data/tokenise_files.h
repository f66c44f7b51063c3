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

// What to do with a record that has something wrong with it.
enum class OnBadLine { kStop, kSkip };
std::span<const EnumWord<OnBadLine>> WordsOf(OnBadLine);

// Which files, and everything that decides what their samples are.
struct DataFiles {
  std::vector<std::string> paths;  // at least one, read one after the other
  std::optional<DataKind> kind;    // not given: each file's from its first record that has one
  TokeniseOptions tokenise;
  OnBadLine on_bad_line = OnBadLine::kStop;
};

// How far work over files is; an error ends the work and is its result.
using DataProgress = std::function<absl::Status(Bytes done, Bytes all)>;

struct BadLine {
  std::string where;  // "FILE:LINE"
  std::string reason;
};

struct TokenisedFiles {
  static constexpr size_t kMostBadLines = 10;
  DataStatistics statistics;
  std::vector<BadLine> bad_lines;  // the first of those passed over
  std::vector<DataKind> kinds;     // of each file; kText for one without records
  std::vector<Hash128> hashes;     // of each file's content, as it was read here
};

// Reads the files once and gives every sample to `sink`, in the files' order, from the calling
// thread. `threads` (1 to 1024) tokenise meanwhile, and change nothing in the result. Memory: a
// few MiB, and what the longest records need. InvalidArgument "FILE:LINE: REASON" for a bad record
// with OnBadLine::kStop, and for a file in which nothing can be passed over (RecordStream,
// CheckKind); Io's errors and the sink's.
absl::StatusOr<TokenisedFiles> TokeniseFiles(Io& io, const DataFiles& files, int threads,
                                             const SampleSink& sink,
                                             const DataProgress& progress = nullptr);

// The hash of each file's content, without looking into it.
absl::StatusOr<std::vector<Hash128>> HashFiles(Io& io, const std::vector<std::string>& paths,
                                               const DataProgress& progress = nullptr);

}  // namespace horizon
