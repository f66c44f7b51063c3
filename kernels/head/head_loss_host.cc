#include <algorithm>
#include <cmath>
#include <limits>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/gemm/blas.h"
#include "kernels/gemm/gemm_tiles.h"
#include "kernels/head/head_loss.h"
#include "kernels/head/head_loss_rows.h"

namespace horizon {
namespace {

// Tiles of sums that the scratch of one worker holds.
constexpr int64_t kTilesOfSums =
    static_cast<int64_t>(kWorkerScratchBytes / (kLossTileTokens * sizeof(TileSums)));

// Tile `index` of tokens or rows, of `size` in all.
struct Part {
  int64_t begin = 0;
  int64_t size = 0;
};
int64_t TileCount(int64_t size, int64_t tile) { return (size + tile - 1) / tile; }
Part TileAt(int64_t size, int64_t tile, int64_t index) {
  return {.begin = index * tile, .size = std::min(tile, size - index * tile)};
}
Part TokensAt(const HeadShape& shape, int64_t index) {
  return TileAt(shape.tokens, kLossTileTokens, index);
}
Part RowsAt(const HeadShape& shape, int64_t index) {
  return TileAt(shape.rows, kVocabularyTileRows, index);
}

void ComputeLogits(const HeadLogSumExp& args, const Part& tokens, const Part& rows) {
  const HeadShape& shape = args.shape;
  float* logits = args.logits + tokens.begin * shape.rows + rows.begin;
  MultiplyTile({.b_transposed = Transposed::kYes,
                .m = tokens.size,
                .n = rows.size,
                .k = shape.hidden,
                .a = args.input + tokens.begin * shape.hidden,
                .a_stride = shape.hidden,
                .b = args.weights + rows.begin * shape.hidden,
                .b_stride = shape.hidden,
                .c = logits,
                .c_stride = shape.rows});
  if (args.logit_scale == 1.0f) return;
  // Not as BLAS's alpha, which may scale the parts of a sum and so round more than once.
  ScaleLogitRows({.logits = logits, .stride = shape.rows, .tokens = tokens.size, .rows = rows.size},
                 args.logit_scale);
}

// Takes a tile's sums into the running ones.
void Continue(const TileSums& tile, TokenSums& sums) {
  const float largest = std::max(sums.largest, tile.largest);
  sums.sum =
      sums.sum * std::exp(sums.largest - largest) + tile.sum * std::exp(tile.largest - largest);
  sums.largest = largest;
}

// The tiles of the logits that are summed in one go, so that the sums fit into scratch.
struct Block {
  Part token_tiles;
  Part row_tiles;
};

// Logits of a block with the sums of each of its tiles, then the running sums of its tokens.
void SumBlock(const KernelContext& context, const HeadLogSumExp& args, const Block& block) {
  const HeadShape& shape = args.shape;
  auto* sums = reinterpret_cast<TileSums*>(context.ScratchOf(0));
  const auto sums_of = [&](int64_t token_tile, int64_t row_tile) {
    return sums + (row_tile * block.token_tiles.size + token_tile) * kLossTileTokens;
  };
  context.workers->Run(block.token_tiles.size * block.row_tiles.size, [&](int64_t piece, int) {
    // Pieces that follow each other share the weights.
    const int64_t token_tile = piece % block.token_tiles.size;
    const int64_t row_tile = piece / block.token_tiles.size;
    const Part tokens = TokensAt(shape, block.token_tiles.begin + token_tile);
    const Part rows = RowsAt(shape, block.row_tiles.begin + row_tile);
    ComputeLogits(args, tokens, rows);
    SumLogitRows({.logits = args.logits + tokens.begin * shape.rows + rows.begin,
                  .stride = shape.rows,
                  .tokens = tokens.size,
                  .rows = rows.size},
                 sums_of(token_tile, row_tile));
  });
  context.workers->Run(block.token_tiles.size, [&](int64_t token_tile, int) {
    const Part tokens = TokensAt(shape, block.token_tiles.begin + token_tile);
    for (int64_t i = 0; i < tokens.size; ++i) {
      for (int64_t row_tile = 0; row_tile < block.row_tiles.size; ++row_tile) {
        Continue(sums_of(token_tile, row_tile)[i], args.sums[tokens.begin + i]);
      }
    }
  });
}

void SumLogits(const KernelContext& context, const HeadLogSumExp& args) {
  const HeadShape& shape = args.shape;
  if (shape.first_row == 0) {
    constexpr TokenSums kNone = {-std::numeric_limits<float>::infinity(), 0.0f, 0.0f};
    std::fill_n(args.sums, shape.tokens, kNone);
  }
  const int64_t token_tiles = TileCount(shape.tokens, kLossTileTokens);
  const int64_t row_tiles = TileCount(shape.rows, kVocabularyTileRows);
  if (row_tiles == 0) return;
  const int64_t rows_of_block = std::min(row_tiles, kTilesOfSums);
  const int64_t tokens_of_block = std::max<int64_t>(1, kTilesOfSums / rows_of_block);
  for (int64_t t = 0; t < token_tiles; t += tokens_of_block) {
    for (int64_t r = 0; r < row_tiles; r += rows_of_block) {
      SumBlock(context, args,
               {.token_tiles = {.begin = t, .size = std::min(tokens_of_block, token_tiles - t)},
                .row_tiles = {.begin = r, .size = std::min(rows_of_block, row_tiles - r)}});
    }
  }
  for (int64_t token = 0; token < shape.tokens; ++token) {
    const int64_t row = args.records[token].label - shape.first_row;
    if (args.records[token].label < 0 || row < 0 || row >= shape.rows) continue;
    args.sums[token].label_logit = args.logits[token * shape.rows + row];
  }
}

// Tile by tile, so that chunks add up to the same bits.
void AddLosses(const HeadLoss& args) {
  for (int64_t tile = 0; tile < TileCount(args.shape.tokens, kLossTileTokens); ++tile) {
    const Part tokens = TokensAt(args.shape, tile);
    double sum = 0;
    for (int64_t token = tokens.begin; token < tokens.begin + tokens.size; ++token) {
      if (args.records[token].label < 0) continue;
      const TokenSums& sums = args.sums[token];
      sum += std::log(double{sums.sum}) + (double{sums.largest} - double{sums.label_logit});
      ++args.loss->count;
    }
    args.loss->sum += sum;
  }
}

// For one tile of the vocabulary and all tokens: gradients of the logits in their place, and with
// them, unless they are frozen, those of the weights.
void DifferentiateRows(const HeadLoss& args, const HeadLogSumExp& logits, int64_t row_tile,
                       int64_t hidden_tile) {
  const HeadShape& shape = args.shape;
  const Part rows = RowsAt(shape, row_tile);
  for (int64_t tile = 0; tile < TileCount(shape.tokens, kLossTileTokens); ++tile) {
    const Part tokens = TokensAt(shape, tile);
    float* gradients = args.logits + tokens.begin * shape.rows + rows.begin;
    if (args.sums_complete) ComputeLogits(logits, tokens, rows);
    DifferentiateLogitRows(
        {.logits = gradients, .stride = shape.rows, .tokens = tokens.size, .rows = rows.size},
        {.records = args.records + tokens.begin,
         .sums = args.sums + tokens.begin,
         .first_row = shape.first_row + rows.begin,
         .scale = args.logit_scale * args.scale});
    if (args.weight_gradient == nullptr) continue;
    for (int64_t column = 0; column < shape.hidden; column += hidden_tile) {
      MultiplyTile({.a_transposed = Transposed::kYes,
                    .m = rows.size,
                    .n = std::min(hidden_tile, shape.hidden - column),
                    .k = tokens.size,
                    .a = gradients,
                    .a_stride = shape.rows,
                    .b = args.input + tokens.begin * shape.hidden + column,
                    .b_stride = shape.hidden,
                    .beta = args.first_chunk && tile == 0 ? 0.0f : 1.0f,
                    .c = args.weight_gradient + rows.begin * shape.hidden + column,
                    .c_stride = shape.hidden});
    }
  }
}

// Columns of the input's gradient that one call sums: equal parts, and two at least, so that even
// one tile of tokens is work for two.
int64_t InputGradientColumns(int64_t hidden) {
  constexpr int64_t kStep = 32;
  const int64_t parts = std::max<int64_t>(2, TileCount(hidden, kLargestTile));
  return TileCount(TileCount(hidden, parts), kStep) * kStep;
}

// Some columns of the input's gradient of a tile of tokens, summed over the vocabulary.
void DifferentiateInput(const HeadLoss& args, const Part& tokens, const Part& columns) {
  const HeadShape& shape = args.shape;
  for (int64_t tile = 0; tile < TileCount(shape.rows, kVocabularyTileRows); ++tile) {
    const Part rows = RowsAt(shape, tile);
    MultiplyTile({.m = tokens.size,
                  .n = columns.size,
                  .k = rows.size,
                  .a = args.logits + tokens.begin * shape.rows + rows.begin,
                  .a_stride = shape.rows,
                  .b = args.weights + rows.begin * shape.hidden + columns.begin,
                  .b_stride = shape.hidden,
                  .beta = shape.first_row == 0 && tile == 0 ? 0.0f : 1.0f,
                  .c = args.input_gradient + tokens.begin * shape.hidden + columns.begin,
                  .c_stride = shape.hidden});
  }
}

absl::Status Check(const HeadShape& shape) {
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  if (shape.tokens >= 0 && shape.hidden > 0 && shape.hidden <= kMost && shape.rows >= 0 &&
      shape.rows <= kMost && shape.first_row >= 0 && shape.first_row % kVocabularyTileRows == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(StrCat(
      "the loss of ", shape.tokens, " tokens of width ", shape.hidden, " over ", shape.rows,
      " rows of the vocabulary from ", shape.first_row, " on: sizes are 0 to 2^31 - 1, and a ",
      "shard begins at a multiple of ", kVocabularyTileRows));
}

HeadLogSumExp LogitsOf(const HeadLoss& args) {
  return {.shape = args.shape,
          .logit_scale = args.logit_scale,
          .input = args.input,
          .weights = args.weights,
          .records = args.records,
          .sums = args.sums,
          .logits = args.logits};
}

}  // namespace

absl::Status HeadLogSumExpHost(const KernelContext& context, const HeadLogSumExp& args) {
  if (absl::Status status = Check(args.shape); !status.ok()) return status;
  ASSIGN_OR_RETURN(const BlasLease lease, BlasLease::Take(context.workers->count()));
  SumLogits(context, args);
  return absl::OkStatus();
}

absl::Status HeadLossHost(const KernelContext& context, const HeadLoss& args) {
  const HeadShape& shape = args.shape;
  if (absl::Status status = Check(shape); !status.ok()) return status;
  ASSIGN_OR_RETURN(const BlasLease lease, BlasLease::Take(context.workers->count()));
  const HeadLogSumExp logits = LogitsOf(args);
  if (!args.sums_complete) {
    int32_t largest = -1;
    for (int64_t token = 0; token < shape.tokens; ++token) {
      largest = std::max(largest, args.records[token].label);
    }
    if (shape.first_row != 0 || largest >= shape.rows) {
      return absl::InvalidArgumentError(StrCat("the loss over ", shape.rows, " rows from ",
                                               shape.first_row, " on with a label of ", largest,
                                               ": not the whole vocabulary, and no sums given"));
    }
    SumLogits(context, logits);
  }
  if (args.clear_loss) *args.loss = {};
  if (shape.first_row == 0) AddLosses(args);
  if (shape.tokens == 0 && args.first_chunk && args.weight_gradient != nullptr) {
    std::fill_n(args.weight_gradient, shape.rows * shape.hidden, 0.0f);
  }
  if (shape.rows == 0 && shape.first_row == 0 && args.input_gradient != nullptr) {
    std::fill_n(args.input_gradient.fp32(), shape.tokens * shape.hidden, 0.0f);
  }
  if (shape.tokens == 0 || shape.rows == 0) return absl::OkStatus();
  if (args.weight_gradient == nullptr && args.input_gradient == nullptr) return absl::OkStatus();

  const int64_t weight_tile =
      ChooseTiles(kVocabularyTileRows, shape.hidden, kVocabularyTileRows, 0).n;
  context.workers->Run(TileCount(shape.rows, kVocabularyTileRows), [&](int64_t tile, int) {
    DifferentiateRows(args, logits, tile, weight_tile);
  });
  if (args.input_gradient == nullptr) return absl::OkStatus();
  const int64_t input_tile = InputGradientColumns(shape.hidden);
  const int64_t across = TileCount(shape.hidden, input_tile);
  context.workers->Run(TileCount(shape.tokens, kLossTileTokens) * across, [&](int64_t piece, int) {
    const Part columns = TileAt(shape.hidden, input_tile, piece % across);
    DifferentiateInput(args, TokensAt(shape, piece / across), columns);
  });
  return absl::OkStatus();
}

}  // namespace horizon
