#include "runtime/data/cache/token_cache_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "HZTOKENS";
constexpr int kCountedFields = 9;
// Magic, version, key (2), three sizes, vocabulary, sequence, counts, ends and buckets of the
// lengths, checksum.
constexpr uint64_t kHeaderBytes =
    8 + 8 * (1 + 2 + 3 + 2 + kCountedFields + 2 + LengthHistogram::kBuckets + 1);
constexpr int64_t kMost = int64_t{1} << 62;

absl::Status Broken(std::string_view what) { return absl::DataLossError(std::string(what)); }

template <typename T>
void Put(T value, std::string& out) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

template <typename T>
T Take(std::string_view& bytes) {
  CHECK(bytes.size() >= sizeof(T));
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
}

// The counts of the statistics in the order they are stored in.
template <typename Statistics>
auto Counts(Statistics& statistics) {
  return std::array{&statistics.records, &statistics.bad_lines,      &statistics.samples,
                    &statistics.tokens,  &statistics.trained_tokens, &statistics.truncated,
                    &statistics.dropped, &statistics.cut_before_end, &statistics.without_end};
}

// Seven bits a byte, the low ones first; the eighth says that more follow.
void PutNumber(uint64_t number, std::string& out) {
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<char>(number | 0x80));
  out.push_back(static_cast<char>(number));
}

bool TakeNumber(std::string_view& bytes, uint64_t& number) {
  number = 0;
  for (int shift = 0; shift < 63 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// How many bytes hold every id.
size_t IdBytes(int64_t vocab) {
  return static_cast<size_t>(
      std::max(1, (static_cast<int>(std::bit_width(static_cast<uint64_t>(vocab - 1))) + 7) / 8));
}

void PutId(int32_t id, size_t width, std::string& out) {
  char bytes[sizeof(id)];
  std::memcpy(bytes, &id, sizeof(id));
  out.append(bytes, width);
}

bool TakeId(std::string_view& bytes, size_t width, int64_t vocab, int32_t& id) {
  if (bytes.size() < width) return false;
  uint32_t number = 0;
  std::memcpy(&number, bytes.data(), width);
  bytes.remove_prefix(width);
  id = static_cast<int32_t>(number);
  return static_cast<int64_t>(number) < vocab;
}

enum class Labels : char { kAreIds = 0, kAreStored = 1 };

}  // namespace

Bytes CacheHeaderBytes() { return Bytes(kHeaderBytes); }

std::string EncodeCacheHeader(const CacheHeader& header) {
  std::string out(kMagic);
  for (const uint64_t word :
       {kCacheVersion, header.key.high, header.key.low, header.file_bytes.value(),
        header.index_offset, header.index_checksum}) {
    Put(word, out);
  }
  Put(header.vocab, out);
  Put(header.sequence, out);
  for (const int64_t* count : Counts(header.statistics)) Put(*count, out);
  const LengthHistogram& lengths = header.statistics.lengths;
  Put(lengths.shortest(), out);
  Put(lengths.longest(), out);
  for (const int64_t count : lengths.buckets()) Put(count, out);
  Put(HashBytes(out, 0), out);
  CHECK(out.size() == kHeaderBytes);
  return out;
}

absl::StatusOr<CacheHeader> DecodeCacheHeader(std::string_view bytes, Bytes file_bytes) {
  if (bytes.size() < kMagic.size() || bytes.substr(0, kMagic.size()) != kMagic) {
    return Broken("it is no token cache");
  }
  if (bytes.size() < kHeaderBytes) return Broken("its header is cut off");
  bytes = bytes.substr(0, kHeaderBytes);
  std::string_view rest = bytes.substr(kMagic.size());
  const auto version = Take<uint64_t>(rest);
  if (version != kCacheVersion) {
    return Broken(
        StrCat("it is of version ", version, ", and this program writes ", kCacheVersion));
  }
  std::string_view stored = bytes.substr(kHeaderBytes - sizeof(uint64_t));
  if (Take<uint64_t>(stored) != HashBytes(bytes.substr(0, kHeaderBytes - sizeof(uint64_t)), 0)) {
    return Broken("its header has changed");
  }
  CacheHeader header;
  header.key.high = Take<uint64_t>(rest);
  header.key.low = Take<uint64_t>(rest);
  header.file_bytes = Bytes(Take<uint64_t>(rest));
  header.index_offset = Take<uint64_t>(rest);
  header.index_checksum = Take<uint64_t>(rest);
  header.vocab = Take<int64_t>(rest);
  header.sequence = Take<int64_t>(rest);
  for (int64_t* count : Counts(header.statistics)) {
    *count = Take<int64_t>(rest);
    if (*count < 0 || *count > kMost) return Broken("a count in its header is out of range");
  }
  const auto shortest = Take<int64_t>(rest);
  const auto longest = Take<int64_t>(rest);
  std::array<int64_t, LengthHistogram::kBuckets> buckets;
  uint64_t sum = 0;
  for (int64_t& count : buckets) {
    count = Take<int64_t>(rest);
    if (count < 0 || count > kMost) return Broken("a count in its header is out of range");
    sum += static_cast<uint64_t>(count);
    if (sum > static_cast<uint64_t>(kMost)) return Broken("its lengths are too many");
  }
  header.statistics.lengths = LengthHistogram::Restore(buckets, shortest, longest);
  if (header.file_bytes != file_bytes) {
    return Broken(StrCat("it has ", file_bytes.value(), " bytes and should have ",
                         header.file_bytes.value()));
  }
  if (header.vocab < 1 || header.vocab > std::numeric_limits<int32_t>::max() ||
      header.sequence < 1 || header.sequence > kMost) {
    return Broken("its vocabulary or sequence is out of range");
  }
  const uint64_t blocks =
      (static_cast<uint64_t>(header.statistics.samples) + kCacheBlock - 1) / kCacheBlock;
  if (header.index_offset < kHeaderBytes || header.index_offset > file_bytes.value() ||
      (file_bytes.value() - header.index_offset) % 8 != 0 ||
      (file_bytes.value() - header.index_offset) / 8 != blocks) {
    return Broken("its index is not where it belongs");
  }
  return header;
}

void EncodePlace(const SamplePlace& place, std::string& out) {
  Put(place.offset, out);
  Put(place.bytes, out);
  Put(place.tokens, out);
  Put(place.checksum, out);
}

SamplePlace DecodePlace(std::string_view bytes) {
  CHECK(bytes.size() == SamplePlace::kBytes);
  SamplePlace place;
  place.offset = Take<uint64_t>(bytes);
  place.bytes = Take<uint32_t>(bytes);
  place.tokens = Take<uint32_t>(bytes);
  place.checksum = Take<uint64_t>(bytes);
  return place;
}

void EncodeSample(std::span<const int32_t> ids, std::span<const int32_t> labels, int64_t vocab,
                  std::string& out) {
  CHECK(ids.size() == labels.size());
  bool are_ids = true;
  for (size_t i = 0; i < ids.size(); ++i)
    are_ids = are_ids && (labels[i] < 0 || labels[i] == ids[i]);
  out.push_back(static_cast<char>(are_ids ? Labels::kAreIds : Labels::kAreStored));
  // Runs in turn: not trained, trained, not trained, ...; together as long as the sample.
  bool trained = false;
  for (size_t i = 0; i < labels.size(); trained = !trained) {
    const size_t begin = i;
    while (i < labels.size() && (labels[i] >= 0) == trained) ++i;
    PutNumber(i - begin, out);
  }
  const size_t width = IdBytes(vocab);
  for (const int32_t id : ids) PutId(id, width, out);
  if (are_ids) return;
  for (const int32_t label : labels) {
    if (label >= 0) PutId(label, width, out);
  }
}

absl::Status DecodeSample(std::string_view bytes, uint32_t tokens, int64_t vocab, TokenLine& line) {
  line.ids.clear();
  line.labels.clear();
  const size_t width = IdBytes(vocab);
  // Before anything is allocated for them.
  if (bytes.empty() || bytes.size() / width < tokens) return Broken("a sample is cut off");
  const char stored = bytes.front();
  if (stored != static_cast<char>(Labels::kAreIds) &&
      stored != static_cast<char>(Labels::kAreStored)) {
    return Broken("a sample begins with an unknown byte");
  }
  bytes.remove_prefix(1);
  for (bool trained = false; line.labels.size() < tokens; trained = !trained) {
    uint64_t run = 0;
    if (!TakeNumber(bytes, run) || run > tokens - line.labels.size() ||
        (run == 0 && (trained || !line.labels.empty()))) {
      return Broken("the runs of a sample do not fit it");
    }
    line.labels.insert(line.labels.end(), run, trained ? 0 : -100);
  }
  line.ids.resize(tokens);
  for (int32_t& id : line.ids) {
    if (!TakeId(bytes, width, vocab, id)) return Broken("a sample has an id out of range");
  }
  for (size_t i = 0; i < line.labels.size(); ++i) {
    if (line.labels[i] < 0) continue;
    if (stored == static_cast<char>(Labels::kAreIds)) {
      line.labels[i] = line.ids[i];
    } else if (!TakeId(bytes, width, vocab, line.labels[i])) {
      return Broken("a sample has a label out of range");
    }
  }
  return bytes.empty() ? absl::OkStatus() : Broken("bytes follow a sample");
}

uint64_t SampleChecksum(std::string_view bytes, uint32_t tokens, int64_t sample) {
  return HashBytes(
      bytes, static_cast<uint64_t>(sample) << 32 ^ static_cast<uint64_t>(sample) >> 32 ^ tokens);
}

}  // namespace horizon
