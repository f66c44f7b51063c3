#include "runtime/data/cache/token_cache.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

absl::StatusOr<std::string> ReadPart(File& file, uint64_t offset, uint64_t bytes) {
  std::string part(bytes, '\0');
  ASSIGN_OR_RETURN(const size_t count,
                   file.ReadAt(offset, std::as_writable_bytes(std::span(part))));
  part.resize(count);
  return part;
}

}  // namespace

absl::Status TokenCache::Broken(std::string_view what) const {
  return absl::DataLossError(StrCat("the token cache '", path_, "' cannot be used: ", what));
}

absl::StatusOr<std::unique_ptr<TokenCache>> TokenCache::Open(Io& io, const std::string& path,
                                                             const Hash128& key) {
  std::unique_ptr<TokenCache> cache(new TokenCache);
  cache->path_ = path;
  RETURN_IF_ERROR(cache->Load(io, key));
  return cache;
}

absl::Status TokenCache::Load(Io& io, const Hash128& key) {
  ASSIGN_OR_RETURN(file_, io.Open(path_, OpenMode::kRead));
  ASSIGN_OR_RETURN(const FileInfo info, file_->Info());
  ASSIGN_OR_RETURN(const std::string bytes, ReadPart(*file_, 0, CacheHeaderBytes().value()));
  absl::StatusOr<CacheHeader> header = DecodeCacheHeader(bytes, info.size);
  if (!header.ok()) return Broken(std::string(header.status().message()));
  header_ = *std::move(header);
  if (header_.key != key) {
    return Broken(
        StrCat("it was made from other data or with other options (", ToString(header_.key), ")"));
  }
  if (header_.statistics.samples == 0) return Broken("it has no samples");
  const uint64_t index_bytes = header_.file_bytes.value() - header_.index_offset;
  ASSIGN_OR_RETURN(const std::string index, ReadPart(*file_, header_.index_offset, index_bytes));
  if (index.size() != index_bytes || HashBytes(index, 0) != header_.index_checksum) {
    return Broken("its index has changed");
  }
  index_.resize(index_bytes / sizeof(uint64_t));
  std::memcpy(index_.data(), index.data(), index.size());
  for (const uint64_t offset : index_) {
    if (offset < CacheHeaderBytes().value() || offset > header_.index_offset) {
      return Broken("its index leads out of it");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<SamplePlace> TokenCache::PlaceOf(int64_t sample) const {
  CHECK(sample >= 0 && sample < samples());
  const uint64_t offset = index_[static_cast<size_t>(sample / kCacheBlock)] +
                          static_cast<uint64_t>(sample % kCacheBlock) * SamplePlace::kBytes;
  ASSIGN_OR_RETURN(const std::string bytes, ReadPart(*file_, offset, SamplePlace::kBytes));
  if (bytes.size() != SamplePlace::kBytes) return Broken("it has become shorter");
  const SamplePlace place = DecodePlace(bytes);
  const bool inside = place.offset >= CacheHeaderBytes().value() &&
                      place.offset <= header_.index_offset &&
                      place.bytes <= header_.index_offset - place.offset;
  if (!inside || place.tokens < 1 || place.tokens > header_.sequence) {
    return Broken(StrCat("the place of sample ", sample, " has changed"));
  }
  return place;
}

absl::Status TokenCache::Read(int64_t sample, const SamplePlace& place, std::string& scratch,
                              TokenLine& line) const {
  scratch.resize(place.bytes);
  ASSIGN_OR_RETURN(const size_t count,
                   file_->ReadAt(place.offset, std::as_writable_bytes(std::span(scratch))));
  if (count != place.bytes) return Broken("it has become shorter");
  if (SampleChecksum(scratch, place.tokens, sample) != place.checksum) {
    return Broken(StrCat("sample ", sample, " at byte ", place.offset, " has changed"));
  }
  absl::Status decoded = DecodeSample(scratch, place.tokens, header_.vocab, line);
  if (decoded.ok()) return decoded;
  return Broken(StrCat("sample ", sample, ": ", decoded.message()));
}

}  // namespace horizon
