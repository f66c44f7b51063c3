#include "model/tokenizer/bpe.h"

#include <algorithm>
#include <limits>
#include <string>

#include "common/text/utf8.h"
#include "model/tokenizer/text/byte_alphabet.h"
#include "model/tokenizer/text/fallback_token.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

constexpr uint32_t kNoRank = std::numeric_limits<uint32_t>::max();
constexpr int32_t kNone = -1;
// Up to here looking at all pairs each time is quicker than a heap.
constexpr size_t kShortWord = 48;

uint64_t PairOf(int32_t left, int32_t right) {
  return (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
}

absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

// The heap's top is the lowest rank, of equal ones the leftmost.
bool IsWorse(const Bpe::Memory::Candidate& a, const Bpe::Memory::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.place > b.place;
}

void AddSymbol(int32_t id, Bpe::Memory& memory) {
  const auto place = static_cast<int32_t>(memory.symbols.size());
  memory.symbols.push_back({.id = id, .previous = place - 1, .next = place + 1});
}

}  // namespace

Bpe::Bpe(const Vocabulary& vocabulary, const BpeOptions& options)
    : vocabulary_(vocabulary), options_(options) {
  for (const Vocabulary::Entry& entry : vocabulary.entries()) {
    const std::string_view token(entry.token.data(), entry.token.size());
    if (token.empty() || Utf8Length(token) != token.size()) continue;
    size_t at = 0;
    characters_.emplace(NextCharacter(token, at), entry.id);
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    fallback_[byte] = vocabulary.IdOf(FallbackToken(byte)).value_or(kNone);
  }
}

void Bpe::AddMerge(int32_t left, int32_t right, uint32_t rank, int32_t merged) {
  merges_[PairOf(left, right)] = {rank, merged};
}

bool Bpe::UseRawBytes() {
  const ByteAlphabet alphabet;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto found = characters_.find(alphabet.CharacterOf(static_cast<unsigned char>(byte)));
    if (found == characters_.end()) return false;
    bytes_[byte] = found->second;
  }
  uses_raw_bytes_ = true;
  if (!options_.ignores_merges) return true;
  std::vector<int32_t> ids;
  for (const Vocabulary::Entry& entry : vocabulary_.entries()) {
    std::optional<std::string> bytes = alphabet.Read({entry.token.data(), entry.token.size()});
    if (!bytes.has_value()) continue;
    byte_words_.push_back(*std::move(bytes));
    ids.push_back(entry.id);
  }
  words_.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) words_.emplace(ToAbsl(byte_words_[i]), ids[i]);
  return true;
}

const Bpe::Merge* Bpe::FindMerge(int32_t left, int32_t right) const {
  const auto found = merges_.find(PairOf(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void Bpe::Encode(std::string_view word, Memory& memory, std::vector<int32_t>& ids) const {
  if (word.size() > WordCache::kMaxWordBytes) return EncodeUncached(word, memory, ids);
  if (const std::span<const int32_t> known = memory.cache.Find(word); !known.empty()) {
    ids.insert(ids.end(), known.begin(), known.end());
    return;
  }
  const size_t before = ids.size();
  EncodeUncached(word, memory, ids);
  memory.cache.Put(word, std::span<const int32_t>(ids).subspan(before));
}

std::optional<int32_t> Bpe::WholeWord(std::string_view word) const {
  if (!options_.ignores_merges) return std::nullopt;
  if (!uses_raw_bytes_) return vocabulary_.IdOf(word);
  const auto whole = words_.find(ToAbsl(word));
  if (whole == words_.end()) return std::nullopt;
  return whole->second;
}

void Bpe::EncodeUncached(std::string_view word, Memory& memory, std::vector<int32_t>& ids) const {
  if (const std::optional<int32_t> whole = WholeWord(word)) return ids.push_back(*whole);
  ListSymbols(word, memory);
  if (memory.symbols.empty()) return;
  memory.symbols.back().next = kNone;
  if (memory.symbols.size() <= kShortWord) {
    MergeShort(memory);
    for (const Memory::Symbol& symbol : memory.symbols) ids.push_back(symbol.id);
    return;
  }
  MergeLong(memory);
  // The first symbol of a pair is the one that stays, so the first of all is always there.
  for (int32_t place = 0; place != kNone;) {
    const Memory::Symbol& symbol = memory.symbols[static_cast<size_t>(place)];
    ids.push_back(symbol.id);
    place = symbol.next;
  }
}

void Bpe::ListSymbols(std::string_view word, Memory& memory) const {
  memory.symbols.clear();
  VisitUnits(word, [&](const Unit& unit) { AddSymbol(unit.id, memory); });
}

template <typename OnUnit>
void Bpe::VisitUnits(std::string_view word, OnUnit on_unit) const {
  if (uses_raw_bytes_) {
    for (size_t at = 0; at < word.size(); ++at) {
      on_unit(Unit{bytes_[static_cast<unsigned char>(word[at])], {at, at + 1}});
    }
    return;
  }
  Unit unknown{.id = kNone};
  for (size_t at = 0; at < word.size();) {
    const size_t begin = at;
    const auto found = characters_.find(NextCharacter(word, at));
    if (found == characters_.end()) {
      VisitUnknown(word, {begin, at}, unknown, on_unit);
      continue;
    }
    if (unknown.id != kNone) on_unit(unknown);
    unknown.id = kNone;
    on_unit(Unit{found->second, {begin, at}});
  }
  if (unknown.id != kNone) on_unit(unknown);
}

// An unknown token waits in `pending` (no id: none waits) to be fused with the next one. The tokens
// of bytes do not flush it, as they do not in the library.
template <typename OnUnit>
void Bpe::VisitUnknown(std::string_view word, ByteRange character, Unit& pending,
                       OnUnit on_unit) const {
  const auto id_at = [&](size_t at) { return fallback_[static_cast<unsigned char>(word[at])]; };
  bool falls_back = options_.byte_fallback;
  for (size_t at = character.begin; at < character.end; ++at) {
    falls_back = falls_back && id_at(at) != kNone;
  }
  if (falls_back) {
    for (size_t at = character.begin; at < character.end; ++at) {
      on_unit(Unit{id_at(at), {at, at + 1}});
    }
    return;
  }
  if (!options_.unknown_id.has_value()) return;
  if (pending.id != kNone && options_.fuses_unknown) {
    pending.bytes.end = character.end;
    return;
  }
  if (pending.id != kNone) on_unit(pending);
  pending = Unit{*options_.unknown_id, character};
}

// A token is spelled as the units it was merged of are, one after the other.
std::vector<ByteRange> Bpe::CoveredBytes(std::string_view word,
                                         std::span<const int32_t> ids) const {
  if (ids.size() == 1 && WholeWord(word) == ids[0]) return {{0, word.size()}};
  std::vector<ByteRange> covered;
  covered.reserve(ids.size());
  size_t missing = 0;  // bytes of the spelling of the token in hand that no unit has given yet
  VisitUnits(word, [&](const Unit& unit) {
    if (missing == 0) {
      if (covered.size() == ids.size()) return;
      missing = vocabulary_.TokenOf(ids[covered.size()]).size();
      covered.push_back(unit.bytes);
    }
    covered.back().begin = std::min(covered.back().begin, unit.bytes.begin);
    covered.back().end = std::max(covered.back().end, unit.bytes.end);
    missing -= std::min(missing, vocabulary_.TokenOf(unit.id).size());
  });
  covered.resize(ids.size(), {word.size(), word.size()});
  return covered;
}

void Bpe::MergeShort(Memory& memory) const {
  std::vector<Memory::Symbol>& symbols = memory.symbols;
  const auto rank_at = [&](size_t i) {
    if (i + 1 >= symbols.size()) return kNoRank;
    const Merge* merge = FindMerge(symbols[i].id, symbols[i + 1].id);
    return merge == nullptr ? kNoRank : merge->rank;
  };
  for (size_t i = 0; i < symbols.size(); ++i) symbols[i].rank = rank_at(i);
  while (true) {
    size_t best = 0;
    for (size_t i = 1; i < symbols.size(); ++i) {
      if (symbols[i].rank < symbols[best].rank) best = i;
    }
    if (symbols[best].rank == kNoRank) return;
    symbols[best].id = FindMerge(symbols[best].id, symbols[best + 1].id)->id;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    symbols[best].rank = rank_at(best);
    if (best > 0) symbols[best - 1].rank = rank_at(best - 1);
  }
}

// Offers the pair that begins at `place` to the heap.
void Bpe::Offer(int32_t place, Memory& memory) const {
  const Memory::Symbol& symbol = memory.symbols[static_cast<size_t>(place)];
  if (symbol.next == kNone) return;
  const int32_t next_id = memory.symbols[static_cast<size_t>(symbol.next)].id;
  const Merge* merge = FindMerge(symbol.id, next_id);
  if (merge == nullptr) return;
  memory.heap.push_back({.rank = merge->rank, .place = place, .id = merge->id});
}

void Bpe::MergeLong(Memory& memory) const {
  std::vector<Memory::Symbol>& symbols = memory.symbols;
  std::vector<Memory::Candidate>& heap = memory.heap;
  heap.clear();
  for (size_t i = 0; i + 1 < symbols.size(); ++i) Offer(static_cast<int32_t>(i), memory);
  std::make_heap(heap.begin(), heap.end(), IsWorse);
  const auto offer = [&](int32_t place) {
    const size_t before = heap.size();
    Offer(place, memory);
    if (heap.size() > before) std::push_heap(heap.begin(), heap.end(), IsWorse);
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), IsWorse);
    const Memory::Candidate candidate = heap.back();
    heap.pop_back();
    Memory::Symbol& left = symbols[static_cast<size_t>(candidate.place)];
    // Candidates whose pair is no longer there are left in the heap and passed over here.
    if (left.id == kNone || left.next == kNone) continue;
    Memory::Symbol& right = symbols[static_cast<size_t>(left.next)];
    const Merge* merge = FindMerge(left.id, right.id);
    if (merge == nullptr || merge->id != candidate.id) continue;
    left.id = candidate.id;
    left.next = right.next;
    right.id = kNone;
    if (left.next != kNone) symbols[static_cast<size_t>(left.next)].previous = candidate.place;
    if (left.previous != kNone) offer(left.previous);
    offer(candidate.place);
  }
}

}  // namespace horizon
