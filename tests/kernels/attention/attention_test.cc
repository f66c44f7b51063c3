#include "kernels/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <random>
#include <vector>

#include "tests/kernels/support/kernel_lane.h"
#include "tests/kernels/support/token_rows.h"

namespace horizon {

std::ostream& operator<<(std::ostream& out, const AttentionShape& shape) {
  return out << shape.batch << " x " << shape.sequence << ", " << shape.heads << "/"
             << shape.kv_heads << " heads of " << shape.head_dim << ", window " << shape.window;
}

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

enum class Sinks { kNone, kSome };

// All arrays of both passes; what kernels write begins as NaN.
struct Arrays {
  AttentionShape shape;
  Sinks has_sinks;
  std::vector<TokenRecord> records;
  GuardedFloats q, k, v, output_gradient;
  GuardedFloats output, log_sum_exp, output_dot, q_gradient, k_gradient, v_gradient;
  GuardedFloats sinks, sinks_gradient;

  Arrays(std::mt19937& random, const AttentionShape& the_shape, Sinks has = Sinks::kNone)
      : shape(the_shape),
        has_sinks(has),
        records(WholeRows(shape.batch, shape.sequence)),
        q(RandomFloats(random, Queries())),
        k(RandomFloats(random, Keys())),
        v(RandomFloats(random, Keys())),
        output_gradient(RandomFloats(random, Queries())),
        output(Queries(), kNan),
        log_sum_exp(Entries(), kNan),
        output_dot(Entries(), kNan),
        q_gradient(Queries(), kNan),
        k_gradient(Keys(), kNan),
        v_gradient(Keys(), kNan),
        // Some far below the other scores, some above them.
        sinks(RandomFloats(random, shape.heads, 4)),
        sinks_gradient(shape.heads, kNan) {}

  int64_t Entries() const { return shape.batch * shape.sequence * shape.heads; }
  int64_t Queries() const { return Entries() * shape.head_dim; }
  int64_t Keys() const { return shape.batch * shape.sequence * shape.kv_heads * shape.head_dim; }

  AttentionForward Forward() {
    return {.shape = shape,
            .records = records.data(),
            .q = q.data(),
            .k = k.data(),
            .v = v.data(),
            .sinks = SinksOrNone(),
            .output = output.data(),
            .log_sum_exp = log_sum_exp.data()};
  }
  AttentionBackward Backward() {
    return {.shape = shape,
            .records = records.data(),
            .q = q.data(),
            .k = k.data(),
            .v = v.data(),
            .sinks = SinksOrNone(),
            .output = output.data(),
            .log_sum_exp = log_sum_exp.data(),
            .output_gradient = output_gradient.data(),
            .output_dot = output_dot.data(),
            .q_gradient = q_gradient.data(),
            .k_gradient = k_gradient.data(),
            .v_gradient = v_gradient.data(),
            .sinks_gradient = {.sum = has_sinks == Sinks::kSome ? sinks_gradient.data() : nullptr}};
  }
  ConstValues SinksOrNone() const {
    return has_sinks == Sinks::kSome ? ConstValues(sinks.data()) : ConstValues();
  }
  void RunHost(int workers) {
    KernelLane lane(workers);
    ASSERT_TRUE(AttentionForwardHost(lane.context(), Forward()).ok());
    ASSERT_TRUE(AttentionBackwardHost(lane.context(), Backward()).ok());
  }
  void RunReference() {
    ASSERT_TRUE(AttentionForwardReference({}, Forward()).ok());
    ASSERT_TRUE(AttentionBackwardReference({}, Backward()).ok());
  }
  // What belongs to tokens.
  std::vector<const GuardedFloats*> Results() const {
    return {&output, &log_sum_exp, &output_dot, &q_gradient, &k_gradient, &v_gradient};
  }
  std::vector<const GuardedFloats*> AllResults() const {
    std::vector<const GuardedFloats*> all = Results();
    all.push_back(&sinks_gradient);
    return all;
  }
};

AttentionShape Shape(int64_t batch, int64_t sequence, int64_t heads, int64_t kv_heads,
                     int64_t head_dim, int64_t window = 0) {
  return {.batch = batch,
          .sequence = sequence,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_dim = head_dim,
          .window = window,
          .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)))};
}

// Sequences around tiles of 64 and 128 queries and of 64 to 256 keys, windows shorter and longer
// than both, groups of 1, 2 and 7 heads. Key heads of 512 values in all are copied.
std::vector<AttentionShape> Shapes() {
  return {Shape(1, 1, 1, 1, 1),         Shape(2, 3, 2, 1, 1),       Shape(3, 64, 2, 2, 5),
          Shape(2, 65, 4, 2, 7),        Shape(1, 256, 2, 1, 8),     Shape(1, 257, 2, 1, 8),
          Shape(1, 300, 7, 1, 16),      Shape(1, 300, 4, 2, 33, 9), Shape(2, 300, 2, 2, 8, 64),
          Shape(1, 300, 2, 1, 8, 257),  Shape(1, 300, 2, 1, 8, 1),  Shape(1, 620, 2, 1, 16, 100),
          Shape(1, 620, 3, 3, 4, 5000), Shape(1, 400, 14, 2, 64),   Shape(1, 70, 2, 1, 512),
          Shape(1, 300, 8, 4, 128),     Shape(1, 200, 2, 1, 96),    Shape(1, 270, 2, 2, 256, 90),
          Shape(1, 200, 1, 1, 320),     Shape(0, 5, 2, 1, 4),       Shape(2, 0, 2, 1, 4)};
}

void ExpectNear(const GuardedFloats& actual, const GuardedFloats& expected, double tolerance,
                const char* what) {
  for (int64_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], tolerance) << what << " at " << i;
  }
  EXPECT_TRUE(actual.guards_hold()) << what;
}

// A shape, and the longest of the samples that share a row; 0: a row is one sample.
struct Case {
  AttentionShape shape;
  int64_t longest = 0;
  Sinks sinks = Sinks::kNone;

  Arrays MakeArrays(std::mt19937& random) const {
    Arrays arrays(random, shape, sinks);
    if (longest > 0) arrays.records = PackedRows(shape.batch, shape.sequence, longest, random);
    return arrays;
  }
};

std::ostream& operator<<(std::ostream& out, const Case& the_case) {
  return out << the_case.shape << ", samples up to " << the_case.longest
             << (the_case.sinks == Sinks::kSome ? ", sinks" : "");
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const AttentionShape& shape : Shapes()) {
    for (const int64_t longest : {0, 1, 20, 500}) cases.push_back({shape, longest});
    for (const int64_t longest : {0, 20}) cases.push_back({shape, longest, Sinks::kSome});
  }
  return cases;
}

class AttentionTest : public testing::TestWithParam<Case> {};

TEST_P(AttentionTest, HostMatchesTheReference) {
  std::mt19937 random(1);
  Arrays exact = GetParam().MakeArrays(random);
  Arrays host = exact;
  exact.RunReference();
  host.RunHost(2);
  // Inputs are uniform in -1 .. 1, so that a term of a product is 1/4 on average. A score is wrong
  // by the roundings of its head_dim terms, a probability by as much times itself, and an output of
  // at most 1 by that and the roundings of its own sum.
  const AttentionShape& shape = GetParam().shape;
  const double width = static_cast<double>(shape.head_dim);
  const double length = static_cast<double>(shape.sequence);
  const double score = kEpsilon * double{shape.scale} * (4 + std::sqrt(width)) * width / 4;
  const double tolerance = score + kEpsilon * (8 + std::sqrt(length));
  ExpectNear(host.output, exact.output, 2 * tolerance, "output");
  ExpectNear(host.log_sum_exp, exact.log_sum_exp, tolerance + kEpsilon * std::log(length + 1),
             "log_sum_exp");
  // dO . V of width terms of random sign is a few times sqrt(width) / 3; a key is met by the
  // queries of a group with probabilities that add up to about 1 + log(length) each.
  const double dot = 1 + std::sqrt(width);
  const int64_t group = shape.heads / shape.kv_heads;
  const double met = static_cast<double>(group) * (1 + std::log(length + 1));
  ExpectNear(host.output_dot, exact.output_dot, 2 * tolerance * dot, "output_dot");
  const double gradient = 2 * tolerance * dot * double{shape.scale};
  ExpectNear(host.q_gradient, exact.q_gradient, gradient, "q_gradient");
  ExpectNear(host.k_gradient, exact.k_gradient, gradient * met, "k_gradient");
  ExpectNear(host.v_gradient, exact.v_gradient, tolerance * met, "v_gradient");
  if (GetParam().sinks == Sinks::kNone) return;
  // Of every token a probability times output_dot; the sums of 64 of them are rounded 64 times.
  const double tokens = static_cast<double>(shape.batch * shape.sequence);
  ExpectNear(host.sinks_gradient, exact.sinks_gradient,
             tokens * dot * (3 * tolerance + 64 * kEpsilon), "sinks_gradient");
}

// With few key heads the tiles of keys take turns.
TEST_P(AttentionTest, SameBitsForAnyNumberOfWorkers) {
  std::mt19937 random(2);
  const Arrays begin = GetParam().MakeArrays(random);
  Arrays one = begin;
  one.RunHost(1);
  for (const int workers : {2, 3, 5}) {
    Arrays several = begin;
    several.RunHost(workers);
    for (size_t i = 0; i < one.AllResults().size(); ++i) {
      EXPECT_TRUE(SameBits(*one.AllResults()[i], *several.AllResults()[i]))
          << "result " << i << " with " << workers << " workers";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionTest, testing::ValuesIn(Cases()));

TEST(Attention, ReferenceGradientsAreFiniteDifferencesOfTheReference) {
  for (const Case& the_case : {Case{Shape(2, 5, 2, 1, 3)}, Case{Shape(1, 7, 4, 2, 2, 3)},
                               Case{Shape(2, 5, 2, 1, 3), 0, Sinks::kSome},
                               Case{Shape(2, 7, 4, 2, 2, 3), 4, Sinks::kSome}}) {
    std::mt19937 random(3);
    Arrays arrays = the_case.MakeArrays(random);
    arrays.RunReference();
    const auto loss = [&] {
      EXPECT_TRUE(AttentionForwardReference({}, arrays.Forward()).ok());
      double sum = 0;
      for (int64_t i = 0; i < arrays.output.size(); ++i) {
        sum += double{arrays.output[i]} * double{arrays.output_gradient[i]};
      }
      return sum;
    };
    const auto slope = [&](float& at, float step) {
      const float before = at;
      at = before + step;
      const double up = loss();
      at = before - step;
      const double down = loss();
      const double width = double{before + step} - double{at};
      at = before;
      return (up - down) / width;
    };
    // Richardson: the error of second order goes. What is left of fourth order is about step^4; the
    // output has float's roundings, some 60 of them over twice the step.
    const auto check = [&](GuardedFloats& values, const GuardedFloats& gradient) {
      constexpr float kStep = 0.03125f;
      for (int64_t i = 0; i < values.size(); ++i) {
        const double expected = (4 * slope(values[i], kStep) - slope(values[i], 2 * kStep)) / 3;
        ASSERT_NEAR(gradient[i], expected, 8 * kEpsilon / double{kStep} + 1e-6 * 4) << i;
      }
    };
    check(arrays.q, arrays.q_gradient);
    check(arrays.k, arrays.k_gradient);
    check(arrays.v, arrays.v_gradient);
    if (the_case.sinks == Sinks::kSome) check(arrays.sinks, arrays.sinks_gradient);
  }
}

// The softmax with the sink as a column of its own, behind the keys: written down once more, with
// the whole matrix of scores. The column is dropped before the values are weighed.
struct WithSinkColumn {
  std::vector<double> output, log_sum_exp, q_gradient, k_gradient, v_gradient, sinks_gradient;

  explicit WithSinkColumn(const Arrays& in)
      : output(Size(in.q)),
        log_sum_exp(Size(in.log_sum_exp)),
        q_gradient(Size(in.q)),
        k_gradient(Size(in.k)),
        v_gradient(Size(in.v)),
        sinks_gradient(Size(in.sinks)) {
    const AttentionShape& shape = in.shape;
    for (int64_t row = 0; row < shape.batch * shape.sequence; ++row) {
      for (int64_t head = 0; head < shape.heads; ++head) AddQuery(in, row, head);
    }
  }

 private:
  static size_t Size(const GuardedFloats& floats) { return static_cast<size_t>(floats.size()); }
  static size_t At(int64_t row, int64_t heads, int64_t head, int64_t width) {
    return static_cast<size_t>((row * heads + head) * width);
  }

  void AddQuery(const Arrays& in, int64_t row, int64_t head) {
    const AttentionShape& shape = in.shape;
    const auto width = static_cast<size_t>(shape.head_dim);
    const int64_t kv_head = head / (shape.heads / shape.kv_heads);
    const size_t q = At(row, shape.heads, head, shape.head_dim);
    const auto key = [&](int64_t column) {
      const int64_t first = row / shape.sequence * shape.sequence;
      return At(first + column, shape.kv_heads, kv_head, shape.head_dim);
    };
    const auto at = [](const GuardedFloats& floats, size_t i) {
      return double{floats[static_cast<int64_t>(i)]};
    };
    const int64_t t = row % shape.sequence;
    const int64_t begin = t - in.records[static_cast<size_t>(row)].position;
    // Column `sequence` is the sink's.
    std::vector<double> p(static_cast<size_t>(shape.sequence) + 1);
    std::vector<double> dp(p.size());
    double sum = 0;
    for (int64_t column = 0; column < shape.sequence; ++column) {
      const bool sees =
          column >= begin && column <= t && (shape.window == 0 || t - column < shape.window);
      if (!sees) continue;
      double score = 0;
      for (size_t d = 0; d < width; ++d) {
        score += at(in.q, q + d) * at(in.k, key(column) + d);
        dp[static_cast<size_t>(column)] +=
            at(in.output_gradient, q + d) * at(in.v, key(column) + d);
      }
      sum += p[static_cast<size_t>(column)] = std::exp(double{shape.scale} * score);
    }
    sum += p.back() = std::exp(double{in.sinks[head]});
    log_sum_exp[q / width] = std::log(sum);
    double mean = 0;
    for (size_t column = 0; column < p.size(); ++column) mean += (p[column] /= sum) * dp[column];
    for (int64_t column = 0; column < shape.sequence; ++column) {
      const double weight = p[static_cast<size_t>(column)];
      const double ds = double{shape.scale} * weight * (dp[static_cast<size_t>(column)] - mean);
      for (size_t d = 0; d < width; ++d) {
        output[q + d] += weight * at(in.v, key(column) + d);
        q_gradient[q + d] += ds * at(in.k, key(column) + d);
        k_gradient[key(column) + d] += ds * at(in.q, q + d);
        v_gradient[key(column) + d] += weight * at(in.output_gradient, q + d);
      }
    }
    sinks_gradient[static_cast<size_t>(head)] += p.back() * (dp.back() - mean);
  }
};

TEST(Attention, ReferenceWithSinksIsASoftmaxWithOneColumnMore) {
  for (const Case& the_case :
       {Case{Shape(1, 1, 1, 1, 1), 0, Sinks::kSome}, Case{Shape(2, 19, 4, 2, 3), 0, Sinks::kSome},
        Case{Shape(2, 30, 6, 2, 5, 7), 0, Sinks::kSome},
        Case{Shape(2, 40, 2, 1, 4, 9), 13, Sinks::kSome}}) {
    SCOPED_TRACE(testing::PrintToString(the_case));
    std::mt19937 random(11);
    Arrays arrays = the_case.MakeArrays(random);
    arrays.RunReference();
    const WithSinkColumn expected(arrays);
    // Both are sums in double, rounded to fp32 once.
    const auto expect_equal = [](const GuardedFloats& got, const std::vector<double>& wanted,
                                 const char* what) {
      for (int64_t i = 0; i < got.size(); ++i) {
        const double value = wanted[static_cast<size_t>(i)];
        ASSERT_NEAR(got[i], value, kEpsilon * std::fabs(value) + 1e-12) << what << " at " << i;
      }
    };
    expect_equal(arrays.output, expected.output, "output");
    expect_equal(arrays.log_sum_exp, expected.log_sum_exp, "log_sum_exp");
    expect_equal(arrays.q_gradient, expected.q_gradient, "q_gradient");
    expect_equal(arrays.k_gradient, expected.k_gradient, "k_gradient");
    expect_equal(arrays.v_gradient, expected.v_gradient, "v_gradient");
    expect_equal(arrays.sinks_gradient, expected.sinks_gradient, "sinks_gradient");
  }
}

// Far below the scores a sink is nothing, not even a rounding; far above them it takes everything.
TEST(Attention, SinksFarFromTheScores) {
  for (const int64_t window : {0, 50}) {
    std::mt19937 random(12);
    Arrays without(random, Shape(2, 300, 4, 2, 24, window));
    without.records = PackedRows(2, 300, 90, random);
    Arrays low = without;
    low.has_sinks = Sinks::kSome;
    for (float& sink : low.sinks.span()) sink = -1e4f;
    Arrays high = low;
    for (float& sink : high.sinks.span()) sink = 1e4f;
    without.RunHost(2);
    low.RunHost(2);
    high.RunHost(2);
    for (size_t i = 0; i < low.Results().size(); ++i) {
      EXPECT_TRUE(SameBits(*low.Results()[i], *without.Results()[i])) << "result " << i;
    }
    for (const float value : low.sinks_gradient.span()) EXPECT_EQ(value, 0.0f);
    for (const float value : high.log_sum_exp.span()) EXPECT_EQ(value, 1e4f);
    for (const GuardedFloats* result : {&high.output, &high.q_gradient, &high.k_gradient,
                                        &high.v_gradient, &high.sinks_gradient}) {
      for (const float value : result->span()) EXPECT_EQ(value, 0.0f);
    }
  }
}

// Backward takes the sinks out of log_sum_exp: frozen ones change no other gradient.
TEST(Attention, FrozenSinksHaveNoGradient) {
  std::mt19937 random(13);
  Arrays trained(random, Shape(2, 130, 4, 2, 24), Sinks::kSome);
  Arrays frozen = trained;
  trained.RunHost(2);
  KernelLane lane(2);
  ASSERT_TRUE(AttentionForwardHost(lane.context(), frozen.Forward()).ok());
  AttentionBackward args = frozen.Backward();
  args.sinks_gradient = {};
  ASSERT_TRUE(AttentionBackwardHost(lane.context(), args).ok());
  for (size_t i = 0; i < trained.Results().size(); ++i) {
    EXPECT_TRUE(SameBits(*trained.Results()[i], *frozen.Results()[i])) << "result " << i;
  }
  for (const float value : frozen.sinks_gradient.span()) EXPECT_TRUE(std::isnan(value));
  args.sinks = {};
  args.sinks_gradient = {.sum = frozen.sinks_gradient.data()};
  EXPECT_TRUE(absl::IsInvalidArgument(AttentionBackwardHost(lane.context(), args)));
}

TEST(Attention, ASequenceOfABatchIsWhatItIsAlone) {
  std::mt19937 random(4);
  Arrays both(random, Shape(2, 130, 4, 2, 24, 50), Sinks::kSome);
  both.RunHost(2);
  Arrays second(random, Shape(1, 130, 4, 2, 24, 50), Sinks::kSome);
  second.sinks = both.sinks;
  const auto copy_second = [](const GuardedFloats& from, GuardedFloats& to) {
    for (int64_t i = 0; i < to.size(); ++i) to[i] = from[to.size() + i];
  };
  copy_second(both.q, second.q);
  copy_second(both.k, second.k);
  copy_second(both.v, second.v);
  copy_second(both.output_gradient, second.output_gradient);
  second.RunHost(1);
  for (size_t i = 0; i < second.Results().size(); ++i) {
    GuardedFloats part(second.Results()[i]->size());
    copy_second(*both.Results()[i], part);
    EXPECT_TRUE(SameBits(part, *second.Results()[i])) << "result " << i;
  }
}

// Rows of two samples, the second of which begins anywhere and takes several tiles.
TEST(Attention, ASampleOfAPackedRowIsWhatItIsAlone) {
  for (const int64_t first : {1, 40, 64, 300, 330}) {
    for (const int64_t window : {0, 50}) {
      std::mt19937 random(8);
      const int64_t second = 290;
      const Sinks sinks = window > 0 ? Sinks::kSome : Sinks::kNone;
      Arrays packed(random, Shape(1, first + second, 4, 2, 24, window), sinks);
      for (int64_t t = first; t < first + second; ++t) {
        packed.records[static_cast<size_t>(t)].position = static_cast<int32_t>(t - first);
      }
      packed.RunHost(2);
      Arrays alone(random, Shape(1, second, 4, 2, 24, window), sinks);
      alone.sinks = packed.sinks;
      const auto copy_second = [](const GuardedFloats& from, GuardedFloats& to) {
        for (int64_t i = 0; i < to.size(); ++i) to[i] = from[from.size() - to.size() + i];
      };
      copy_second(packed.q, alone.q);
      copy_second(packed.k, alone.k);
      copy_second(packed.v, alone.v);
      copy_second(packed.output_gradient, alone.output_gradient);
      alone.RunHost(1);
      // Tiles begin where the sample begins: not even the order of a sum differs.
      for (size_t i = 0; i < alone.Results().size(); ++i) {
        GuardedFloats part(alone.Results()[i]->size());
        copy_second(*packed.Results()[i], part);
        EXPECT_TRUE(SameBits(part, *alone.Results()[i]))
            << "result " << i << " behind " << first << " tokens, window " << window;
      }
    }
  }
}

TEST(Attention, NothingLeaksBetweenTheSamplesOfARow) {
  std::mt19937 random(9);
  Arrays arrays(random, Shape(2, 400, 4, 2, 16));
  arrays.records = PackedRows(2, 400, 90, random);
  Arrays changed = arrays;
  arrays.RunHost(2);
  // Another sample's values may be anything finite, and its gradient too.
  const int64_t begin = 400 + 150 - arrays.records[400 + 150].position;
  int64_t end = begin + 1;
  while (end < 800 && arrays.records[static_cast<size_t>(end)].position > 0) ++end;
  const auto within = [&](int64_t i, int64_t values) {
    const int64_t token = i / (values / 800);
    return begin <= token && token < end;
  };
  for (GuardedFloats* array : {&changed.q, &changed.k, &changed.v, &changed.output_gradient}) {
    for (int64_t i = 0; i < array->size(); ++i) {
      if (!within(i, array->size())) (*array)[i] *= -700.0f;
    }
  }
  changed.RunHost(2);
  for (size_t r = 0; r < arrays.Results().size(); ++r) {
    const GuardedFloats& before = *arrays.Results()[r];
    for (int64_t i = 0; i < before.size(); ++i) {
      if (!within(i, before.size())) continue;
      ASSERT_EQ(before[i], (*changed.Results()[r])[i]) << r;
    }
  }
}

// More tokens than a run may have, in a window that the reference can follow.
TEST(Attention, HalfAMillionTokensInAWindow) {
  std::mt19937 random(10);
  Arrays exact(random, Shape(1, (int64_t{1} << 19) + 5, 1, 1, 2, 3));
  Arrays host = exact;
  exact.RunReference();
  host.RunHost(2);
  // Of three terms of size 1.
  for (size_t i = 0; i < host.Results().size(); ++i) {
    ExpectNear(*host.Results()[i], *exact.Results()[i], 100 * kEpsilon, "result");
  }
}

TEST(Attention, AWindowOfOneGivesBackTheValues) {
  std::mt19937 random(5);
  Arrays arrays(random, Shape(1, 200, 2, 2, 16, 1));
  arrays.RunHost(2);
  EXPECT_TRUE(SameBits(arrays.output, arrays.v));
  EXPECT_TRUE(SameBits(arrays.v_gradient, arrays.output_gradient));
}

TEST(Attention, HugeScoresDoNotOverflow) {
  // Whole numbers, so that the scores are the same in both bodies: up to 40,000, and -40,000.
  std::mt19937 random(6);
  AttentionShape shape = Shape(1, 300, 2, 1, 16);
  shape.scale = 1.0f;
  Arrays exact(random, shape);
  for (float& value : exact.q.span()) value = std::round(value * 50);
  for (float& value : exact.k.span()) value = std::round(value * 50);
  Arrays host = exact;
  exact.RunReference();
  host.RunHost(2);
  // A score and its log_sum_exp of 40,000 are 2^-8 apart when they differ at all, in the backward
  // pass too.
  ExpectNear(host.output, exact.output, 1e-5, "output");
  ExpectNear(host.log_sum_exp, exact.log_sum_exp, 40'000 * kEpsilon, "log_sum_exp");
  for (const GuardedFloats* result : host.Results()) {
    for (const float value : result->span()) ASSERT_TRUE(std::isfinite(value));
  }
}

TEST(Attention, ScaleMultipliesTheScores) {
  std::mt19937 random(7);
  Arrays scaled(random, Shape(1, 150, 2, 1, 8));
  scaled.shape.scale = 0.25f;
  Arrays folded = scaled;
  folded.shape.scale = 1.0f;
  for (float& value : folded.q.span()) value *= 0.25f;
  scaled.RunHost(2);
  folded.RunHost(2);
  // A power of two changes no rounding.
  EXPECT_TRUE(SameBits(scaled.output, folded.output));
  EXPECT_TRUE(SameBits(scaled.log_sum_exp, folded.log_sum_exp));
  EXPECT_TRUE(SameBits(scaled.k_gradient, folded.k_gradient));
  for (float& value : folded.q_gradient.span()) value *= 0.25f;
  EXPECT_TRUE(SameBits(scaled.q_gradient, folded.q_gradient));
}

TEST(Attention, ImpossibleShapesAreRefused) {
  KernelLane lane(1);
  for (int broken = 0; broken < 8; ++broken) {
    AttentionShape shape = Shape(1, 4, 4, 2, 8);
    if (broken == 0) shape.batch = -1;
    if (broken == 1) shape.sequence = -1;
    if (broken == 2) shape.heads = 3;
    if (broken == 3) shape.kv_heads = 0;
    if (broken == 4) shape.head_dim = 0;
    if (broken == 5) shape.head_dim = kMaxHeadDim + 1;
    if (broken == 6) shape.window = -1;
    if (broken == 7) shape.heads = 0;
    EXPECT_TRUE(absl::IsInvalidArgument(AttentionForwardHost(lane.context(), {.shape = shape})));
    EXPECT_TRUE(absl::IsInvalidArgument(AttentionBackwardHost(lane.context(), {.shape = shape})));
  }
}

}  // namespace
}  // namespace horizon
