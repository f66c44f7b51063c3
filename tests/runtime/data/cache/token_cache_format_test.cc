#include "runtime/data/cache/token_cache_format.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace horizon {
namespace {

CacheHeader SomeHeader() {
  CacheHeader header = {.key = {.high = 1, .low = 2},
                        .index_offset = CacheHeaderBytes().value() + 100,
                        .index_checksum = 7,
                        .vocab = 300,
                        .sequence = 16};
  header.statistics = {.records = 9,
                       .bad_lines = 1,
                       .samples = 2000,
                       .tokens = 5000,
                       .trained_tokens = 4000,
                       .truncated = 3,
                       .dropped = 2};
  header.statistics.lengths.Add(5);
  header.statistics.lengths.Add(70);
  header.file_bytes = Bytes(header.index_offset + 16);  // two blocks
  return header;
}

TEST(TokenCacheFormat, AHeaderComesBack) {
  const CacheHeader header = SomeHeader();
  const std::string bytes = EncodeCacheHeader(header);
  EXPECT_EQ(Bytes(bytes.size()), CacheHeaderBytes());
  const auto decoded = DecodeCacheHeader(bytes, header.file_bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, header);
}

TEST(TokenCacheFormat, EveryChangedBitOfAHeaderIsNoticed) {
  const CacheHeader header = SomeHeader();
  std::string bytes = EncodeCacheHeader(header);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(absl::IsDataLoss(DecodeCacheHeader(bytes, header.file_bytes).status())) << bit;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  }
  for (size_t length = 0; length < bytes.size(); length += 7) {
    EXPECT_TRUE(
        absl::IsDataLoss(DecodeCacheHeader(bytes.substr(0, length), header.file_bytes).status()));
  }
  EXPECT_FALSE(DecodeCacheHeader(bytes, header.file_bytes + 1_B).ok());
}

// Well formed to the checksum, and yet no cache.
TEST(TokenCacheFormat, SizesThatContradictEachOtherAreNoticed) {
  const auto accepted = [](auto change) {
    CacheHeader header = SomeHeader();
    change(header);
    return DecodeCacheHeader(EncodeCacheHeader(header), header.file_bytes).ok();
  };
  EXPECT_TRUE(accepted([](CacheHeader&) {}));
  EXPECT_FALSE(accepted([](CacheHeader& h) { h.statistics.samples = 2049; }));
  EXPECT_FALSE(accepted([](CacheHeader& h) { h.statistics.samples = 1024; }));
  EXPECT_FALSE(accepted([](CacheHeader& h) { h.statistics.samples = -1; }));
  EXPECT_FALSE(accepted([](CacheHeader& h) { h.statistics.samples = INT64_MAX; }));
  EXPECT_FALSE(accepted([](CacheHeader& h) { h.index_offset = h.file_bytes.value() + 8; }));
  EXPECT_FALSE(accepted([](CacheHeader& h) { h.index_offset = 8; }));
  EXPECT_FALSE(accepted([](CacheHeader& h) { h.file_bytes += 1_B; }));
  EXPECT_FALSE(accepted([](CacheHeader& h) { h.index_offset = ~uint64_t{0}; }));
  EXPECT_FALSE(accepted([](CacheHeader& h) { h.vocab = 0; }));
  EXPECT_FALSE(accepted([](CacheHeader& h) { h.vocab = int64_t{1} << 31; }));
  EXPECT_FALSE(accepted([](CacheHeader& h) { h.sequence = 0; }));
}

RC_GTEST_PROP(TokenCacheFormat, ASampleComesBack, ()) {
  const auto vocab = *rc::gen::element<int64_t>(1, 2, 256, 257, 65536, 65537, 151936, 1 << 24,
                                                (1 << 24) + 1, INT32_MAX);
  const auto size = static_cast<size_t>(*rc::gen::inRange(1, 40));
  const auto mode = *rc::gen::inRange(0, 3);
  TokenLine line;
  for (size_t i = 0; i < size; ++i) {
    const auto id = [&] { return static_cast<int32_t>(*rc::gen::inRange<int64_t>(0, vocab)); };
    line.ids.push_back(id());
    const bool trained = mode == 0 || *rc::gen::inRange(0, 2) == 0;
    line.labels.push_back(!trained ? -100 : mode == 2 ? id() : line.ids.back());
  }
  std::string bytes;
  EncodeSample(line.ids, line.labels, vocab, bytes);
  TokenLine decoded;
  RC_ASSERT(DecodeSample(bytes, static_cast<uint32_t>(size), vocab, decoded).ok());
  RC_ASSERT(decoded.ids == line.ids);
  RC_ASSERT(decoded.labels == line.labels);
  // Neither fewer nor more tokens fit the same bytes, and none of the bytes can be missing.
  for (size_t length = 0; length < bytes.size(); ++length) {
    RC_ASSERT(
        !DecodeSample(bytes.substr(0, length), static_cast<uint32_t>(size), vocab, decoded).ok());
  }
  RC_ASSERT(!DecodeSample(bytes + "x", static_cast<uint32_t>(size), vocab, decoded).ok());
  RC_ASSERT(!DecodeSample(bytes, UINT32_MAX, vocab, decoded).ok());
}

TEST(TokenCacheFormat, AnIdOrLabelOutOfTheVocabularyIsNoticed) {
  const std::vector<int32_t> ids = {1, 9};
  std::string bytes;
  EncodeSample(ids, ids, 10, bytes);
  TokenLine line;
  EXPECT_TRUE(DecodeSample(bytes, 2, 10, line).ok());
  EXPECT_FALSE(DecodeSample(bytes, 2, 9, line).ok());
  bytes.clear();
  EncodeSample(ids, std::vector<int32_t>{-100, 8}, 10, bytes);
  EXPECT_TRUE(DecodeSample(bytes, 2, 10, line).ok());
  bytes.back() = 10;
  EXPECT_FALSE(DecodeSample(bytes, 2, 10, line).ok());
}

TEST(TokenCacheFormat, IdsTakeNoMoreBytesThanTheVocabularyNeeds) {
  const std::vector<int32_t> ids(1000, 5);
  const auto size = [&](int64_t vocab) {
    std::string bytes;
    EncodeSample(ids, ids, vocab, bytes);
    return bytes.size() / 1000;
  };
  EXPECT_EQ(size(256), 1u);
  EXPECT_EQ(size(257), 2u);
  EXPECT_EQ(size(151936), 3u);
  EXPECT_EQ(size(INT32_MAX), 4u);
}

TEST(TokenCacheFormat, AChecksumIsOfBytesNumberAndTokens) {
  const uint64_t checksum = SampleChecksum("abc", 3, 5);
  EXPECT_EQ(SampleChecksum("abc", 3, 5), checksum);
  EXPECT_NE(SampleChecksum("abd", 3, 5), checksum);
  EXPECT_NE(SampleChecksum("abc", 4, 5), checksum);
  EXPECT_NE(SampleChecksum("abc", 3, 6), checksum);
}

}  // namespace
}  // namespace horizon
