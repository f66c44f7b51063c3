#include "model/tokenizer/unigram.h"

#include <algorithm>
#include <limits>
#include <string>

#include "common/check.h"
#include "common/text/utf8.h"
#include "model/tokenizer/text/fallback_token.h"

namespace horizon {
namespace {

constexpr int32_t kNone = -1;
constexpr double kUnknownPenalty = 10;  // kUnkPenalty of SentencePiece's unigram_model.cc
// Where all ways meet, what is behind is given out once this many bytes are kept.
constexpr size_t kKeptNodes = 4096;

size_t PairAt(std::string_view text) {
  return size_t{static_cast<unsigned char>(text[0])} * 256 + static_cast<unsigned char>(text[1]);
}

}  // namespace

// What a word becomes. Unknown characters wait until their run ends.
struct Unigram::Output {
  std::vector<int32_t>& ids;
  std::vector<ByteRange>* covered;
  ByteRange run;  // empty: none waits
};

Unigram::Unigram(const Vocabulary& vocabulary, const std::vector<double>& scores,
                 const UnigramOptions& options)
    : vocabulary_(vocabulary), options_(options), begins_(size_t{256} * 256) {
  CHECK(scores.size() == vocabulary.size());
  double lowest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < scores.size(); ++i) {
    const Vocabulary::Entry& entry = vocabulary.entries()[i];
    lowest = std::min(lowest, scores[i]);
    const std::string_view token(entry.token.data(), entry.token.size());
    if (token.empty() || vocabulary.IdOf(token) != entry.id) continue;
    pieces_.push_back({token, entry.id, scores[i]});
  }
  unknown_score_ = lowest - kUnknownPenalty;
  std::sort(pieces_.begin(), pieces_.end(),
            [](const Piece& a, const Piece& b) { return a.text < b.text; });
  single_.fill(kNone);
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const std::string_view text = pieces_[i].text;
    if (text.size() == 1) {
      single_[static_cast<unsigned char>(text[0])] = static_cast<int32_t>(i);
      continue;
    }
    auto& [begin, end] = begins_[PairAt(text)];
    if (begin == end) begin = static_cast<uint32_t>(i);
    end = static_cast<uint32_t>(i) + 1;
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    fallback_[byte] = vocabulary.IdOf(FallbackToken(byte)).value_or(kNone);
  }
}

// The pieces that `text` begins with, from short to long.
template <typename OnPiece>
void Unigram::VisitPieces(std::string_view text, OnPiece on_piece) const {
  const int32_t single = single_[static_cast<unsigned char>(text[0])];
  if (single != kNone) on_piece(pieces_[static_cast<size_t>(single)]);
  if (text.size() < 2) return;
  auto [begin, end] = begins_[PairAt(text)];
  // Of the pieces that share a beginning, the one that is all of it comes first.
  for (size_t size = 2; begin < end; ++size) {
    if (pieces_[begin].text.size() == size) on_piece(pieces_[begin++]);
    if (size == text.size()) return;
    const auto next = static_cast<unsigned char>(text[size]);
    const auto byte_of = [size](const Piece& piece) {
      return static_cast<unsigned char>(piece.text[size]);
    };
    const auto first = pieces_.begin() + begin;
    const auto last = pieces_.begin() + end;
    const auto low = std::partition_point(
        first, last, [&](const Piece& piece) { return byte_of(piece) < next; });
    const auto high =
        std::partition_point(low, last, [&](const Piece& piece) { return byte_of(piece) == next; });
    begin = static_cast<uint32_t>(low - pieces_.begin());
    end = static_cast<uint32_t>(high - pieces_.begin());
  }
}

void Unigram::Encode(std::string_view word, Memory& memory, std::vector<int32_t>& ids,
                     std::vector<ByteRange>* covered) const {
  Output output{.ids = ids, .covered = covered, .run = {}};
  if (covered != nullptr || word.size() > WordCache::kMaxWordBytes) {
    return EncodeUncached(word, memory, output);
  }
  if (const std::span<const int32_t> known = memory.cache.Find(word); !known.empty()) {
    ids.insert(ids.end(), known.begin(), known.end());
    return;
  }
  const size_t before = ids.size();
  EncodeUncached(word, memory, output);
  memory.cache.Put(word, std::span<const int32_t>(ids).subspan(before));
}

void Unigram::EncodeUncached(std::string_view word, Memory& memory, Output& output) const {
  size_t base = 0;   // the nodes are those from here on
  size_t reach = 0;  // where the furthest piece so far ends
  memory.nodes.assign(1, {});
  for (size_t at = 0; at < word.size();) {
    if (reach == at && at - base >= kKeptNodes) {
      TakeBestPath(word, base, memory, output);
      memory.nodes.assign(1, {.score = memory.nodes.back().score});
      base = at;
    }
    reach = std::max(reach, Extend(word, base, at, memory));
    at += Utf8Length(word.substr(at));
  }
  TakeBestPath(word, base, memory, output);
  AppendRun(word, output);
}

// Offers every piece that begins at `at` as the last one of a way to its end; says where the
// furthest ends.
size_t Unigram::Extend(std::string_view word, size_t base, size_t at, Memory& memory) const {
  const std::string_view rest = word.substr(at);
  const size_t character = Utf8Length(rest);
  const double score = memory.nodes[at - base].score;
  size_t reach = at + character;
  bool has_character = false;
  const auto offer = [&](size_t size, int32_t id, double piece_score) {
    const size_t place = at - base + size;
    if (memory.nodes.size() <= place) memory.nodes.resize(place + 1);
    Memory::Node& node = memory.nodes[place];
    if (node.size != 0 && score + piece_score <= node.score) return;
    node = {.score = score + piece_score, .size = static_cast<uint32_t>(size), .id = id};
  };
  VisitPieces(rest, [&](const Piece& piece) {
    offer(piece.text.size(), piece.id, piece.score);
    reach = std::max(reach, at + piece.text.size());
    has_character = has_character || piece.text.size() == character;
  });
  if (!has_character) offer(character, options_.unknown_id, unknown_score_);
  return reach;
}

// Gives out the pieces from `base` to the last node.
void Unigram::TakeBestPath(std::string_view word, size_t base, Memory& memory,
                           Output& output) const {
  memory.path.clear();
  for (size_t place = memory.nodes.size() - 1; place > 0; place -= memory.nodes[place].size) {
    memory.path.push_back(static_cast<uint32_t>(place));
  }
  for (size_t i = memory.path.size(); i-- > 0;) {
    const Memory::Node& node = memory.nodes[memory.path[i]];
    const size_t end = base + memory.path[i];
    const size_t begin = end - node.size;
    if (node.id == options_.unknown_id) {
      if (output.run.begin == output.run.end) output.run.begin = begin;
      output.run.end = end;
      continue;
    }
    AppendRun(word, output);
    output.ids.push_back(node.id);
    if (output.covered != nullptr) output.covered->push_back({begin, end});
  }
}

// A run of unknown pieces is one token: the one that the vocabulary spells like it, or the unknown
// one; or, first, the tokens of its bytes.
void Unigram::AppendRun(std::string_view word, Output& output) const {
  const ByteRange run = output.run;
  if (run.begin == run.end) return;
  output.run = {};
  const std::string_view text = word.substr(run.begin, run.end - run.begin);
  const auto id_of = [this](char byte) { return fallback_[static_cast<unsigned char>(byte)]; };
  const std::optional<int32_t> known = vocabulary_.IdOf(text);
  if (!known.has_value() && options_.byte_fallback &&
      std::all_of(text.begin(), text.end(), [&](char c) { return id_of(c) != kNone; })) {
    for (size_t i = 0; i < text.size(); ++i) {
      output.ids.push_back(id_of(text[i]));
      if (output.covered != nullptr) {
        output.covered->push_back({run.begin + i, run.begin + i + 1});
      }
    }
    return;
  }
  output.ids.push_back(known.value_or(options_.unknown_id));
  if (output.covered != nullptr) output.covered->push_back(run);
}

}  // namespace horizon
