#include "kernels/head/head_loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

// A head with its tokens, and the gradients; what kernels write begins as NaN.
struct Head {
  int64_t tokens, hidden, rows;
  float scale = 0.37f;
  float logit_scale = 1.0f;
  GuardedFloats input, weights;
  std::vector<TokenRecord> records;
  std::vector<TokenSums> sums;
  GuardedFloats logits, input_gradient, weight_gradient;
  bool has_input_gradient = true, has_weight_gradient = true;  // given to kernels, or null
  LossSum loss;

  // Every fifth label is ignored.
  Head(std::mt19937& random, int64_t the_tokens, int64_t the_hidden, int64_t the_rows)
      : tokens(the_tokens),
        hidden(the_hidden),
        rows(the_rows),
        input(RandomFloats(random, tokens * hidden)),
        weights(RandomFloats(random, rows * hidden)),
        records(static_cast<size_t>(tokens)),
        sums(static_cast<size_t>(tokens), TokenSums{kNan, kNan, kNan}),
        logits(tokens * rows, kNan),
        input_gradient(tokens * hidden, kNan),
        weight_gradient(rows * hidden, kNan) {
    for (TokenRecord& record : records) {
      const bool ignored = random() % 5 == 0 || rows == 0;
      record.label = ignored ? -100 : static_cast<int32_t>(random() % static_cast<uint32_t>(rows));
    }
  }

  HeadLoss Whole() {
    return {.shape = {.tokens = tokens, .hidden = hidden, .rows = rows},
            .logit_scale = logit_scale,
            .input = input.data(),
            .weights = weights.data(),
            .records = records.data(),
            .sums = sums.data(),
            .scale = scale,
            .logits = logits.data(),
            .loss = &loss,
            .input_gradient = has_input_gradient ? input_gradient.data() : nullptr,
            .weight_gradient = has_weight_gradient ? weight_gradient.data() : nullptr,
            .first_chunk = true};
  }

  struct Cut {
    int64_t begin, end;
  };
  // The tokens of a chunk and the rows of a shard.
  HeadLoss Part(const Cut& chunk, const Cut& shard) {
    HeadLoss part = Whole();
    part.shape = {.tokens = chunk.end - chunk.begin,
                  .hidden = hidden,
                  .first_row = shard.begin,
                  .rows = shard.end - shard.begin};
    part.input = part.input.From(chunk.begin * hidden);
    part.weights = part.weights.From(shard.begin * hidden);
    part.records += chunk.begin;
    part.sums += chunk.begin;
    part.input_gradient = part.input_gradient.From(chunk.begin * hidden);
    if (has_weight_gradient) part.weight_gradient += shard.begin * hidden;
    part.first_chunk = chunk.begin == 0;
    return part;
  }
};

HeadLogSumExp SumsOf(const HeadLoss& args) {
  return {.shape = args.shape,
          .logit_scale = args.logit_scale,
          .input = args.input,
          .weights = args.weights,
          .records = args.records,
          .sums = args.sums,
          .logits = args.logits};
}

void RunHost(Head& head, int workers) {
  KernelLane lane(workers);
  const absl::Status status = HeadLossHost(lane.context(), head.Whole());
  ASSERT_TRUE(status.ok()) << status;
}

// Chunk by chunk; a head of several shards is crossed twice.
template <typename Sums, typename Loss>
void RunCut(Head& head, const std::vector<int64_t>& token_cuts,
            const std::vector<int64_t>& row_cuts, const Sums& run_sums, const Loss& run_loss) {
  for (size_t c = 0; c + 1 < token_cuts.size(); ++c) {
    const Head::Cut chunk = {token_cuts[c], token_cuts[c + 1]};
    for (size_t s = 0; s + 1 < row_cuts.size(); ++s) {
      run_sums(SumsOf(head.Part(chunk, {row_cuts[s], row_cuts[s + 1]})));
    }
    for (size_t s = 0; s + 1 < row_cuts.size(); ++s) {
      HeadLoss part = head.Part(chunk, {row_cuts[s], row_cuts[s + 1]});
      part.sums_complete = true;
      std::fill_n(part.logits, part.shape.tokens * part.shape.rows, kNan);
      run_loss(part);
    }
  }
}

bool SameResults(const Head& a, const Head& b) {
  return a.loss.count == b.loss.count &&
         std::bit_cast<uint64_t>(a.loss.sum) == std::bit_cast<uint64_t>(b.loss.sum) &&
         std::memcmp(a.sums.data(), b.sums.data(), a.sums.size() * sizeof(TokenSums)) == 0 &&
         SameBits(a.input_gradient, b.input_gradient) &&
         SameBits(a.weight_gradient, b.weight_gradient);
}

// Inputs and weights are uniform in -1 .. 1: a term of a product is 1/4 on average, a logit is
// wrong by the roundings of its `hidden` terms, and a probability by as much times itself, with a
// few epsilons for exp and the sums of 512-row tiles in 16 lanes. A scale of the logits multiplies
// their error, and is a rounding more.
double ProbabilityError(const Head& head) {
  const double width = static_cast<double>(head.hidden);
  const double logit = (5 + std::sqrt(width)) * width / 4 * std::fabs(head.logit_scale);
  return kEpsilon * (logit + 40);
}

void ExpectNear(const Head& host, const Head& exact) {
  const double error = ProbabilityError(host);
  EXPECT_EQ(host.loss.count, exact.loss.count);
  EXPECT_NEAR(host.loss.sum, exact.loss.sum, error * static_cast<double>(host.tokens + 1));
  const double scale = std::fabs(double{host.logit_scale} * host.scale);
  // The probabilities of a token add up to 1, with the label's term to 2.
  for (int64_t i = 0; i < host.input_gradient.size(); ++i) {
    ASSERT_NEAR(host.input_gradient[i], exact.input_gradient[i], 2 * scale * error) << i;
  }
  // A row's terms are its probabilities, small ones, and those of the tokens it labels.
  const double terms = 2 + static_cast<double>(host.tokens) / static_cast<double>(host.rows + 1);
  for (int64_t i = 0; i < host.weight_gradient.size(); ++i) {
    ASSERT_NEAR(host.weight_gradient[i], exact.weight_gradient[i], 4 * scale * error * terms) << i;
  }
  EXPECT_TRUE(host.input_gradient.guards_hold());
  EXPECT_TRUE(host.weight_gradient.guards_hold());
  EXPECT_TRUE(host.logits.guards_hold());
}

TEST(HeadLoss, HostMatchesTheReference) {
  std::mt19937 random(1);
  for (const int64_t tokens : {0, 1, 3, 128, 150}) {
    for (const int64_t rows : {1, 7, 512, 600, 1100}) {
      for (const int64_t hidden : {1, 19, 300}) {
        if (tokens * rows * hidden > 20'000'000) continue;
        for (const float logit_scale : {1.0f, 0.1f, 2.5f}) {
          if (logit_scale != 1.0f && tokens * rows * hidden > 2'000'000) continue;
          Head host(random, tokens, hidden, rows);
          host.logit_scale = logit_scale;
          Head exact = host;
          ASSERT_TRUE(HeadLossReference({}, exact.Whole()).ok());
          RunHost(host, 2);
          SCOPED_TRACE(testing::Message()
                       << tokens << " x " << rows << " x " << hidden << ", " << logit_scale);
          ExpectNear(host, exact);
        }
      }
    }
  }
}

// A power of two may as well be in the weights: loss, sums and the input's gradient then have the
// same bits, and the weights' gradient is a quarter.
TEST(HeadLoss, AScaleOfTheLogitsIsAScaleOfTheWeights) {
  std::mt19937 random(13);
  Head scaled(random, 140, 19, 700);
  scaled.logit_scale = 0.25f;
  Head in_weights = scaled;
  in_weights.logit_scale = 1.0f;
  for (float& weight : in_weights.weights.span()) weight *= 0.25f;
  RunHost(scaled, 2);
  RunHost(in_weights, 2);
  for (float& gradient : in_weights.weight_gradient.span()) gradient *= 0.25f;
  EXPECT_TRUE(SameResults(scaled, in_weights));
}

TEST(HeadLoss, NoRowsGiveNoGradient) {
  std::mt19937 random(2);
  Head head(random, 5, 3, 0);
  RunHost(head, 2);
  EXPECT_EQ(head.loss.count, 0);
  for (const float value : head.input_gradient.span()) EXPECT_EQ(value, 0.0f);
}

TEST(HeadLoss, SameBitsForAnyNumberOfWorkersChunksAndShards) {
  std::mt19937 random(3);
  for (int round = 0; round < 10; ++round) {
    const int64_t hidden = round < 8 ? 1 + static_cast<int64_t>(random() % 60) : 530;
    Head begin(random, 1 + static_cast<int64_t>(random() % 600), hidden,
               1 + static_cast<int64_t>(random() % 2500));
    begin.logit_scale = round % 2 == 0 ? 1.0f : 0.3f;
    Head whole = begin;
    RunHost(whole, 1);
    for (const int workers : {2, 3, 5}) {
      Head several = begin;
      RunHost(several, workers);
      EXPECT_TRUE(SameResults(whole, several)) << workers << " workers";
      const auto cuts = [&](int64_t size, int64_t tile) {
        std::vector<int64_t> at = {0};
        for (int64_t next = tile; next < size; next += tile) {
          if (random() % 2 == 0) at.push_back(next);
        }
        at.push_back(size);
        return at;
      };
      Head cut = begin;
      KernelLane lane(workers);
      RunCut(
          cut, cuts(cut.tokens, kLossTileTokens), cuts(cut.rows, kVocabularyTileRows),
          [&](const HeadLogSumExp& args) {
            ASSERT_TRUE(HeadLogSumExpHost(lane.context(), args).ok());
          },
          [&](const HeadLoss& args) { ASSERT_TRUE(HeadLossHost(lane.context(), args).ok()); });
      EXPECT_TRUE(SameResults(whole, cut)) << "cut, round " << round;
    }
  }
}

// More tiles of sums than the scratch of a worker holds (2048): they are worked on in blocks, of
// rows in the first case and of tokens in the second.
TEST(HeadLoss, AWideVocabularyIsSummedInBlocks) {
  struct Sizes {
    int64_t tokens, row_tiles;
  };
  for (const Sizes sizes : {Sizes{1, 2049}, {129, 1025}}) {
    std::mt19937 random(4);
    Head head(random, sizes.tokens, 1, sizes.row_tiles * kVocabularyTileRows - 3);
    KernelLane lane(1);
    ASSERT_TRUE(HeadLogSumExpHost(lane.context(), SumsOf(head.Whole())).ok());
    EXPECT_TRUE(lane.guard_holds());
    for (const int64_t token : {int64_t{0}, sizes.tokens - 1}) {
      double sum = 0;
      for (int64_t row = 0; row < head.rows; ++row) {
        sum += std::exp(double{head.input[token]} * double{head.weights[row]});
      }
      const TokenSums& sums = head.sums[static_cast<size_t>(token)];
      // Tiles are added one after another.
      EXPECT_NEAR(double{sums.largest} + std::log(double{sums.sum}), std::log(sum),
                  kEpsilon * (40 + std::sqrt(static_cast<double>(sizes.row_tiles))));
    }
  }
}

TEST(HeadLoss, TheLossIsSummedInDoubleTileByTile) {
  std::mt19937 random(12);
  Head head(random, 300, 6, 700);
  head.loss = {.sum = 0.1, .count = 2};
  RunHost(head, 2);
  LossSum expected = {.sum = 0.1, .count = 2};
  for (size_t first = 0; first < 300; first += 128) {
    double tile = 0;
    for (size_t token = first; token < std::min<size_t>(first + 128, 300); ++token) {
      if (head.records[token].label < 0) continue;
      const TokenSums& sums = head.sums[token];
      tile += std::log(double{sums.sum}) + (double{sums.largest} - double{sums.label_logit});
      ++expected.count;
    }
    expected.sum += tile;
  }
  EXPECT_EQ(head.loss.sum, expected.sum);
  EXPECT_EQ(head.loss.count, expected.count);
}

TEST(HeadLoss, ReferenceGivesTheSameForAnyCut) {
  std::mt19937 random(5);
  Head whole(random, 200, 5, 1200);
  Head cut = whole;
  ASSERT_TRUE(HeadLossReference({}, whole.Whole()).ok());
  RunCut(
      cut, {0, 128, 200}, {0, 512, 1024, 1200},
      [&](const HeadLogSumExp& args) { ASSERT_TRUE(HeadLogSumExpReference({}, args).ok()); },
      [&](const HeadLoss& args) { ASSERT_TRUE(HeadLossReference({}, args).ok()); });
  ExpectNear(cut, whole);
}

TEST(HeadLoss, ReferenceGradientsAreFiniteDifferencesOfTheLoss) {
  for (const float logit_scale : {1.0f, 0.6f}) {
    std::mt19937 random(6);
    Head head(random, 6, 4, 9);
    head.scale = 1.0f;
    head.logit_scale = logit_scale;
    ASSERT_TRUE(HeadLossReference({}, head.Whole()).ok());
    const Head with_gradients = head;
    const auto loss = [&] {
      head.loss = {};
      EXPECT_TRUE(HeadLossReference({}, head.Whole()).ok());
      return head.loss.sum;
    };
    const auto slope = [&](float& at, float step) {
      const float before = at;
      at = before + step;
      const double up = loss();
      const double top = double{at};
      at = before - step;
      const double down = loss();
      const double width = top - double{at};
      at = before;
      return (up - down) / width;
    };
    // The loss is a double; Richardson leaves an error of fourth order, 2^-24 or so, beside the
    // gradient's own rounding.
    constexpr float kStep = 0.015625f;
    const auto check = [&](GuardedFloats& values, const GuardedFloats& gradients) {
      for (int64_t i = 0; i < values.size(); ++i) {
        const double expected = (4 * slope(values[i], kStep) - slope(values[i], 2 * kStep)) / 3;
        ASSERT_NEAR(gradients[i], expected, 1e-6) << i;
      }
    };
    check(head.input, with_gradients.input_gradient);
    check(head.weights, with_gradients.weight_gradient);
  }
}

TEST(HeadLoss, OnlyIgnoredLabelsGiveNoLossAndNoGradient) {
  std::mt19937 random(7);
  Head head(random, 140, 8, 700);
  for (TokenRecord& record : head.records) record.label = -100;
  head.loss = {.sum = 2.5, .count = 3};
  RunHost(head, 2);
  EXPECT_EQ(head.loss.sum, 2.5);
  EXPECT_EQ(head.loss.count, 3);
  for (const float value : head.input_gradient.span()) ASSERT_EQ(value, 0.0f);
  for (const float value : head.weight_gradient.span()) ASSERT_EQ(value, 0.0f);
}

TEST(HeadLoss, LaterChunksAreAddedToLossAndWeightGradient) {
  std::mt19937 random(8);
  Head first(random, 60, 8, 700);
  Head host = first;
  const auto twice = [](Head& head, const auto& run) {
    HeadLoss args = head.Whole();
    run(args);
    args.first_chunk = false;
    run(args);
  };
  KernelLane lane(2);
  twice(host, [&](const HeadLoss& args) { ASSERT_TRUE(HeadLossHost(lane.context(), args).ok()); });
  twice(first, [&](const HeadLoss& args) { ASSERT_TRUE(HeadLossReference({}, args).ok()); });
  ExpectNear(host, first);
}

TEST(HeadLoss, NoTokensWriteZerosForTheFirstChunkAndNothingForALaterOne) {
  std::mt19937 random(9);
  Head head(random, 0, 3, 5);
  RunHost(head, 2);
  for (float& value : head.weight_gradient.span()) {
    ASSERT_EQ(value, 0.0f);
    value = 4.0f;
  }
  HeadLoss later = head.Whole();
  later.first_chunk = false;
  KernelLane lane(1);
  ASSERT_TRUE(HeadLossHost(lane.context(), later).ok());
  for (const float value : head.weight_gradient.span()) ASSERT_EQ(value, 4.0f);
}

// Loss, sums and the gradient that is wanted have the same bits; the memory of the other is as it
// was.
void ExpectSameWithout(const Head& head, const Head& both, const Head& begin) {
  EXPECT_EQ(head.loss.count, both.loss.count);
  EXPECT_EQ(std::bit_cast<uint64_t>(head.loss.sum), std::bit_cast<uint64_t>(both.loss.sum));
  EXPECT_EQ(std::memcmp(head.sums.data(), both.sums.data(), head.sums.size() * sizeof(TokenSums)),
            0);
  EXPECT_TRUE(
      SameBits(head.input_gradient, (head.has_input_gradient ? both : begin).input_gradient));
  EXPECT_TRUE(
      SameBits(head.weight_gradient, (head.has_weight_gradient ? both : begin).weight_gradient));
  EXPECT_TRUE(head.logits.guards_hold() && head.input_gradient.guards_hold() &&
              head.weight_gradient.guards_hold());
}

TEST(HeadLoss, AGradientThatIsLeftOutChangesNoBitOfTheOthers) {
  struct Sizes {
    int64_t tokens, hidden, rows;
  };
  struct Wanted {
    bool input, weights;
  };
  std::mt19937 random(14);
  for (const Sizes sizes : {Sizes{0, 3, 5}, {5, 3, 0}, {1, 1, 1}, {131, 19, 515}, {300, 9, 1100}}) {
    Head begin(random, sizes.tokens, sizes.hidden, sizes.rows);
    begin.logit_scale = 0.7f;
    const auto run_host = [](Head& head) { RunHost(head, 2); };
    const auto run_reference = [](Head& head) {
      ASSERT_TRUE(HeadLossReference({}, head.Whole()).ok());
    };
    const auto run_cut = [](Head& head) {
      KernelLane lane(2);
      RunCut(
          head, {0, 128, head.tokens}, {0, 512, head.rows},
          [&](const HeadLogSumExp& args) {
            ASSERT_TRUE(HeadLogSumExpHost(lane.context(), args).ok());
          },
          [&](const HeadLoss& args) { ASSERT_TRUE(HeadLossHost(lane.context(), args).ok()); });
    };
    const auto check = [&](const auto& run) {
      Head both = begin;
      run(both);
      for (const Wanted wanted : {Wanted{true, false}, {false, true}, {false, false}}) {
        SCOPED_TRACE(testing::Message() << sizes.tokens << " x " << sizes.rows << ", input "
                                        << wanted.input << ", weights " << wanted.weights);
        Head head = begin;
        head.has_input_gradient = wanted.input;
        head.has_weight_gradient = wanted.weights;
        run(head);
        ExpectSameWithout(head, both, begin);
      }
    };
    check(run_host);
    check(run_reference);
    if (sizes.tokens > 128 && sizes.rows > 512) check(run_cut);
  }
}

TEST(HeadLoss, HugeLogitsDoNotOverflow) {
  // Whole numbers: the logits, up to 10^7, are the same in both bodies.
  std::mt19937 random(10);
  Head host(random, 130, 16, 1000);
  for (float& value : host.input.span()) value = std::round(value * 800);
  for (float& value : host.weights.span()) value = std::round(value * 800);
  Head exact = host;
  ASSERT_TRUE(HeadLossReference({}, exact.Whole()).ok());
  RunHost(host, 2);
  EXPECT_EQ(host.loss.count, exact.loss.count);
  EXPECT_NEAR(host.loss.sum, exact.loss.sum, kEpsilon * exact.loss.sum);
  // Gradients are 800 at most, with a few roundings each.
  for (int64_t i = 0; i < host.input_gradient.size(); ++i) {
    ASSERT_NEAR(host.input_gradient[i], exact.input_gradient[i], kEpsilon * 800 * 20);
  }
}

TEST(HeadLoss, ImpossibleShapesAndLabelsAreRefused) {
  std::mt19937 random(11);
  KernelLane lane(1);
  for (int broken = 0; broken < 6; ++broken) {
    Head head(random, 4, 4, 8);
    HeadLoss args = head.Whole();
    if (broken == 0) args.shape.tokens = -1;
    if (broken == 1) args.shape.hidden = 0;
    if (broken == 2) args.shape.rows = -1;
    if (broken == 3) args.shape.first_row = 100;
    if (broken == 4) args.shape.first_row = 512;  // and no sums
    if (broken == 5) head.records[2].label = 8;
    EXPECT_TRUE(absl::IsInvalidArgument(HeadLossHost(lane.context(), args))) << broken;
    if (broken < 4) {
      EXPECT_TRUE(absl::IsInvalidArgument(HeadLogSumExpHost(lane.context(), SumsOf(args))));
    }
  }
}

}  // namespace
}  // namespace horizon
