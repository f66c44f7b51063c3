#include <gtest/gtest.h>

#include <limits>
#include <ostream>

#include "kernels/head/head_loss.h"
#include "tests/kernels/gemm/cuda/device_lane.h"
#include "tests/kernels/support/bf16_values.h"

namespace horizon {
namespace {

struct Head {
  int64_t tokens, hidden, rows;
  std::vector<uint16_t> input, weights;
  std::vector<TokenRecord> records;
  float scale;
  float logit_scale = 1.0f;

  Head(int64_t of_tokens, int64_t of_hidden, int64_t of_rows)
      : tokens(of_tokens), hidden(of_hidden), rows(of_rows) {
    std::mt19937 random(1);
    input = RandomBf16(random, tokens * hidden);
    weights = RandomBf16(random, rows * hidden);
    records.resize(static_cast<size_t>(tokens));
    for (int64_t i = 0; i < tokens; ++i) {
      TokenRecord& record = records[static_cast<size_t>(i)];
      const auto row = static_cast<int32_t>(random() % static_cast<uint64_t>(rows));
      record.label = i % 5 == 3 ? -100 : row;
    }
    scale = 1.0f / static_cast<float>(std::max<int64_t>(1, tokens));
  }
};

struct Results {
  std::vector<float> input_gradient, weight_gradient;
  double loss = 0;
  int64_t count = 0;

  bool operator==(const Results&) const = default;
};

Results Reference(const Head& head) {
  const std::vector<float> input = Widened(head.input), weights = Widened(head.weights);
  Results results;
  results.input_gradient.resize(input.size());
  results.weight_gradient.resize(weights.size());
  std::vector<TokenSums> sums(head.records.size());
  std::vector<float> logits(static_cast<size_t>(head.tokens * head.rows));
  LossSum loss;
  EXPECT_TRUE(HeadLossReference({}, {.shape = {head.tokens, head.hidden, 0, head.rows},
                                     .logit_scale = head.logit_scale,
                                     .input = input.data(),
                                     .weights = weights.data(),
                                     .records = head.records.data(),
                                     .sums = sums.data(),
                                     .scale = head.scale,
                                     .logits = logits.data(),
                                     .loss = &loss,
                                     .input_gradient = results.input_gradient.data(),
                                     .weight_gradient = results.weight_gradient.data(),
                                     .first_chunk = true})
                  .ok());
  results.loss = loss.sum;
  results.count = loss.count;
  return results;
}

// Which gradients are computed.
struct Wanted {
  bool input_gradient = true, weight_gradient = true;
};

// Shard by shard, and in each chunk by chunk, as a step does. A gradient that is not wanted has no
// memory, and no place in the results.
Results OnDevice(const Head& head, int64_t chunk, int64_t shard, uint64_t seed = 1,
                 const Wanted& wanted = {}) {
  const bool whole = shard >= head.rows;
  const HeadShape largest = {std::min(chunk, head.tokens), head.hidden, 0, head.rows};
  DeviceLane lane(seed, whole && wanted.input_gradient ? HeadLossWorkspaceBytes(largest) : 0);
  const uint16_t* input = lane.Upload(head.input);
  const uint16_t* weights = lane.Upload(head.weights);
  const TokenRecord* records = lane.Upload(head.records);
  auto* sums = lane.Allocate<TokenSums>(head.records.size());
  // Of padding that is read the results would show.
  const int64_t stride = CudaLogitStride(std::min(shard, head.rows));
  float* logits = lane.Upload(std::vector<float>(static_cast<size_t>(largest.tokens * stride),
                                                 std::numeric_limits<float>::quiet_NaN()));
  LossSum* loss = lane.Upload(std::vector<LossSum>(1));
  const size_t inputs = wanted.input_gradient ? head.input.size() : 0;
  const size_t weight_count = wanted.weight_gradient ? head.weights.size() : 0;
  auto* input_gradient = lane.Allocate<uint16_t>(inputs);
  auto* input_sums = lane.Allocate<float>(whole ? 0 : inputs);
  auto* weight_gradient = lane.Allocate<float>(weight_count);
  const auto visit = [&](const auto& body) {
    for (int64_t row = 0; row < head.rows; row += shard) {
      for (int64_t token = 0; token < head.tokens; token += chunk) {
        body(HeadShape{std::min(chunk, head.tokens - token), head.hidden, row,
                       std::min(shard, head.rows - row)},
             token);
      }
    }
  };
  if (!whole) {
    visit([&](const HeadShape& shape, int64_t token) {
      EXPECT_EQ(
          HeadLogSumExpCuda(lane.context(), {.shape = shape,
                                             .logit_scale = head.logit_scale,
                                             .input = input + token * head.hidden,
                                             .weights = weights + shape.first_row * head.hidden,
                                             .records = records + token,
                                             .sums = sums + token,
                                             .logits = logits}),
          absl::OkStatus());
    });
  }
  visit([&](const HeadShape& shape, int64_t token) {
    EXPECT_EQ(
        HeadLossCuda(
            lane.context(),
            {.shape = shape,
             .logit_scale = head.logit_scale,
             .input = input + token * head.hidden,
             .weights = weights + shape.first_row * head.hidden,
             .records = records + token,
             .sums = sums + token,
             .sums_complete = !whole,
             .scale = head.scale,
             .logits = logits,
             .loss = loss,
             .input_gradient =
                 wanted.input_gradient ? Values(input_gradient + token * head.hidden) : Values(),
             .weight_gradient =
                 wanted.weight_gradient ? weight_gradient + shape.first_row * head.hidden : nullptr,
             .first_chunk = token == 0,
             .input_gradient_sum = whole ? nullptr : input_sums + token * head.hidden,
             .last_shard = shape.first_row + shape.rows == head.rows}),
        absl::OkStatus());
  });
  const LossSum summed = lane.Download(loss, 1)[0];
  return {.input_gradient = Widened(lane.Download(input_gradient, static_cast<int64_t>(inputs))),
          .weight_gradient = lane.Download(weight_gradient, static_cast<int64_t>(weight_count)),
          .loss = summed.sum,
          .count = summed.count};
}

struct Case {
  int64_t tokens, hidden, rows;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.tokens << " tokens of " << c.hidden << ", " << c.rows << " rows";
}
class HeadLossCudaTest : public testing::TestWithParam<Case> {};

TEST_P(HeadLossCudaTest, MatchesTheReference) {
  const Case& c = GetParam();
  for (const float logit_scale : {1.0f, 0.1f, 2.5f}) {
    Head head(c.tokens, c.hidden, c.rows);
    head.logit_scale = logit_scale;
    const Results expected = Reference(head);
    const Results actual = OnDevice(head, c.tokens, c.rows);
    EXPECT_EQ(actual.count, expected.count);
    // A logit is a sum of `hidden` terms of at most 1 in fp32, which the scale multiplies with one
    // rounding more, a token's sum one of all rows.
    const double logit = static_cast<double>(c.hidden * (c.hidden + 1)) * double{logit_scale};
    const double terms = logit + static_cast<double>(c.rows);
    EXPECT_NEAR(actual.loss, expected.loss, static_cast<double>(c.tokens) * terms * 2 * kFp32Unit);
    const double scale = double{head.scale} * double{logit_scale};
    // The gradient of a logit is rounded to bf16, and those of a token add up to 2 x scale at most
    // in size. So the input's gradient (weights are at most 1) is off by one unit of that, and by
    // its own rounding.
    const double of_token = 2 * scale * (kBf16Unit + 4 * terms * kFp32Unit);
    ExpectNear("input_gradient", actual.input_gradient, expected.input_gradient, [&](size_t i) {
      return of_token + kBf16Unit * std::fabs(expected.input_gradient[i]);
    });
    // A weight gets from a token no more than `scale`.
    ExpectNear("weight_gradient", actual.weight_gradient, expected.weight_gradient, [&](size_t) {
      return static_cast<double>(c.tokens) * scale * (kBf16Unit + 4 * terms * kFp32Unit);
    });
  }
}

TEST_P(HeadLossCudaTest, NoOrderOfBlocksChangesABit) {
  const Case& c = GetParam();
  const Head head(c.tokens, c.hidden, c.rows);
  EXPECT_TRUE(OnDevice(head, c.tokens, c.rows, 2) == OnDevice(head, c.tokens, c.rows, 3));
}

INSTANTIATE_TEST_SUITE_P(Sizes, HeadLossCudaTest,
                         testing::Values(Case{1, 8, 8}, Case{3, 16, 24}, Case{129, 8, 520},
                                         Case{40, 64, 1032}, Case{5, 8, 4616}, Case{2, 8, 1},
                                         Case{3, 16, 7}, Case{9, 8, 511}, Case{129, 8, 513},
                                         Case{40, 64, 1029}, Case{5, 8, 4610}));

TEST(HeadLossCuda, NoCutIntoChunksAndShardsChangesABit) {
  for (const float logit_scale : {1.0f, 0.3f}) {
    for (const int64_t rows : {1544, 1029, 1537, 1543}) {
      Head head(300, 16, rows);
      head.logit_scale = logit_scale;
      const Results whole = OnDevice(head, 300, rows);
      for (const int64_t chunk : {128, 256, 300}) {
        for (const int64_t shard : {int64_t{512}, int64_t{1024}, rows}) {
          EXPECT_TRUE(OnDevice(head, chunk, shard) == whole)
              << rows << ", " << chunk << ", " << shard;
        }
      }
    }
  }
}

// In one, and in chunks and shards, whose sum of the input's gradient is left alone as well.
TEST_P(HeadLossCudaTest, AGradientThatIsLeftOutChangesNoBitOfTheOthers) {
  const Case& c = GetParam();
  Head head(c.tokens, c.hidden, c.rows);
  head.logit_scale = 0.3f;
  const Results both = OnDevice(head, c.tokens, c.rows);
  for (const int64_t shard : {c.rows, kVocabularyTileRows}) {
    for (const Wanted wanted : {Wanted{true, false}, Wanted{false, true}, Wanted{false, false}}) {
      Results expected = both;
      if (!wanted.input_gradient) expected.input_gradient.clear();
      if (!wanted.weight_gradient) expected.weight_gradient.clear();
      EXPECT_TRUE(OnDevice(head, std::min(c.tokens, kLossTileTokens), shard, 2, wanted) == expected)
          << c << " in shards of " << shard << ", input " << wanted.input_gradient << ", weights "
          << wanted.weight_gradient;
    }
  }
}

// The gradients of rows that are alike are alike, whether their vector is whole or not.
TEST(HeadLossCuda, RowsAfterTheLastWholeVectorAreLikeOthers) {
  constexpr int64_t kHidden = 8;
  for (const int64_t rows : {5, 6, 7, 513, 1027}) {
    Head head(4, kHidden, rows);
    for (TokenRecord& record : head.records) record.label = 0;
    for (int64_t row = 1; row < rows; ++row) {
      std::copy_n(head.weights.begin() + kHidden, kHidden, head.weights.begin() + row * kHidden);
    }
    const std::vector<float> gradient = OnDevice(head, 4, rows).weight_gradient;
    for (int64_t row = 2; row < rows; ++row) {
      EXPECT_TRUE(std::equal(gradient.begin() + kHidden, gradient.begin() + 2 * kHidden,
                             gradient.begin() + row * kHidden))
          << row << " of " << rows;
    }
  }
}

// Where there are no rows or no tokens a gradient that is wanted is cleared.
TEST(HeadLossCuda, NothingToSumNeedsNoGradients) {
  DeviceLane lane;
  auto* sums = lane.Upload(std::vector<float>(16, 3.0f));
  uint16_t* halves = lane.Upload(std::vector<uint16_t>(16, 0x4040));
  LossSum* loss = lane.Upload(std::vector<LossSum>(1));
  HeadLoss args = {
      .shape = {2, 8, 0, 0}, .loss = loss, .first_chunk = true, .input_gradient_sum = sums};
  ASSERT_EQ(HeadLossCuda(lane.context(), args), absl::OkStatus());
  EXPECT_EQ(lane.Download(sums, 16), std::vector<float>(16, 3.0f));
  args.input_gradient = halves;
  ASSERT_EQ(HeadLossCuda(lane.context(), args), absl::OkStatus());
  EXPECT_EQ(lane.Download(sums, 16), std::vector<float>(16));
  EXPECT_EQ(lane.Download(halves, 16), std::vector<uint16_t>(16));
  args = {.shape = {0, 8, 0, 2}, .loss = loss, .first_chunk = true};
  ASSERT_EQ(HeadLossCuda(lane.context(), args), absl::OkStatus());
  args.weight_gradient = lane.Upload(std::vector<float>(16, 3.0f));
  ASSERT_EQ(HeadLossCuda(lane.context(), args), absl::OkStatus());
  EXPECT_EQ(lane.Download(args.weight_gradient, 16), std::vector<float>(16));
}

// Where the label is all but certain its gradient is a small difference of large numbers, of which
// only the result is rounded.
TEST(HeadLossCuda, ACertainTokenHasAnExactGradient) {
  constexpr int64_t kTokens = 8, kRows = 16;
  Head head(kTokens, kTokens, kRows);
  // Token t has the logit t + 3 for row 0, which is its label, and 0 for the others.
  head.input.assign(kTokens * kTokens, 0);
  head.weights.assign(kRows * kTokens, 0);
  for (int64_t t = 0; t < kTokens; ++t) {
    const auto at = static_cast<size_t>(t);
    head.records[at].label = 0;
    head.input[at * kTokens + at] = Narrowed(static_cast<float>(t + 3));
    head.weights[at] = Narrowed(1.0f);
  }
  head.scale = 1.0f;
  const Results results = OnDevice(head, kTokens, kRows);
  for (int64_t t = 0; t < kTokens; ++t) {
    const double logit = static_cast<double>(t + 3);
    const double gradient = (1.0 - kRows) / (std::exp(logit) + (kRows - 1.0));
    // The token's number is all that the row's column t was multiplied with.
    const double actual = double{results.weight_gradient[static_cast<size_t>(t)]} / logit;
    EXPECT_NEAR(actual, gradient, kBf16Unit * std::fabs(gradient) + 8 * kFp32Unit) << t;
  }
}

TEST(HeadLossCuda, TokensThatCountNothingGiveNothing) {
  Head head(10, 8, 16);
  for (TokenRecord& record : head.records) record.label = -100;
  const Results results = OnDevice(head, 10, 16);
  EXPECT_EQ(results.count, 0);
  EXPECT_EQ(results.loss, 0.0);
  EXPECT_EQ(results.input_gradient, std::vector<float>(80));
  EXPECT_EQ(results.weight_gradient, std::vector<float>(128));
}

TEST(HeadLossCuda, RefusesWhatItDoesNotPromise) {
  DeviceLane lane;
  uint16_t* halves = lane.Upload(std::vector<uint16_t>(1024));
  auto* floats = lane.Allocate<float>(1024);
  HeadLoss args = {.shape = {2, 8, 0, 16},
                   .input = halves,
                   .weights = halves + 256,
                   .records = lane.Upload(std::vector<TokenRecord>(2)),
                   .sums = lane.Allocate<TokenSums>(2),
                   .logits = floats,
                   .loss = lane.Upload(std::vector<LossSum>(1)),
                   .input_gradient = halves + 512,
                   .weight_gradient = floats + 512,
                   .first_chunk = true};
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(HeadLossCuda(lane.context(), args).code(),
            absl::StatusCode::kResourceExhausted);  // no workspace
  args.input_gradient_sum = floats + 768;
  EXPECT_EQ(HeadLossCuda(lane.context(), args), absl::OkStatus());
  args.shape.rows = 13;
  EXPECT_EQ(HeadLossCuda(lane.context(), args), absl::OkStatus());
  args.input_gradient = halves + 513;
  EXPECT_EQ(HeadLossCuda(lane.context(), args).code(), kInvalid);
  args.input_gradient = halves + 512;
  args.weight_gradient = floats + 513;
  EXPECT_EQ(HeadLossCuda(lane.context(), args).code(), kInvalid);
  args.weight_gradient = floats + 512;
  args.shape.rows = -1;
  EXPECT_EQ(HeadLossCuda(lane.context(), args).code(), kInvalid);
  args.shape.rows = int64_t{1} << 30;
  EXPECT_EQ(HeadLossCuda(lane.context(), args).code(), kInvalid);
  args.shape.rows = 16;
  args.shape.hidden = 12;
  EXPECT_EQ(HeadLossCuda(lane.context(), args).code(), kInvalid);
  args.shape.hidden = 8;
  args.shape.first_row = 512;
  EXPECT_EQ(HeadLossCuda(lane.context(), args).code(), kInvalid);
  args.sums_complete = true;
  args.input_gradient_sum = nullptr;
  EXPECT_EQ(HeadLossCuda(lane.context(), args).code(), kInvalid);
}

}  // namespace
}  // namespace horizon
