#include <algorithm>
#include <limits>

#include "common/text/str_cat.h"
#include "kernels/experts/dispatch.h"
#include "kernels/host/pieces.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/experts/dispatch_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {
namespace {

// Rows that are added together. They are read side by side, because memory delivers several streams
// faster than one.
constexpr int kMostStreams = 8;

// sum = (with `add` what it holds, otherwise 0) + rows[0] + rows[1] + ...
void AddStreams(const float* const* rows, int count, bool add, int64_t width, float* sum) {
  const F32 f32;
  ForEachVector(width, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    F32Vec total = add ? LoadPart(f32, sum + i, n) : hn::Zero(f32);
    for (int r = 0; r < count; ++r) total = hn::Add(total, LoadPart(f32, rows[r] + i, n));
    StorePart(f32, total, sum + i, n);
  });
}

void CombineToken(const CombinePairs& args, const float* rows, int64_t token) {
  const int32_t* chosen = args.chosen + token * args.per_token;
  const int32_t* pair_rows = args.pair_rows + token * args.per_token;
  float* sum = args.sum + token * args.width;
  const float* streams[kMostStreams];
  int count = 0;
  bool add = args.add;
  for (int64_t i = 0; i < args.per_token; ++i) {
    const int64_t at = args.order == CombineOrder::kAscending ? i : args.per_token - 1 - i;
    if (chosen[at] < args.first_expert || chosen[at] >= args.end_expert) continue;
    streams[count++] = rows + int64_t{pair_rows[at]} * args.width;
    if (count < kMostStreams) continue;
    AddStreams(streams, count, add, args.width, sum);
    count = 0;
    add = true;
  }
  if (count > 0 || !add) AddStreams(streams, count, add, args.width, sum);
}

void CombineTokens(const CombinePairs& args, int64_t first, int64_t count) {
  const float* rows = args.rows;
  for (int64_t token = first; token < first + count; ++token) CombineToken(args, rows, token);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(CombineTokens);

absl::Status CheckSizes(int64_t tokens, int64_t per_token, int64_t experts) {
  constexpr int64_t kMostPairs = std::numeric_limits<int32_t>::max();
  if (tokens >= 0 && per_token > 0 && per_token <= experts && experts < kMostPairs &&
      tokens <= kMostPairs / per_token) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      StrCat("sorting the pairs of ", tokens, " tokens with ", per_token, " of ", experts,
             " experts each: sizes are impossible, or there are 2^31 pairs or more"));
}

// Chosen experts are used as indices, so they are looked at.
absl::Status CheckChosen(const Dispatch& args) {
  const int32_t* chosen = args.chosen;
  for (int64_t token = 0; token < args.tokens; ++token, chosen += args.per_token) {
    int32_t before = -1;
    for (int64_t i = 0; i < args.per_token; ++i) {
      if (chosen[i] <= before || chosen[i] >= args.experts) {
        return absl::InvalidArgumentError(StrCat(
            "sorting pairs by expert: number ", i, " of token ", token, " is expert ", chosen[i],
            " of ", args.experts, ", after expert ", before, "; a token's experts ascend"));
      }
      before = chosen[i];
    }
  }
  return absl::OkStatus();
}

}  // namespace

// One thread does it: sorting takes some ten nanoseconds a pair, and the multiplies of a pair
// hundreds of times that.
absl::Status DispatchHost(const KernelContext&, const Dispatch& args) {
  if (absl::Status status = CheckSizes(args.tokens, args.per_token, args.experts); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckChosen(args); !status.ok()) return status;
  const int64_t pairs = args.tokens * args.per_token;
  // begins[e + 1] counts the pairs of expert e, and then is the row after the last one that was
  // given out, which ends as the begin of the next expert.
  std::fill_n(args.begins, args.experts + 1, 0);
  for (int64_t pair = 0; pair < pairs; ++pair) ++args.begins[args.chosen[pair] + 1];
  int32_t row = 0;
  for (int64_t e = 0; e < args.experts; ++e) {
    const int32_t count = args.begins[e + 1];
    args.begins[e + 1] = row;
    row += count;
  }
  for (int64_t pair = 0, token = 0; token < args.tokens; ++token) {
    for (int64_t i = 0; i < args.per_token; ++i, ++pair) {
      const int32_t at = args.begins[args.chosen[pair] + 1]++;
      args.row_pairs[at] = static_cast<int32_t>(pair);
      args.row_tokens[at] = static_cast<int32_t>(token);
      args.pair_rows[pair] = at;
    }
  }
  return absl::OkStatus();
}

absl::Status CombinePairsHost(const KernelContext& context, const CombinePairs& args) {
  if (args.tokens < 0 || args.per_token <= 0 || args.width < 0 || args.first_expert < 0 ||
      args.end_expert < args.first_expert) {
    return absl::InvalidArgumentError(StrCat(
        "adding up rows of ", args.width, " of ", args.tokens, " tokens with ", args.per_token,
        " experts each, of experts ", args.first_expert, " to ", args.end_expert));
  }
  const int64_t token_bytes =
      (args.per_token + 1) * args.width * static_cast<int64_t>(sizeof(float));
  RunPieces(context, args.tokens, RowsPerPiece(token_bytes), [&](int64_t first, int64_t count) {
    HWY_DYNAMIC_DISPATCH(CombineTokens)(args, first, count);
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE
