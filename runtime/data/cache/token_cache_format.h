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

// A token cache is one little-endian file of tokenised samples:
//   header | samples 0..1023 | their 1024 places | samples 1024.. | their places | ... | index
// Each cache block of 1024 samples is followed by the places (offset, size, checksum) of its
// samples. The index has 8 bytes for each cache block, the offset of its places, so that it needs
// little memory however large the data is. The last block may be shorter and then has fewer places.
constexpr int64_t kCacheBlock = 1024;
constexpr uint64_t kCacheVersion = 2;

// Where a sample is stored in the file.
struct SamplePlace {
  static constexpr uint64_t kBytes = 24;
  uint64_t offset = 0;
  uint32_t bytes = 0;
  uint32_t tokens = 0;
  uint64_t checksum = 0;  // of its bytes, its number and its token count
  friend bool operator==(const SamplePlace&, const SamplePlace&) = default;
};

// The header of a cache file.
struct CacheHeader {
  Hash128 key;  // TokenCacheKey, which is also the file's name
  Bytes file_bytes;
  uint64_t index_offset = 0;
  uint64_t index_checksum = 0;
  int64_t vocab = 0;
  int64_t sequence = 0;
  DataStatistics statistics;
  friend bool operator==(const CacheHeader&, const CacheHeader&) = default;
};
// The length of the header, which is the same for all files.
Bytes CacheHeaderBytes();
std::string EncodeCacheHeader(const CacheHeader& header);
// DataLoss, without the file's name, for anything that EncodeCacheHeader did not write for a file
// of `file_bytes`: a different kind of file or version, a changed or missing byte, sizes that
// contradict each other.
absl::StatusOr<CacheHeader> DecodeCacheHeader(std::string_view bytes, Bytes file_bytes);

void EncodePlace(const SamplePlace& place, std::string& out);
// `bytes` has SamplePlace::kBytes.
SamplePlace DecodePlace(std::string_view bytes);

// Appends an encoded sample to `out`: which tokens are trained on, as runs; the ids in as few bytes
// as the vocabulary needs; and the labels where they differ from the ids.
void EncodeSample(std::span<const int32_t> ids, std::span<const int32_t> labels, int64_t vocab,
                  std::string& out);
// Decodes a sample into `line`, reusing its vectors. DataLoss for bytes that are not a sample of
// `tokens` tokens with ids and labels below `vocab`; every id and label is checked again here.
absl::Status DecodeSample(std::string_view bytes, uint32_t tokens, int64_t vocab, TokenLine& line);

// The checksum of an encoded sample (SamplePlace::checksum).
uint64_t SampleChecksum(std::string_view bytes, uint32_t tokens, int64_t sample);

}  // namespace horizon
