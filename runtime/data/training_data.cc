#include "runtime/data/training_data.h"

#include <bit>
#include <optional>
#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr int64_t kMostSequence = int64_t{1} << 28;

absl::Status CheckOptions(const DataOptions& options) {
  if (options.files.paths.empty() && options.sources.empty())
    return absl::InvalidArgumentError("no data file is named");
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

void AddKey(const TokenCache& cache, ContentHash& hash) {
  hash.AddField(cache.key().high);
  hash.AddField(cache.key().low);
}

std::string FingerprintOf(const std::vector<std::unique_ptr<TokenCache>>& caches,
                          const std::vector<DataSource>& sources, const DataOptions& options) {
  ContentHash hash;
  hash.AddField("horizon rows 1");
  AddKey(*caches.front(), hash);
  hash.AddField((options.packing ? 1u : 0u) | (options.shuffle ? 2u : 0u));
  hash.AddField(static_cast<uint64_t>(options.seed));
  hash.AddField(std::bit_cast<uint64_t>(options.eval_share));
  // The only source of a run needs no more; its fingerprint is as it always was.
  for (size_t i = 0; i < sources.size() && sources.size() > 1; ++i) {
    AddKey(*caches[i], hash);
    hash.AddField(std::bit_cast<uint64_t>(sources[i].weight));
  }
  return ToString(hash.Get());
}

std::vector<DataSource> SourcesOf(const DataOptions& options) {
  if (!options.sources.empty()) return options.sources;
  return {{.name = options.files.paths.front(), .paths = options.files.paths}};
}

// The part of a source that is trained on, or held out. Of several sources, one may be too small to
// hold a share of it out: it is trained on as a whole, and there is no part to evaluate on.
absl::StatusOr<std::optional<SampleSplit>> SplitOf(const TokenCache& cache,
                                                   const DataOptions& options, size_t sources,
                                                   SampleSplit::Part part) {
  absl::StatusOr<SampleSplit> split =
      SampleSplit::Create(cache.samples(), options.eval_share, options.seed, part);
  if (split.ok()) return *split;
  const bool too_small = options.eval_share > 0 && options.eval_share <= 0.5 && sources > 1;
  if (!too_small) return split.status();
  if (part == SampleSplit::Part::kEval) return std::nullopt;
  return SampleSplit::All(cache.samples());
}

// Evaluates once over the shares that the sources hold out.
absl::StatusOr<std::unique_ptr<PackedSource>> HeldOut(const DataOptions& options,
                                                      const PackedSource::Options& once,
                                                      const TrainingData& data) {
  std::vector<const TokenCache*> caches;
  std::vector<SampleMix::Part> parts;
  for (const std::unique_ptr<TokenCache>& cache : data.caches) {
    ASSIGN_OR_RETURN(const std::optional<SampleSplit> split,
                     SplitOf(*cache, options, data.caches.size(), SampleSplit::Part::kEval));
    if (!split.has_value()) continue;
    caches.push_back(cache.get());
    parts.push_back({.split = *split});
  }
  if (parts.empty()) {
    return absl::InvalidArgumentError(StrCat("a share of ", options.eval_share,
                                             " of each data source is less than one sample; "
                                             "choose another share or name a file of its own"));
  }
  ASSIGN_OR_RETURN(SampleMix mix,
                   SampleMix::Create(std::move(parts), {.shuffle = false, .seed = options.seed}));
  return std::make_unique<PackedSource>(std::move(caches), std::move(mix), once);
}

// After the caches of the training data were opened.
absl::Status AddEvaluation(Io& io, const DataOptions& options, const DataListener& listener,
                           TrainingData& data) {
  const PackedSource::Options once = {
      .packing = options.packing, .shuffle = false, .seed = options.seed, .epochs = 1};
  if (options.eval_share > 0) {
    ASSIGN_OR_RETURN(data.eval, HeldOut(options, once, data));
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

absl::Status OpenCaches(Io& io, const DataOptions& options, const std::vector<DataSource>& sources,
                        const DataListener& listener, TrainingData& data) {
  data.from_cache = true;
  for (const DataSource& source : sources) {
    DataFiles files = options.files;
    files.paths = source.paths;
    ASSIGN_OR_RETURN(OpenedCache opened, OpenCache(io, options, files, listener));
    data.from_cache = data.from_cache && opened.was_there;
    data.statistics.Add(opened.cache->statistics());
    data.caches.push_back(std::move(opened.cache));
  }
  if (data.statistics.without_end > 0) Warn(listener, MissingEndText(data.statistics));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrainingData> OpenTrainingData(Io& io, const DataOptions& options,
                                              const DataListener& listener) {
  RETURN_IF_ERROR(CheckOptions(options));
  const std::vector<DataSource> sources = SourcesOf(options);
  TrainingData data;
  RETURN_IF_ERROR(OpenCaches(io, options, sources, listener, data));
  std::vector<const TokenCache*> caches;
  std::vector<SampleMix::Part> parts;
  for (size_t i = 0; i < sources.size(); ++i) {
    caches.push_back(data.caches[i].get());
    ASSIGN_OR_RETURN(const std::optional<SampleSplit> split,
                     SplitOf(*caches[i], options, sources.size(), SampleSplit::Part::kTrain));
    parts.push_back({.split = *split, .weight = sources[i].weight});
    data.sources.push_back({.name = sources[i].name, .samples = split->count()});
  }
  ASSIGN_OR_RETURN(SampleMix mix, SampleMix::Create(std::move(parts), {.shuffle = options.shuffle,
                                                                       .seed = options.seed}));
  for (size_t i = 0; i < sources.size(); ++i) data.sources[i].draws = mix.DrawsOf(i);
  data.train = std::make_unique<PackedSource>(std::move(caches), std::move(mix),
                                              PackedSource::Options{.packing = options.packing,
                                                                    .shuffle = options.shuffle,
                                                                    .seed = options.seed,
                                                                    .epochs = options.epochs});
  data.fingerprint = FingerprintOf(data.caches, sources, options);
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
  data.fingerprint = FingerprintOf(data.caches, {}, only);
  return data;
}

}  // namespace horizon
