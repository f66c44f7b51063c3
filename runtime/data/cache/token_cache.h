#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "runtime/data/cache/content_hash.h"
#include "runtime/data/cache/token_cache_format.h"
#include "runtime/data/token_line.h"
#include "runtime/data/tokenise_files.h"

namespace horizon {

// The name of what TokeniseFiles makes of files with this content: a hash of the content and of
// everything else that decides ids and labels. Paths and threads are no part of it.
Hash128 TokenCacheKey(const DataFiles& files, const std::vector<Hash128>& contents);

// Tokenises files into a cache at `path`, through a temporary name beside it: afterwards the cache
// is there whole or not at all. TokeniseFiles' errors, Io's; InvalidArgument when the files hold
// nothing to learn; DataLoss when their content is not `contents`, for which `key` stands.
absl::StatusOr<TokenisedFiles> WriteTokenCache(Io& io, const std::string& path, const Hash128& key,
                                               const DataFiles& files,
                                               const std::vector<Hash128>& contents, int threads,
                                               const DataProgress& progress = nullptr);

// The samples of a cache file, read as they are asked for (pread): memory is 8 bytes for every
// 1024 samples. May be used by several threads, each with a scratch of its own; `io` outlives it.
class TokenCache {
 public:
  // DataLoss, naming the file and the reason, when it is not a whole cache of this key. Io's
  // errors.
  static absl::StatusOr<std::unique_ptr<TokenCache>> Open(Io& io, const std::string& path,
                                                          const Hash128& key);

  int64_t samples() const { return header_.statistics.samples; }
  int64_t sequence() const { return header_.sequence; }
  const DataStatistics& statistics() const { return header_.statistics; }
  const Hash128& key() const { return header_.key; }
  const std::string& path() const { return path_; }

  // Where sample `sample` (0 to samples() - 1) lies; its tokens are at most a sequence. DataLoss
  // for a place that cannot be; Io's errors.
  absl::StatusOr<SamplePlace> PlaceOf(int64_t sample) const;
  // The sample there. DataLoss when its bytes have changed or an id is not below the vocabulary.
  absl::Status Read(int64_t sample, const SamplePlace& place, std::string& scratch,
                    TokenLine& line) const;

 private:
  TokenCache() = default;
  absl::Status Load(Io& io, const Hash128& key);
  absl::Status Broken(std::string_view what) const;

  std::string path_;
  std::unique_ptr<File> file_;
  CacheHeader header_;
  std::vector<uint64_t> index_;  // where the places of each block begin
};

}  // namespace horizon
