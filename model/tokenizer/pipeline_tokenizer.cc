#include "model/tokenizer/pipeline_tokenizer.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"
#include "model/tokenizer/quoted_ranges.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

// A text this long leaves its room behind for the next; the room of a longer one is given back.
constexpr size_t kKeptBytes = size_t{1} << 20;
constexpr size_t kKeptSymbols = size_t{1} << 16;

template <typename Container>
void ReleaseMemoryAbove(Container& container, size_t kept) {
  if (container.capacity() <= kept) return;
  container.clear();
  container.shrink_to_fit();
}

}  // namespace

class PipelineTokenizer::Lease {
 public:
  explicit Lease(const PipelineTokenizer& owner) : owner_(owner) {
    {
      const std::lock_guard lock(owner.mutex_);
      if (!owner.free_.empty()) {
        scratch_ = std::move(owner.free_.back());
        owner.free_.pop_back();
      }
    }
    if (scratch_ != nullptr) return;
    scratch_ = std::make_unique<Scratch>();
    if (owner.parts_.bpe != nullptr) scratch_->bpe.emplace();
    if (owner.parts_.unigram != nullptr) scratch_->unigram.emplace();
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    if (scratch_->bpe.has_value()) {
      ReleaseMemoryAbove(scratch_->bpe->symbols, kKeptSymbols);
      ReleaseMemoryAbove(scratch_->bpe->heap, kKeptSymbols);
    }
    if (scratch_->unigram.has_value()) {
      ReleaseMemoryAbove(scratch_->unigram->nodes, kKeptSymbols);
      ReleaseMemoryAbove(scratch_->unigram->path, kKeptSymbols);
    }
    ReleaseMemoryAbove(scratch_->valid, kKeptBytes);
    ReleaseMemoryAbove(scratch_->normalized, kKeptBytes);
    ReleaseMemoryAbove(scratch_->spare, kKeptBytes);
    scratch_->alignment.ReleaseMemoryAbove(kKeptBytes);
    const std::lock_guard lock(owner_.mutex_);
    owner_.free_.push_back(std::move(scratch_));
  }
  Scratch& operator*() { return *scratch_; }

 private:
  const PipelineTokenizer& owner_;
  std::unique_ptr<Scratch> scratch_;
};

absl::StatusOr<std::unique_ptr<PipelineTokenizer>> PipelineTokenizer::Create(
    PipelineTokenizerParts parts) {
  std::unique_ptr<PipelineTokenizer> tokenizer(new PipelineTokenizer(std::move(parts)));
  RETURN_IF_ERROR(tokenizer->IndexAddedTokens());
  return tokenizer;
}

absl::Status PipelineTokenizer::IndexAddedTokens() {
  MatchMemory memory;
  std::string spare;
  id_limit_ = parts_.vocabulary->id_limit();
  // Of equal spellings the first counts, and special tokens come first, as in the library.
  for (const bool special : {true, false}) {
    for (AddedToken& token : parts_.added) {
      if (token.special != special) continue;
      id_limit_ = std::max(id_limit_, int64_t{token.id} + 1);
      added_ids_.emplace(token.content, token.id);
      added_by_id_.emplace(token.id, &token);
      token.spelling = token.content;
      if (token.normalized) {
        RETURN_IF_ERROR(
            parts_.normalizer.Apply(token.spelling, TextPosition::kStart, memory, spare));
      }
      (token.normalized ? in_normalized_ : in_text_).Add(token);
      if (token.special) special_.Add(SpelledAsInFile(token));
    }
  }
  // A piece that stands in the vocabulary twice is special by its spelling, whichever its id.
  for (const Vocabulary::Entry& entry : parts_.vocabulary->entries()) {
    if (parts_.vocabulary->size() == parts_.vocabulary->tokens()) break;
    const auto added = added_ids_.find(entry.token);
    if (added == added_ids_.end()) continue;
    const AddedToken* token = added_by_id_.at(added->second);
    added_by_id_.emplace(entry.id, token);
  }
  return absl::OkStatus();
}

absl::Status PipelineTokenizer::Encode(std::string_view text, const EncodeOptions& options,
                                       std::vector<int32_t>& ids) const {
  if (options.quoted.empty()) return EncodeWhole(text, options, ids, nullptr);
  std::vector<ByteRange> offsets;
  return EncodeWhole(text, options, ids, &offsets);
}

absl::Status PipelineTokenizer::EncodeWithOffsets(std::string_view text,
                                                  const EncodeOptions& options,
                                                  std::vector<int32_t>& ids,
                                                  std::vector<ByteRange>& offsets) const {
  return EncodeWhole(text, options, ids, &offsets);
}

absl::Status PipelineTokenizer::EncodeWhole(std::string_view text, const EncodeOptions& options,
                                            std::vector<int32_t>& ids,
                                            std::vector<ByteRange>* offsets) const {
  RETURN_IF_ERROR(CheckQuotedRanges(options.quoted, text.size()));
  Lease lease(*this);
  Call call{.options = options, .scratch = *lease, .ids = ids, .offsets = offsets};
  AlignedText whole{.text = WithValidUtf8(text, call.scratch.valid)};
  Alignment alignment;
  if (offsets != nullptr && whole.text.data() != text.data()) {
    alignment.ResetToValid(text);
    whole.ranges = alignment.data();
  }
  if (!options.quoted.empty()) return EncodeQuoted(whole, call);
  return EncodePart(whole, options.added, options.position, call);
}

bool PipelineTokenizer::IsRecognised(const AddedToken& token, std::string_view spelling,
                                     const AlignedText& text, AddedTokens which,
                                     const Call& call) const {
  if (which == AddedTokens::kNone) return false;
  if (token.special && which == AddedTokens::kNotSpecial) return false;
  const EncodeOptions& options = call.options;
  if (options.quoted.empty() || !IsControl(token, options)) return true;
  return !Overlaps(text.OriginOf(spelling), options.quoted);
}

absl::Status PipelineTokenizer::EncodePart(const AlignedText& part, AddedTokens which,
                                           TextPosition position, Call& call) const {
  return in_text_.Split(
      part.text,
      [&](const AddedToken& token, std::string_view spelling) {
        return IsRecognised(token, spelling, part, which, call);
      },
      [&](std::string_view between, bool is_first) {
        return EncodeBetween(part.Slice(between), which, is_first ? position : TextPosition::kStart,
                             is_first, call);
      },
      [&](int32_t id, std::string_view taken) {
        call.ids.push_back(id);
        if (call.offsets != nullptr) call.offsets->push_back(part.OriginOf(taken));
      });
}

absl::Status PipelineTokenizer::EncodeBetween(const AlignedText& between, AddedTokens which,
                                              TextPosition position, bool is_first,
                                              Call& call) const {
  Scratch& scratch = call.scratch;
  AlignedText text = between;
  if (!parts_.normalizer.empty()) {
    Alignment* alignment = call.offsets == nullptr ? nullptr : &scratch.alignment;
    if (alignment != nullptr) alignment->Reset(between);
    scratch.normalized.assign(between.text);
    RETURN_IF_ERROR(parts_.normalizer.Apply(scratch.normalized, position, scratch.match,
                                            scratch.spare, alignment));
    text = {.text = scratch.normalized,
            .ranges = alignment == nullptr ? nullptr : alignment->data()};
  }
  AlignedText source;  // the text in which the word in hand lies
  const auto encode_word = [&](std::string_view word) {
    if (call.offsets != nullptr) return EncodeAligned(word, source, call);
    if (parts_.bpe != nullptr) {
      parts_.bpe->Encode(word, *scratch.bpe, call.ids);
    } else {
      parts_.unigram->Encode(word, *scratch.unigram, call.ids);
    }
    return absl::OkStatus();
  };
  return in_normalized_.Split(
      text.text,
      [&](const AddedToken& token, std::string_view spelling) {
        return IsRecognised(token, spelling, text, which, call);
      },
      [&](std::string_view piece, bool begins) {
        using Place = PreTokenizer::Place;
        const Place place = !begins                                ? Place::kAfter
                            : position == TextPosition::kContinues ? Place::kContinues
                            : is_first                             ? Place::kFirst
                                                                   : Place::kAfter;
        source = text;
        return parts_.pre_tokenizer.Split(piece, place, scratch.match, encode_word,
                                          call.offsets == nullptr ? nullptr : &source);
      },
      [&](int32_t id, std::string_view taken) {
        call.ids.push_back(id);
        if (call.offsets != nullptr) call.offsets->push_back(text.OriginOf(taken));
      });
}

// Appends the ids of a word; the bytes of it that each stands for.
std::vector<ByteRange> PipelineTokenizer::EncodeCovered(std::string_view word, Call& call) const {
  if (parts_.bpe != nullptr) {
    const size_t first = call.ids.size();
    parts_.bpe->Encode(word, *call.scratch.bpe, call.ids);
    return parts_.bpe->CoveredBytes(word, std::span<const int32_t>(call.ids).subspan(first));
  }
  std::vector<ByteRange> covered;
  parts_.unigram->Encode(word, *call.scratch.unigram, call.ids, &covered);
  return covered;
}

absl::Status PipelineTokenizer::EncodeAligned(std::string_view word, const AlignedText& source,
                                              Call& call) const {
  const size_t first = call.ids.size();
  const std::vector<ByteRange> covered = EncodeCovered(word, call);
  for (const ByteRange& bytes : covered) {
    call.offsets->push_back(source.OriginOf(word.substr(bytes.begin, bytes.end - bytes.begin)));
  }
  if (call.options.quoted.empty()) return absl::OkStatus();
  return RespellQuoted(word, covered, source, first, call);
}

std::vector<std::string> PipelineTokenizer::Spellings(std::span<const int32_t> ids,
                                                      SpecialTokens special) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const int32_t id : ids) {
    const auto added = added_by_id_.find(id);
    if (added == added_by_id_.end()) {
      const std::string_view token = parts_.vocabulary->TokenOf(id);
      if (!token.empty()) tokens.emplace_back(token);
    } else if (special == SpecialTokens::kSpell || !added->second->special) {
      tokens.push_back(added->second->spelling);
    }
  }
  return tokens;
}

std::string PipelineTokenizer::Decode(std::span<const int32_t> ids, SpecialTokens special) const {
  return parts_.decoder.Decode(Spellings(ids, special));
}

size_t PipelineTokenizer::UncertainBytes(std::span<const int32_t> ids) const {
  const std::vector<std::string> tokens = Spellings(ids, SpecialTokens::kSkip);
  return parts_.decoder.UncertainBytes(tokens, parts_.decoder.Decode(tokens));
}

std::optional<int32_t> PipelineTokenizer::IdOf(std::string_view token) const {
  const auto added = added_ids_.find(absl::string_view(token.data(), token.size()));
  if (added != added_ids_.end()) return added->second;
  return parts_.vocabulary->IdOf(token);
}

std::string_view PipelineTokenizer::TokenOf(int32_t id) const {
  const auto added = added_by_id_.find(id);
  return added != added_by_id_.end() ? added->second->content : parts_.vocabulary->TokenOf(id);
}

bool PipelineTokenizer::IsSpecial(int32_t id) const {
  const auto added = added_by_id_.find(id);
  return added != added_by_id_.end() && added->second->special;
}

std::vector<int32_t> PipelineTokenizer::AddedIds() const {
  std::vector<int32_t> ids;
  for (const auto& [id, token] : added_by_id_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace horizon
