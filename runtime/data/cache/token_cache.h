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

// The key of the token cache for files with this content: a hash of the content and of everything
// else that decides ids and labels. Paths (except the file name extension) and the number of
// threads do not change it.
Hash128 TokenCacheKey(const DataFiles& files, const std::vector<Hash128>& contents);

// Tokenises files into a cache at `path`, written through a temporary name beside it: afterwards
// the cache is complete or not there at all. `key` is TokenCacheKey(files, contents). Errors are
// TokeniseFiles' and Io's; InvalidArgument when the files hold nothing to train on; DataLoss when
// their content is no longer `contents`.
absl::StatusOr<TokenisedFiles> WriteTokenCache(Io& io, const std::string& path, const Hash128& key,
                                               const DataFiles& files,
                                               const std::vector<Hash128>& contents, int threads,
                                               const DataProgress& progress = nullptr);

// Reads samples of a cache file on demand (pread). It needs 8 bytes of memory for every 1024
// samples. Several threads may use it, each with a scratch string of its own; `io` outlives it.
class TokenCache {
 public:
  // DataLoss, naming the file and the reason, when it is not a complete cache of this key; Io's
  // errors.
  static absl::StatusOr<std::unique_ptr<TokenCache>> Open(Io& io, const std::string& path,
                                                          const Hash128& key);

  int64_t samples() const { return header_.statistics.samples; }
  int64_t sequence() const { return header_.sequence; }
  const DataStatistics& statistics() const { return header_.statistics; }
  const Hash128& key() const { return header_.key; }
  const std::string& path() const { return path_; }

  // Finds where sample `sample` (0 to samples() - 1) is stored; it has at most sequence() tokens.
  // DataLoss for an impossible place; Io's errors.
  absl::StatusOr<SamplePlace> PlaceOf(int64_t sample) const;
  // Reads the sample at that place. DataLoss when its bytes have changed or an id is not below the
  // vocabulary size.
  absl::Status Read(int64_t sample, const SamplePlace& place, std::string& scratch,
                    TokenLine& line) const;

 private:
  TokenCache() = default;
  absl::Status Load(Io& io, const Hash128& key);
  absl::Status Broken(std::string_view what) const;

  std::string path_;
  std::unique_ptr<File> file_;
  CacheHeader header_;
  std::vector<uint64_t> index_;  // where the places of each cache block begin
};

}  // namespace horizon
