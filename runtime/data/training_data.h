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

// One of several sources of data: files that are read one after the other, and share a token cache.
struct DataSource {
  std::string name;  // for messages
  std::vector<std::string> paths;
  double weight = 0;  // SampleMix::Part; 0: none
};

// The data that a run trains on, and how its rows are made.
struct DataOptions {
  DataFiles files;
  // Where this is not empty, training reads these in place of files.paths.
  std::vector<DataSource> sources;
  // Evaluation data: either separate files, read like the others, or a share of the training
  // samples (0 to 0.5).
  std::vector<std::string> eval_paths;
  double eval_share = 0;
  bool packing = true;
  bool shuffle = true;
  int64_t seed = 0;
  int64_t epochs = 0;        // after so many the training data ends; 0: it never does
  std::string cache_folder;  // made if missing; any number of runs may share one
  int threads = 1;           // for tokenising
};

// Callbacks while data is opened; each may be empty.
struct DataListener {
  // Progress of the work `what`: "reading" (to hash the content) or "tokenising". An error that it
  // returns ends the work.
  std::function<absl::Status(std::string_view what, Bytes done, Bytes all)> progress;
  // Something the user should know: bad lines that were skipped, a cache that had to be rebuilt.
  std::function<void(std::string_view)> warning;
};

// The samples that a run has of one of its sources.
struct SourceShare {
  std::string name;
  int64_t samples = 0;  // to train on, without those held out
  int64_t draws = 0;    // samples of it in an epoch
  double passes() const { return static_cast<double>(draws) / static_cast<double>(samples); }
};

// The opened data of a run.
struct TrainingData {
  std::vector<std::unique_ptr<TokenCache>> caches;  // read by the sources
  std::unique_ptr<PackedSource> train;
  std::unique_ptr<PackedSource> eval;  // one epoch; null: there is no evaluation data
  std::vector<SourceShare> sources;    // of the training data
  DataStatistics statistics;           // of the training files, including a share for evaluation
  DataStatistics eval_statistics;      // of separate evaluation files
  bool from_cache = false;             // nothing had to be tokenised
  // A hash of everything that decides the rows. When it is equal, a saved position means the same.
  std::string fingerprint;
};

// Opens the data of a run: hashes the files, finds or builds their token cache, and makes the
// sources. A cache that is damaged or was made from other data is rebuilt. InvalidArgument for
// options that contradict each other and for what TokeniseFiles rejects; DataLoss when a file
// changes meanwhile; Io's errors. `io` outlives the result.
absl::StatusOr<TrainingData> OpenTrainingData(Io& io, const DataOptions& options,
                                              const DataListener& listener = {});

// Opens all samples of some files once, in order, for `horizon eval`. Of the options, eval_paths
// and eval_share are ignored. The result has only `eval`; its `train` is null.
absl::StatusOr<TrainingData> OpenEvaluationData(Io& io, const DataOptions& options,
                                                const DataListener& listener = {});

}  // namespace horizon
