#include "model/stages/array_layout.h"

#include <algorithm>
#include <vector>

namespace horizon {
namespace {

Bytes BytesOf(const ArrayDescription& array, CheckedU64 rows, Bytes value_bytes) {
  constexpr Bytes kFp32Bytes = 4_B;
  return rows * CheckedU64::FromSigned(array.width) *
         (array.type == ArrayType::kActivation ? value_bytes : kFp32Bytes);
}

CheckedU64 ScratchRows(const ArrayDescription& array, CheckedU64 tokens, uint64_t piece_tokens) {
  const bool one_piece = tokens.ok() && tokens.value() <= piece_tokens;
  switch (array.rows) {
    case ArrayRows::kTokens:
      return tokens;
    case ArrayRows::kPiece:
      return one_piece ? tokens : CheckedU64(piece_tokens);
    case ArrayRows::kOne:
      return one_piece ? 0 : 1;
    case ArrayRows::kAlways:
      return 1;
  }
  return tokens;
}

// Scalars are stored after the other arrays, so that these begin at multiples of what their widths
// are multiples of.
bool IsScalar(const ArrayDescription& array) { return array.type == ArrayType::kScalar; }

LiveRange LiveRangeOf(const ArrayDescription& array, ScratchPass pass) {
  if (pass == ScratchPass::kBackward) return array.kept ? LiveRange() : array.backward;
  return array.kept && pass == ScratchPass::kKeepingForward ? LiveRange() : array.forward;
}

struct Placed {
  const ArrayDescription* array = nullptr;
  LiveRange use;
  Bytes bytes;
  uint64_t offset = 0;
  uint64_t end() const { return offset + bytes.value(); }
};

// The lowest offset at which no array that is live at the same time is stored.
uint64_t LowestPlace(const std::vector<Placed>& placed, const Placed& next) {
  uint64_t offset = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (const Placed& other : placed) {
      if (!other.use.Overlaps(next.use)) continue;
      if (offset < other.end() && other.offset < offset + next.bytes.value()) {
        offset = other.end();
        moved = true;
      }
    }
  }
  return offset;
}

// The larger an array, and the longer it is live, the earlier it is placed: the usual rule for
// such packings, which is not always the best one and never worse than no sharing.
bool ComesBefore(const Placed& a, const Placed& b) {
  if (IsScalar(*a.array) != IsScalar(*b.array)) return IsScalar(*b.array);
  if (a.bytes != b.bytes) return a.bytes > b.bytes;
  const int a_length = a.use.last - a.use.first;
  const int b_length = b.use.last - b.use.first;
  if (a_length != b_length) return a_length > b_length;
  return a.array->role < b.array->role;
}

}  // namespace

void ArrayLayout::Put(const ArrayDescription& array, CheckedU64 offset, Bytes bytes,
                      bool all_tokens) {
  places_[static_cast<size_t>(array.role)] = {.laid_out = true,
                                              .type = array.type,
                                              .offset = offset.value(),
                                              .bytes = bytes,
                                              .token_stride = all_tokens ? array.width : 0};
  const Bytes end = Bytes(offset) + bytes;
  bytes_ = std::max(bytes_, end);
}

ArrayLayout ArrayLayout::Kept(const ArrayDescriptions& arrays, CheckedU64 tokens,
                              Bytes value_bytes) {
  ArrayLayout layout;
  for (const bool scalars : {false, true}) {
    for (const ArrayDescription& array : arrays) {
      if (!array.kept || IsScalar(array) != scalars) continue;
      layout.Put(array, layout.bytes_.count(), BytesOf(array, tokens, value_bytes),
                 /*all_tokens=*/true);
    }
  }
  return layout;
}

ArrayLayout ArrayLayout::Scratch(const ArrayDescriptions& arrays, ScratchPass pass,
                                 CheckedU64 tokens, Bytes value_bytes, int64_t piece_tokens) {
  ArrayLayout layout;
  std::vector<Placed> waiting;
  Bytes all;
  for (const ArrayDescription& array : arrays) {
    const LiveRange use = LiveRangeOf(array, pass);
    if (use.empty()) continue;
    const CheckedU64 rows = ScratchRows(array, tokens, static_cast<uint64_t>(piece_tokens));
    if (array.rows == ArrayRows::kOne && rows.value() == 0) continue;
    const Bytes bytes = BytesOf(array, rows, value_bytes);
    all += bytes;
    waiting.push_back({.array = &array, .use = use, .bytes = bytes});
  }
  if (!all.ok()) {
    layout.bytes_ = all;
    return layout;
  }
  std::sort(waiting.begin(), waiting.end(), ComesBefore);
  std::vector<Placed> placed;
  for (Placed& next : waiting) {
    next.offset = LowestPlace(placed, next);
    placed.push_back(next);
    layout.Put(*next.array, next.offset, next.bytes, next.array->rows == ArrayRows::kTokens);
  }
  return layout;
}

}  // namespace horizon
