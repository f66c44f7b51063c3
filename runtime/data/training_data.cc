#include "runtime/data/training_data.h"

#include <bit>
#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr int64_t kMostSequence = int64_t{1} << 28;

absl::Status CheckOptions(const DataOptions& options) {
  if (options.files.paths.empty()) return absl::InvalidArgumentError("no data file is named");
  const int64_t sequence = options.files.tokenise.sequence;
  if (sequence < 2 || sequence > kMostSequence) {
    return absl::InvalidArgumentError(StrCat("a sequence of ", sequence,
                                             " tokens cannot be trained on; it must be 2 to ",
                                             kMostSequence));
  }
  if (!options.eval_paths.empty() && options.eval_share > 0) {
    return absl::InvalidArgumentError(
        "a file for evaluation and a share for evaluation are both given; choose one");
  }
  return absl::OkStatus();
}

DataProgress ProgressOf(const DataListener& listener, std::string_view what) {
  if (!listener.progress) return nullptr;
  return
      [&listener, what](Bytes done, Bytes total) { return listener.progress(what, done, total); };
}

void Warn(const DataListener& listener, std::string_view message) {
  if (listener.warning) listener.warning(message);
}

absl::Status MakeFolder(Io& io, const std::string& folder) {
  const absl::Status made = io.MakeDirectory(folder);
  return absl::IsAlreadyExists(made) ? absl::OkStatus() : made;
}

struct OpenedCache {
  std::unique_ptr<TokenCache> cache;
  bool was_there = false;
};

// The cache of some files, made if it is not there or cannot be used.
absl::StatusOr<OpenedCache> OpenCache(Io& io, const DataOptions& options, const DataFiles& files,
                                      const DataListener& listener) {
  ASSIGN_OR_RETURN(const std::vector<Hash128> contents,
                   HashFiles(io, files.paths, ProgressOf(listener, "reading")));
  const Hash128 key = TokenCacheKey(files, contents);
  const std::string path = JoinPath(options.cache_folder, StrCat(ToString(key), ".tokens"));
  absl::StatusOr<std::unique_ptr<TokenCache>> found = TokenCache::Open(io, path, key);
  if (found.ok()) return OpenedCache{.cache = *std::move(found), .was_there = true};
  if (absl::IsDataLoss(found.status())) {
    Warn(listener, StrCat(found.status().message(), "; it is made again"));
  } else if (!absl::IsNotFound(found.status())) {
    return found.status();
  }
  RETURN_IF_ERROR(MakeFolder(io, options.cache_folder));
  ASSIGN_OR_RETURN(const TokenisedFiles made,
                   WriteTokenCache(io, path, key, files, contents, options.threads,
                                   ProgressOf(listener, "tokenising")));
  if (!made.bad_lines.empty()) {
    Warn(listener, StrCat(made.statistics.bad_lines, " bad lines were skipped; the first: ",
                          made.bad_lines.front().where, ": ", made.bad_lines.front().reason));
  }
  OpenedCache opened;
  ASSIGN_OR_RETURN(opened.cache, TokenCache::Open(io, path, key));
  return opened;
}

std::string FingerprintOf(const TokenCache& cache, const DataOptions& options) {
  ContentHash hash;
  hash.AddField("horizon rows 1");
  hash.AddField(cache.key().high);
  hash.AddField(cache.key().low);
  hash.AddField((options.packing ? 1u : 0u) | (options.shuffle ? 2u : 0u));
  hash.AddField(static_cast<uint64_t>(options.seed));
  hash.AddField(std::bit_cast<uint64_t>(options.eval_share));
  return ToString(hash.Get());
}

absl::Status AddEvaluation(Io& io, const DataOptions& options, const DataListener& listener,
                           TrainingData& data) {
  const PackedSource::Options once = {
      .packing = options.packing, .shuffle = false, .seed = options.seed, .epochs = 1};
  if (options.eval_share > 0) {
    const TokenCache& cache = *data.caches.front();
    ASSIGN_OR_RETURN(const SampleSplit split,
                     SampleSplit::Create(cache.samples(), options.eval_share, options.seed,
                                         SampleSplit::Part::kEval));
    data.eval = std::make_unique<PackedSource>(cache, split, once);
  }
  if (!options.eval_paths.empty()) {
    DataFiles files = options.files;
    files.paths = options.eval_paths;
    ASSIGN_OR_RETURN(OpenedCache opened, OpenCache(io, options, files, listener));
    data.from_cache = data.from_cache && opened.was_there;
    data.eval_statistics = opened.cache->statistics();
    data.caches.push_back(std::move(opened.cache));
    const TokenCache& cache = *data.caches.back();
    data.eval = std::make_unique<PackedSource>(cache, SampleSplit::All(cache.samples()), once);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrainingData> OpenTrainingData(Io& io, const DataOptions& options,
                                              const DataListener& listener) {
  RETURN_IF_ERROR(CheckOptions(options));
  TrainingData data;
  ASSIGN_OR_RETURN(OpenedCache opened, OpenCache(io, options, options.files, listener));
  data.from_cache = opened.was_there;
  data.statistics = opened.cache->statistics();
  if (data.statistics.without_end > 0) Warn(listener, MissingEndText(data.statistics));
  data.caches.push_back(std::move(opened.cache));
  const TokenCache& cache = *data.caches.front();
  ASSIGN_OR_RETURN(const SampleSplit split,
                   SampleSplit::Create(cache.samples(), options.eval_share, options.seed,
                                       SampleSplit::Part::kTrain));
  data.train = std::make_unique<PackedSource>(cache, split,
                                              PackedSource::Options{.packing = options.packing,
                                                                    .shuffle = options.shuffle,
                                                                    .seed = options.seed,
                                                                    .epochs = options.epochs});
  data.fingerprint = FingerprintOf(cache, options);
  RETURN_IF_ERROR(AddEvaluation(io, options, listener, data));
  return data;
}

absl::StatusOr<TrainingData> OpenEvaluationData(Io& io, const DataOptions& options,
                                                const DataListener& listener) {
  DataOptions only = options;
  only.eval_share = 0;
  only.eval_paths = options.files.paths;
  RETURN_IF_ERROR(CheckOptions(only));
  TrainingData data;
  data.from_cache = true;
  RETURN_IF_ERROR(AddEvaluation(io, only, listener, data));
  data.fingerprint = FingerprintOf(*data.caches.front(), only);
  return data;
}

}  // namespace horizon
