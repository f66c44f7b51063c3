#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/units.h"
#include "runtime/data/cache/content_hash.h"
#include "runtime/data/data_statistics.h"
#include "runtime/data/token_line.h"

namespace horizon {

// A token cache is one file of tokenised samples, little endian:
//   header | samples 0..1023 | their 1024 places | samples 1024.. | their places | ... | index
// The index has 8 bytes for every 1024 samples, where their places begin, so that it is small in
// memory whatever the data is; the places of the last, shorter block are as many as its samples.
constexpr int64_t kCacheBlock = 1024;
constexpr uint64_t kCacheVersion = 2;

// Where a sample lies.
struct SamplePlace {
  static constexpr uint64_t kBytes = 24;
  uint64_t offset = 0;
  uint32_t bytes = 0;
  uint32_t tokens = 0;
  uint64_t checksum = 0;  // of its bytes, its number and its tokens
  friend bool operator==(const SamplePlace&, const SamplePlace&) = default;
};

struct CacheHeader {
  Hash128 key;  // of the content and of everything that decided the ids: the file's name
  Bytes file_bytes;
  uint64_t index_offset = 0;
  uint64_t index_checksum = 0;
  int64_t vocab = 0;
  int64_t sequence = 0;
  DataStatistics statistics;
  friend bool operator==(const CacheHeader&, const CacheHeader&) = default;
};
// The header's length, which is the same for all.
Bytes CacheHeaderBytes();
std::string EncodeCacheHeader(const CacheHeader& header);
// DataLoss, without the file's name, for anything that EncodeCacheHeader did not write for a file
// of `file_bytes`: another kind of file, another version, a changed or missing byte, sizes that
// contradict each other.
absl::StatusOr<CacheHeader> DecodeCacheHeader(std::string_view bytes, Bytes file_bytes);

void EncodePlace(const SamplePlace& place, std::string& out);
// `bytes` has SamplePlace::kBytes.
SamplePlace DecodePlace(std::string_view bytes);

// A sample: which tokens are learnt as runs, ids in as few bytes as the vocabulary needs, and the
// labels where they are not the ids. Appends to `out`.
void EncodeSample(std::span<const int32_t> ids, std::span<const int32_t> labels, int64_t vocab,
                  std::string& out);
// Back, into `line`, whose vectors are used again. DataLoss for bytes that are no sample of
// `tokens` tokens with ids and labels below `vocab`: each is looked at again here.
absl::Status DecodeSample(std::string_view bytes, uint32_t tokens, int64_t vocab, TokenLine& line);

uint64_t SampleChecksum(std::string_view bytes, uint32_t tokens, int64_t sample);

}  // namespace horizon
