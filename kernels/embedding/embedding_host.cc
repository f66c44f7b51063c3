#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "common/check.h"
#include "kernels/embedding/embedding.h"
#include "kernels/host/pieces.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/embedding/embedding_host.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

#ifndef HORIZON_KERNELS_EMBEDDING_HOST_ONCE
#define HORIZON_KERNELS_EMBEDDING_HOST_ONCE
namespace horizon {
namespace {

// What a piece of work sums up at a time.
constexpr int64_t kColumns = 512;

struct ColumnRange {
  int64_t first = 0;
  int64_t count = 0;
};

}  // namespace
}  // namespace horizon
#endif

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {
namespace {

// output = scale x row; `output` may be `row`.
void ScaleRow(const float* row, float scale, int64_t count, float* output) {
  const F32Vec factor = hn::Set(F32(), scale);
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    StorePart(F32(), hn::Mul(factor, LoadPart(F32(), row + i, n)), output + i, n);
  });
}

void ScaleBf16Row(const uint16_t* row, float scale, int64_t count, uint16_t* output) {
  const F32Vec factor = hn::Set(F32(), scale);
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    const F32Vec values = ExpandBf16(LoadPart(U16(), row + i, n));
    StorePart(U16(), ToBf16(hn::Mul(factor, values)), output + i, n);
  });
}

void ExpandRow(const uint16_t* hi, const int16_t* lo, float scale, int64_t count, float* output) {
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    I32Vec bits = hn::BitCast(I32(), ExpandBf16(LoadPart(U16(), hi + i, n)));
    if (lo != nullptr) bits = hn::Add(bits, hn::PromoteTo(I32(), LoadPart(I16(), lo + i, n)));
    StorePart(F32(), hn::BitCast(F32(), bits), output + i, n);
  });
  if (scale != 1.0f) ScaleRow(output, scale, count, output);
}

F32Vec LoadRow(const float* row, int64_t n) { return LoadPart(F32(), row, n); }
F32Vec LoadRow(const uint16_t* row, int64_t n) { return ExpandBf16(LoadPart(U16(), row, n)); }

template <typename T>
void SumChain(const TokenRecord* records, const T* gradients, int64_t hidden, int64_t first,
              ColumnRange columns, float* sums) {
  const T* first_row = gradients + first * hidden + columns.first;
  ForEachVector(columns.count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    StorePart(F32(), LoadRow(first_row + i, n), sums + i, n);
  });
  for (int64_t t = records[first].next_same; t >= 0; t = records[t].next_same) {
    const T* row = gradients + t * hidden + columns.first;
    ForEachVector(columns.count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
      const F32Vec sum = hn::Add(LoadPart(F32(), sums + i, n), LoadRow(row + i, n));
      StorePart(F32(), sum, sums + i, n);
    });
  }
}

// sums[c] of the columns over the id whose first position is `first`, in ascending order, times
// scale.
template <typename Args>
void SumRow(const Args& args, ConstValues gradients, int64_t first, ColumnRange columns,
            float* sums) {
  if (gradients.type() == ValueType::kBf16) {
    SumChain(args.records, gradients.bf16(), args.hidden, first, columns, sums);
  } else {
    SumChain(args.records, gradients.fp32(), args.hidden, first, columns, sums);
  }
  if (args.scale != 1.0f) ScaleRow(sums, args.scale, columns.count, sums);
}

// The id's row in an array of gradients.
void StoreRow(const EmbedBackward& args, int64_t token, ColumnRange columns) {
  float sums[kColumns];
  SumRow(args, args.output_gradient, token, columns, sums);
  const int64_t row = args.records[token].id - args.first_row;
  StoreGradients(args.gradient.From(row * args.hidden + columns.first), sums, columns.count);
}

void ScatterRow(const ScatterRows& args, int64_t token, ColumnRange columns) {
  float sums[kColumns];
  SumRow(args, args.row_gradients, token, columns, sums);
  const int64_t row = args.records[token].id - args.first_row;
  const int64_t at = row * args.hidden + columns.first;
  if (args.kept_fp32 != nullptr) {
    const GradientOut out = {
        .sum = args.kept_fp32 + at, .add = !args.clear, .rounded = args.rounded};
    return StoreGradients(out, sums, columns.count);
  }
  ForEachVector(columns.count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    F32Vec sum = LoadPart(F32(), sums + i, n);
    uint16_t* kept = args.kept_bf16 + at + i;
    if (args.rounded) sum = RoundedToBf16(sum);
    if (!args.clear) sum = hn::Add(ExpandBf16(LoadPart(U16(), kept, n)), sum);
    StorePart(U16(), ToBf16(sum), kept, n);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(ScaleRow);
HWY_EXPORT(ScaleBf16Row);
HWY_EXPORT(ExpandRow);
HWY_EXPORT(StoreRow);
HWY_EXPORT(ScatterRow);

constexpr int64_t kTokensOfPiece = 32;

bool IsIn(int64_t id, int64_t first_row, int64_t rows) {
  return id >= first_row && id < first_row + rows;
}

int64_t RowBytes(int64_t hidden) { return hidden * static_cast<int64_t>(sizeof(float)); }

// Calls copy(row, output) for tokens of this shard, and clears the others' rows in the first one.
template <typename T, class Args, class Copy>
void Look(const KernelContext& context, const Args& args, T* outputs, const Copy& copy) {
  CHECK(args.tokens >= 0 && args.hidden >= 0 && args.rows >= 0);
  RunPieces(context, args.tokens, RowsPerPiece(RowBytes(args.hidden)),
            [&](int64_t first, int64_t count) {
              for (int64_t t = first; t < first + count; ++t) {
                T* output = outputs + t * args.hidden;
                const int64_t id = args.records[t].id;
                if (IsIn(id, args.first_row, args.rows)) {
                  copy(id - args.first_row, output);
                } else if (args.first_row == 0) {
                  std::fill_n(output, args.hidden, T{0});
                }
              }
            });
}

// Calls sum(token, columns) for the first positions of ids of this shard. A piece has tokens and
// columns, so that an id that fills the batch is shared too; an element is summed by one call.
template <class Args, class Sum>
void SumFirsts(const KernelContext& context, const Args& args, const Sum& sum) {
  const int64_t column_pieces = (args.hidden + kColumns - 1) / kColumns;
  const int64_t token_pieces = (args.tokens + kTokensOfPiece - 1) / kTokensOfPiece;
  context.workers->Run(token_pieces * column_pieces, [&](int64_t piece, int) {
    const int64_t column = piece % column_pieces * kColumns;
    const ColumnRange columns = {column, std::min(kColumns, args.hidden - column)};
    const int64_t first = piece / column_pieces * kTokensOfPiece;
    for (int64_t t = first; t < std::min(args.tokens, first + kTokensOfPiece); ++t) {
      const TokenRecord& record = args.records[t];
      if (record.is_first != 0 && IsIn(record.id, args.first_row, args.rows)) sum(t, columns);
    }
  });
}

void Clear(const KernelContext& context, void* array, int64_t bytes) {
  RunPieces(context, bytes, kPieceBytes, [&](int64_t first, int64_t count) {
    std::memset(static_cast<char*>(array) + first, 0, static_cast<size_t>(count));
  });
}

}  // namespace

void LinkSameTokens(std::span<TokenRecord> records) {
  CHECK(records.size() <= static_cast<size_t>(std::numeric_limits<int32_t>::max()));
  std::vector<int32_t> order(records.size());
  std::iota(order.begin(), order.end(), 0);
  const auto id_of = [&](int32_t position) { return records[static_cast<size_t>(position)].id; };
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return id_of(a) != id_of(b) ? id_of(a) < id_of(b) : a < b;
  });
  for (size_t k = 0; k < order.size(); ++k) {
    TokenRecord& record = records[static_cast<size_t>(order[k])];
    const bool last = k + 1 == order.size() || id_of(order[k + 1]) != record.id;
    record.next_same = last ? -1 : order[k + 1];
    record.is_first = k == 0 || id_of(order[k - 1]) != record.id ? 1 : 0;
  }
}

absl::Status EmbedForwardHost(const KernelContext& context, const EmbedForward& args) {
  const float* table = args.table;
  Look(context, args, args.output.fp32(), [&](int64_t row, float* output) {
    const float* from = table + row * args.hidden;
    if (args.scale == 1.0f) {
      std::copy_n(from, args.hidden, output);
    } else {
      HWY_DYNAMIC_DISPATCH(ScaleRow)(from, args.scale, args.hidden, output);
    }
  });
  return absl::OkStatus();
}

absl::Status GatherRowsHost(const KernelContext& context, const GatherRows& args) {
  if (args.output.type() == ValueType::kBf16) {
    CHECK(args.lo == nullptr);
    Look(context, args, args.output.bf16(), [&](int64_t row, uint16_t* output) {
      const uint16_t* from = args.hi + row * args.hidden;
      if (args.scale == 1.0f) {
        std::copy_n(from, args.hidden, output);
      } else {
        HWY_DYNAMIC_DISPATCH(ScaleBf16Row)(from, args.scale, args.hidden, output);
      }
    });
    return absl::OkStatus();
  }
  Look(context, args, args.output.fp32(), [&](int64_t row, float* output) {
    const int64_t at = row * args.hidden;
    HWY_DYNAMIC_DISPATCH(ExpandRow)
    (args.hi + at, args.lo == nullptr ? nullptr : args.lo + at, args.scale, args.hidden, output);
  });
  return absl::OkStatus();
}

absl::Status EmbedBackwardHost(const KernelContext& context, const EmbedBackward& args) {
  CHECK(args.tokens >= 0 && args.hidden >= 0 && args.rows >= 0);
  const int64_t count = args.rows * args.hidden;
  if (count == 0) return absl::OkStatus();
  CHECK((args.gradient.sum == nullptr) != (args.gradient.bf16 == nullptr));
  if (args.gradient.bf16 != nullptr) {
    Clear(context, args.gradient.bf16, count * static_cast<int64_t>(sizeof(uint16_t)));
  } else if (!args.gradient.add) {
    Clear(context, args.gradient.sum, RowBytes(count));
  }
  SumFirsts(context, args, [&](int64_t token, ColumnRange columns) {
    HWY_DYNAMIC_DISPATCH(StoreRow)(args, token, columns);
  });
  return absl::OkStatus();
}

absl::Status ScatterRowsHost(const KernelContext& context, const ScatterRows& args) {
  CHECK(args.tokens >= 0 && args.hidden >= 0 && args.rows >= 0);
  const int64_t count = args.rows * args.hidden;
  if (count == 0) return absl::OkStatus();
  CHECK((args.kept_fp32 == nullptr) != (args.kept_bf16 == nullptr));
  if (args.clear && args.kept_fp32 != nullptr) Clear(context, args.kept_fp32, RowBytes(count));
  if (args.clear && args.kept_bf16 != nullptr) {
    Clear(context, args.kept_bf16, count * static_cast<int64_t>(sizeof(uint16_t)));
  }
  SumFirsts(context, args, [&](int64_t token, ColumnRange columns) {
    HWY_DYNAMIC_DISPATCH(ScatterRow)(args, token, columns);
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE
