#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "runtime/data/cache/token_cache.h"

namespace horizon {
namespace {

constexpr size_t kWriteBytes = size_t{1} << 20;

// Writes samples, places and index one after the other, and at last the header into the space left
// for it.
class Writer {
 public:
  Writer(File& file, int64_t vocab)
      : file_(file), vocab_(vocab), held_(CacheHeaderBytes().value(), '\0') {}

  absl::Status Add(std::span<const int32_t> ids, std::span<const int32_t> labels) {
    SamplePlace place = {.offset = End(), .tokens = static_cast<uint32_t>(ids.size())};
    const size_t before = held_.size();
    EncodeSample(ids, labels, vocab_, held_);
    const std::string_view bytes = std::string_view(held_).substr(before);
    place.bytes = static_cast<uint32_t>(bytes.size());
    place.checksum = SampleChecksum(bytes, place.tokens, samples_);
    EncodePlace(place, places_);
    if (++samples_ % kCacheBlock == 0) EndBlock();
    return held_.size() >= kWriteBytes ? Flush() : absl::OkStatus();
  }

  absl::Status Finish(CacheHeader header) {
    if (!places_.empty()) EndBlock();
    std::string index(index_.size() * sizeof(uint64_t), '\0');
    std::memcpy(index.data(), index_.data(), index.size());
    header.index_offset = End();
    header.index_checksum = HashBytes(index, 0);
    held_ += index;
    header.file_bytes = Bytes(End());
    RETURN_IF_ERROR(Flush());
    const std::string bytes = EncodeCacheHeader(header);
    return file_.WriteAt(0, std::as_bytes(std::span(bytes)));
  }

 private:
  uint64_t End() const { return written_ + held_.size(); }

  void EndBlock() {
    index_.push_back(End());
    held_ += places_;
    places_.clear();
  }

  absl::Status Flush() {
    RETURN_IF_ERROR(file_.WriteAt(written_, std::as_bytes(std::span(held_))));
    written_ += held_.size();
    held_.clear();
    return absl::OkStatus();
  }

  File& file_;
  const int64_t vocab_;
  std::string held_;  // bytes to be written next
  uint64_t written_ = 0;
  int64_t samples_ = 0;
  std::string places_;  // of the present cache block
  std::vector<uint64_t> index_;
};

}  // namespace

Hash128 TokenCacheKey(const DataFiles& files, const std::vector<Hash128>& contents) {
  const TokeniseOptions& options = files.tokenise;
  ContentHash hash;
  hash.AddField("horizon token cache");
  hash.AddField(kCacheVersion);
  hash.AddField(options.tokenizer != nullptr ? options.tokenizer->fingerprint() : 0);
  hash.AddField(static_cast<uint64_t>(static_cast<int64_t>(options.end_id.value_or(-1))));
  hash.AddField(files.kind.has_value() ? ToString(*files.kind) : "auto");
  if (options.chat.ok()) hash.AddField(options.chat->Identity());
  hash.AddField(static_cast<uint64_t>(options.vocab));
  hash.AddField(static_cast<uint64_t>(options.sequence));
  hash.AddField(options.train_on_prompt ? 1u : 0u);
  hash.AddField(ToString(files.on_bad_line));
  for (size_t i = 0; i < contents.size(); ++i) {
    // A name's ending may decide how the same bytes are read.
    const size_t dot = files.paths[i].find_last_of('.');
    hash.AddField(dot == std::string::npos ? "" : std::string_view(files.paths[i]).substr(dot));
    hash.AddField(contents[i].high);
    hash.AddField(contents[i].low);
  }
  return hash.Get();
}

absl::StatusOr<TokenisedFiles> WriteTokenCache(Io& io, const std::string& path, const Hash128& key,
                                               const DataFiles& files,
                                               const std::vector<Hash128>& contents, int threads,
                                               const DataProgress& progress) {
  TokenisedFiles result;
  RETURN_IF_ERROR(WriteFileAtomically(io, path, [&](File& file) -> absl::Status {
    Writer writer(file, files.tokenise.vocab);
    const SampleSink sink = [&](std::span<const int32_t> ids, std::span<const int32_t> labels) {
      return writer.Add(ids, labels);
    };
    ASSIGN_OR_RETURN(result, TokeniseFiles(io, files, threads, sink, progress));
    for (size_t i = 0; i < contents.size(); ++i) {
      if (result.hashes[i] == contents[i]) continue;
      return absl::DataLossError(
          StrCat("'", files.paths[i], "' changed while it was read; is something writing it?"));
    }
    if (result.statistics.samples == 0) {
      return absl::InvalidArgumentError(StrCat(
          files.paths.front(), " holds no samples to learn from: ", result.statistics.records,
          " records, ", result.statistics.dropped, " with nothing to learn within --sequence, ",
          result.statistics.bad_lines, " bad ones"));
    }
    return writer.Finish({.key = key,
                          .vocab = files.tokenise.vocab,
                          .sequence = files.tokenise.sequence,
                          .statistics = result.statistics});
  }));
  return result;
}

}  // namespace horizon
