// Whatever the bytes, the header of a token cache and a sample of it are judged; and a sample that
// is accepted comes back the same when it is written again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/check.h"
#include "runtime/data/cache/token_cache_format.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

void TryHeader(std::string_view bytes) {
  const auto header = DecodeCacheHeader(bytes, Bytes(bytes.size()));
  if (!header.ok()) {
    CHECK(absl::IsDataLoss(header.status()));
  } else {
    CHECK(EncodeCacheHeader(*header) == bytes.substr(0, CacheHeaderBytes().value()));
  }
  // Mutations break the checksum: once more with a right one, so that what follows is reached.
  if (bytes.size() < CacheHeaderBytes().value()) return;
  std::string mended(bytes.substr(0, CacheHeaderBytes().value() - 8));
  const uint64_t checksum = HashBytes(mended, 0);
  mended.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
  const auto again = DecodeCacheHeader(mended, Bytes(bytes.size()));
  if (!again.ok()) return;
  CHECK(again->index_offset >= CacheHeaderBytes().value() && again->index_offset <= bytes.size());
  CHECK(again->statistics.samples >= 0 && again->vocab >= 1 && again->sequence >= 1);
  CHECK(EncodeCacheHeader(*again) == mended);
}

void TrySample(std::string_view bytes) {
  if (bytes.size() < 3) return;
  const uint32_t tokens = static_cast<unsigned char>(bytes[0]);
  const int64_t vocab =
      1 + static_cast<unsigned char>(bytes[1]) + 256 * static_cast<unsigned char>(bytes[2]);
  TokenLine line;
  if (!DecodeSample(bytes.substr(3), tokens, vocab, line).ok()) return;
  CHECK(line.ids.size() == tokens && line.labels.size() == tokens);
  for (size_t i = 0; i < tokens; ++i) {
    CHECK(line.ids[i] >= 0 && line.ids[i] < vocab);
    CHECK(line.labels[i] == -100 || (line.labels[i] >= 0 && line.labels[i] < vocab));
  }
  // Twice there and back is the same: what was stored in another way need not be.
  std::string written;
  EncodeSample(line.ids, line.labels, vocab, written);
  TokenLine back;
  CHECK(DecodeSample(written, tokens, vocab, back).ok());
  CHECK(back.ids == line.ids && back.labels == line.labels);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  horizon::TryHeader(bytes);
  horizon::TrySample(bytes);
  return 0;
}
