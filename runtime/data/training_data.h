#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "common/units.h"
#include "runtime/data/cache/token_cache.h"
#include "runtime/data/data_statistics.h"
#include "runtime/data/packed_source.h"
#include "runtime/data/tokenise_files.h"

namespace horizon {

// What a run trains on and how its rows are made.
struct DataOptions {
  DataFiles files;
  // Held out: files of their own, read as the others are, or a share of the samples (0 to 0.5).
  std::vector<std::string> eval_paths;
  double eval_share = 0;
  bool packing = true;
  bool shuffle = true;
  int64_t seed = 0;
  std::string cache_folder;  // made if missing; one folder may serve any number of runs
  int threads = 1;           // that tokenise
};

// What the caller hears meanwhile; each may be missing.
struct DataListener {
  // "reading" (to know the content) or "tokenising", and how far. An error ends the work.
  std::function<absl::Status(std::string_view what, Bytes done, Bytes all)> progress;
  // Something worth a line: bad lines that were skipped, a cache that had to be made again.
  std::function<void(std::string_view)> warning;
};

struct TrainingData {
  std::vector<std::unique_ptr<TokenCache>> caches;  // what the sources read
  std::unique_ptr<PackedSource> train;
  std::unique_ptr<PackedSource> eval;  // null: nothing is held out; not endless
  DataStatistics statistics;           // of the training files, the share held out included
  DataStatistics eval_statistics;      // of the files of their own
  bool from_cache = false;             // nothing had to be tokenised
  // Of everything that decides the rows: equal means that a saved position means the same.
  std::string fingerprint;
};

// Opens the data of a run: hashes the files, finds their cache or makes it, and gives the sources.
// A cache that is torn or foreign is made again. InvalidArgument for options that contradict each
// other and what TokeniseFiles refuses; DataLoss when a file changes meanwhile; Io's errors. `io`
// outlives the result.
absl::StatusOr<TrainingData> OpenTrainingData(Io& io, const DataOptions& options,
                                              const DataListener& listener = {});

// All samples of some files once, in order: for `horizon eval`. Of the options, eval_paths and
// eval_share are not looked at; `train` is missing.
absl::StatusOr<TrainingData> OpenEvaluationData(Io& io, const DataOptions& options,
                                                const DataListener& listener = {});

}  // namespace horizon
