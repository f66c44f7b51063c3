// Whatever lies behind the header of a token cache, even with every checksum right, the file opens
// or is refused by name; and a sample that it gives is within its vocabulary and sequence.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "common/check.h"
#include "runtime/data/cache/token_cache.h"
#include "runtime/data/cache/token_cache_format.h"
#include "tests/common/fuzz/fuzz_driver.h"
#include "tests/runtime/data/memory_io.h"

namespace horizon {
namespace {

constexpr char kPath[] = "fuzz.tokens";
constexpr Hash128 kKey = {.high = 1, .low = 2};
// An input: samples, vocabulary, sequence and bytes before the index (2 bytes each), then what
// follows the header.
constexpr size_t kNumbers = 4;

uint64_t NumberAt(std::string_view bytes, size_t i) {
  uint16_t number = 0;
  std::memcpy(&number, bytes.data() + 2 * i, sizeof(number));
  return number;
}

// Makes the checksums of the places that `index` leads to right, where they lie in `file`.
void MendPlaces(std::string& file, uint64_t index_offset, int64_t samples) {
  for (int64_t sample = 0; sample < samples; ++sample) {
    const uint64_t block = index_offset + 8 * static_cast<uint64_t>(sample / kCacheBlock);
    if (file.size() < 8 || block > file.size() - 8) return;
    uint64_t offset = 0;
    std::memcpy(&offset, file.data() + block, sizeof(offset));
    if (offset > file.size()) continue;
    offset += static_cast<uint64_t>(sample % kCacheBlock) * SamplePlace::kBytes;
    if (offset > file.size() || file.size() - offset < SamplePlace::kBytes) continue;
    SamplePlace place = DecodePlace(std::string_view(file).substr(offset, SamplePlace::kBytes));
    if (place.offset > file.size() || place.bytes > file.size() - place.offset) continue;
    place.checksum = SampleChecksum(std::string_view(file).substr(place.offset, place.bytes),
                                    place.tokens, sample);
    std::string mended;
    EncodePlace(place, mended);
    file.replace(offset, mended.size(), mended);
  }
}

std::string MakeFile(std::string_view input) {
  CacheHeader header = {.key = kKey};
  header.statistics.samples = static_cast<int64_t>(NumberAt(input, 0));
  header.vocab = static_cast<int64_t>(NumberAt(input, 1));
  header.sequence = static_cast<int64_t>(NumberAt(input, 2));
  header.index_offset = CacheHeaderBytes().value() + NumberAt(input, 3);
  std::string file(CacheHeaderBytes().value(), '\0');
  file += input.substr(2 * kNumbers);
  header.file_bytes = Bytes(file.size());
  MendPlaces(file, header.index_offset, std::min<int64_t>(header.statistics.samples, 64));
  header.index_checksum = HashBytes(
      std::string_view(file).substr(std::min<uint64_t>(header.index_offset, file.size())), 0);
  return file.replace(0, CacheHeaderBytes().value(), EncodeCacheHeader(header));
}

void TryCache(const TokenCache& cache, int64_t vocab) {
  std::string scratch;
  TokenLine line;
  for (int64_t sample = 0; sample < std::min<int64_t>(cache.samples(), 64); ++sample) {
    const absl::StatusOr<SamplePlace> place = cache.PlaceOf(sample);
    if (!place.ok()) {
      CHECK(absl::IsDataLoss(place.status()));
      CHECK(place.status().message().find(kPath) != std::string::npos);
      continue;
    }
    CHECK(place->tokens >= 1 && place->tokens <= cache.sequence());
    const absl::Status read = cache.Read(sample, *place, scratch, line);
    if (!read.ok()) {
      CHECK(absl::IsDataLoss(read) && read.message().find(kPath) != std::string::npos);
      continue;
    }
    CHECK(line.ids.size() == place->tokens && line.labels.size() == place->tokens);
    for (const int32_t id : line.ids) CHECK(id >= 0 && id < vocab);
    for (const int32_t label : line.labels) CHECK(label == -100 || (label >= 0 && label < vocab));
  }
}

void TryFile(std::string_view input) {
  if (input.size() < 2 * kNumbers) return;
  MemoryIo io(kPath, MakeFile(input));
  const absl::StatusOr<std::unique_ptr<TokenCache>> cache = TokenCache::Open(io, kPath, kKey);
  if (!cache.ok()) {
    CHECK(absl::IsDataLoss(cache.status()));
    CHECK(cache.status().message().find(kPath) != std::string::npos);
    return;
  }
  TryCache(**cache, static_cast<int64_t>(NumberAt(input, 1)));
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryFile({reinterpret_cast<const char*>(data), size});
  return 0;
}
