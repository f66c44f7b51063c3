#include "model/tokenizer/bpe_tokenizer.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"
#include "model/tokenizer/unicode_text.h"

namespace horizon {
namespace {

// A text this long leaves its room behind for the next; the room of a longer one is given back.
constexpr size_t kKeptBytes = size_t{1} << 20;
constexpr size_t kKeptSymbols = size_t{1} << 16;

template <typename Container>
void GiveBack(Container& container, size_t kept) {
  if (container.capacity() <= kept) return;
  container.clear();
  container.shrink_to_fit();
}

}  // namespace

class BpeTokenizer::Lease {
 public:
  explicit Lease(const BpeTokenizer& owner) : owner_(owner) {
    {
      const std::lock_guard lock(owner.mutex_);
      if (!owner.free_.empty()) {
        scratch_ = std::move(owner.free_.back());
        owner.free_.pop_back();
      }
    }
    if (scratch_ == nullptr) scratch_ = std::make_unique<Scratch>();
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    GiveBack(scratch_->bpe.symbols, kKeptSymbols);
    GiveBack(scratch_->bpe.heap, kKeptSymbols);
    GiveBack(scratch_->valid, kKeptBytes);
    GiveBack(scratch_->normalized, kKeptBytes);
    GiveBack(scratch_->spare, kKeptBytes);
    const std::lock_guard lock(owner_.mutex_);
    owner_.free_.push_back(std::move(scratch_));
  }
  Scratch& operator*() { return *scratch_; }

 private:
  const BpeTokenizer& owner_;
  std::unique_ptr<Scratch> scratch_;
};

absl::StatusOr<std::unique_ptr<BpeTokenizer>> BpeTokenizer::Create(BpeTokenizerParts parts) {
  std::unique_ptr<BpeTokenizer> tokenizer(new BpeTokenizer(std::move(parts)));
  RETURN_IF_ERROR(tokenizer->IndexAddedTokens());
  return tokenizer;
}

absl::Status BpeTokenizer::IndexAddedTokens() {
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
    }
  }
  return absl::OkStatus();
}

absl::Status BpeTokenizer::Encode(std::string_view text, const EncodeOptions& options,
                                  std::vector<int32_t>& ids) const {
  Lease lease(*this);
  Scratch& scratch = *lease;
  const std::string_view valid = WithValidUtf8(text, scratch.valid);
  return in_text_.Split(
      valid, options.added,
      [&](std::string_view between, bool is_first) {
        const TextPosition position = is_first ? options.position : TextPosition::kStart;
        return EncodeBetween(between, position, is_first, options.added, scratch, ids);
      },
      [&](int32_t id) { ids.push_back(id); });
}

absl::Status BpeTokenizer::EncodeBetween(std::string_view text, TextPosition position,
                                         bool is_first, AddedTokens which, Scratch& scratch,
                                         std::vector<int32_t>& ids) const {
  if (!parts_.normalizer.empty()) {
    scratch.normalized.assign(text);
    RETURN_IF_ERROR(
        parts_.normalizer.Apply(scratch.normalized, position, scratch.match, scratch.spare));
    text = scratch.normalized;
  }
  const auto encode_word = [&](std::string_view word) {
    parts_.bpe->Encode(word, scratch.bpe, ids);
    return absl::OkStatus();
  };
  return in_normalized_.Split(
      text, which,
      [&](std::string_view between, bool begins) {
        using Place = PreTokenizer::Place;
        const Place place = !begins                                ? Place::kAfter
                            : position == TextPosition::kContinues ? Place::kContinues
                            : is_first                             ? Place::kFirst
                                                                   : Place::kAfter;
        return parts_.pre_tokenizer.Split(between, place, scratch.match, encode_word);
      },
      [&](int32_t id) { ids.push_back(id); });
}

std::vector<std::string> BpeTokenizer::Spellings(std::span<const int32_t> ids,
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

std::string BpeTokenizer::Decode(std::span<const int32_t> ids, SpecialTokens special) const {
  return parts_.decoder.Decode(Spellings(ids, special));
}

size_t BpeTokenizer::UncertainBytes(std::span<const int32_t> ids) const {
  const std::vector<std::string> tokens = Spellings(ids, SpecialTokens::kSkip);
  return parts_.decoder.UncertainBytes(tokens, parts_.decoder.Decode(tokens));
}

std::optional<int32_t> BpeTokenizer::IdOf(std::string_view token) const {
  const auto added = added_ids_.find(absl::string_view(token.data(), token.size()));
  if (added != added_ids_.end()) return added->second;
  return parts_.vocabulary->IdOf(token);
}

std::string_view BpeTokenizer::TokenOf(int32_t id) const {
  const auto added = added_by_id_.find(id);
  return added != added_by_id_.end() ? added->second->content : parts_.vocabulary->TokenOf(id);
}

bool BpeTokenizer::IsSpecial(int32_t id) const {
  const auto added = added_by_id_.find(id);
  return added != added_by_id_.end() && added->second->special;
}

}  // namespace horizon
