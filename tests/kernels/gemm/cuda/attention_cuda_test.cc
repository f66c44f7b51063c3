#include <gtest/gtest.h>

#include <ostream>

#include "kernels/attention/attention.h"
#include "tests/kernels/gemm/cuda/device_lane.h"
#include "tests/kernels/support/bf16_values.h"
#include "tests/kernels/support/token_rows.h"

namespace horizon {
namespace {

// A shape, and the longest of the samples that share a row; 0: a row is one sample.
struct Case {
  int64_t batch, sequence, heads, kv_heads, head_dim, window, longest;
  bool has_sinks = false;

  AttentionShape shape() const {
    return {.batch = batch,
            .sequence = sequence,
            .heads = heads,
            .kv_heads = kv_heads,
            .head_dim = head_dim,
            .window = window,
            .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)))};
  }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.batch << " x " << c.sequence << ", " << c.heads << "/" << c.kv_heads
             << " heads of " << c.head_dim << ", window " << c.window << ", samples up to "
             << c.longest << (c.has_sinks ? ", sinks" : "");
}

struct Inputs {
  std::vector<TokenRecord> records;
  std::vector<uint16_t> q, k, v, output_gradient;
  std::vector<uint16_t> sinks;  // those of the heads begin behind the first number

  explicit Inputs(const Case& c, uint32_t seed = 1) {
    std::mt19937 random(seed);
    const int64_t tokens = c.batch * c.sequence;
    records = c.longest > 0 ? PackedRows(c.batch, c.sequence, c.longest, random)
                            : WholeRows(c.batch, c.sequence);
    q = RandomBf16(random, tokens * c.heads * c.head_dim);
    k = RandomBf16(random, tokens * c.kv_heads * c.head_dim);
    v = RandomBf16(random, tokens * c.kv_heads * c.head_dim);
    output_gradient = RandomBf16(random, tokens * c.heads * c.head_dim);
    sinks = RandomBf16(random, 1 + c.heads, 3);
  }
};

struct Results {
  std::vector<float> output, log_sum_exp, output_dot, q_gradient, k_gradient, v_gradient;
  std::vector<float> sinks_gradient;

  bool operator==(const Results&) const = default;
};

template <typename T>
ConstValues SinksOf(const Case& c, const T* sinks) {
  return c.has_sinks ? ConstValues(sinks + 1) : ConstValues();
}

Results OnDevice(const Case& c, const Inputs& in, uint64_t seed = 1) {
  const AttentionShape shape = c.shape();
  const int64_t entries = c.batch * c.sequence * c.heads;
  const auto queries = static_cast<int64_t>(in.q.size());
  const auto keys = static_cast<int64_t>(in.k.size());
  Results results;
  std::vector<uint16_t> output;
  {
    DeviceLane lane(seed, AttentionForwardWorkspaceBytes(shape));
    auto* out = lane.Allocate<uint16_t>(in.q.size());
    auto* lse = lane.Allocate<float>(static_cast<size_t>(entries));
    EXPECT_EQ(AttentionForwardCuda(lane.context(), {.shape = shape,
                                                    .records = lane.Upload(in.records),
                                                    .q = lane.Upload(in.q),
                                                    .k = lane.Upload(in.k),
                                                    .v = lane.Upload(in.v),
                                                    .sinks = SinksOf(c, lane.Upload(in.sinks)),
                                                    .output = out,
                                                    .log_sum_exp = lse}),
              absl::OkStatus());
    output = lane.Download(out, queries);
    results.output = Widened(output);
    results.log_sum_exp = lane.Download(lse, entries);
  }
  DeviceLane lane(seed, AttentionBackwardWorkspaceBytes(shape));
  auto* dot = lane.Allocate<float>(static_cast<size_t>(entries));
  auto* dq = lane.Allocate<uint16_t>(in.q.size());
  auto* dk = lane.Allocate<uint16_t>(in.k.size());
  auto* dv = lane.Allocate<uint16_t>(in.k.size());
  auto* dsinks = lane.Allocate<float>(static_cast<size_t>(c.heads));
  EXPECT_EQ(AttentionBackwardCuda(lane.context(),
                                  {.shape = shape,
                                   .records = lane.Upload(in.records),
                                   .q = lane.Upload(in.q),
                                   .k = lane.Upload(in.k),
                                   .v = lane.Upload(in.v),
                                   .sinks = SinksOf(c, lane.Upload(in.sinks)),
                                   .output = lane.Upload(output),
                                   .log_sum_exp = lane.Upload(results.log_sum_exp),
                                   .output_gradient = lane.Upload(in.output_gradient),
                                   .output_dot = dot,
                                   .q_gradient = dq,
                                   .k_gradient = dk,
                                   .v_gradient = dv,
                                   .sinks_gradient = {.sum = c.has_sinks ? dsinks : nullptr}}),
            absl::OkStatus());
  results.output_dot = lane.Download(dot, entries);
  results.q_gradient = Widened(lane.Download(dq, queries));
  results.k_gradient = Widened(lane.Download(dk, keys));
  results.v_gradient = Widened(lane.Download(dv, keys));
  if (c.has_sinks) results.sinks_gradient = lane.Download(dsinks, c.heads);
  return results;
}

Results Reference(const Case& c, const Inputs& in) {
  const AttentionShape shape = c.shape();
  const auto entries = static_cast<size_t>(c.batch * c.sequence * c.heads);
  const std::vector<float> q = Widened(in.q), k = Widened(in.k), v = Widened(in.v);
  const std::vector<float> output_gradient = Widened(in.output_gradient), sinks = Widened(in.sinks);
  Results r;
  if (c.has_sinks) r.sinks_gradient.resize(static_cast<size_t>(c.heads));
  for (auto* array : {&r.output, &r.q_gradient}) array->resize(q.size());
  for (auto* array : {&r.k_gradient, &r.v_gradient}) array->resize(k.size());
  for (auto* array : {&r.log_sum_exp, &r.output_dot}) array->resize(entries);
  EXPECT_TRUE(AttentionForwardReference({}, {.shape = shape,
                                             .records = in.records.data(),
                                             .q = q.data(),
                                             .k = k.data(),
                                             .v = v.data(),
                                             .sinks = SinksOf(c, sinks.data()),
                                             .output = r.output.data(),
                                             .log_sum_exp = r.log_sum_exp.data()})
                  .ok());
  EXPECT_TRUE(AttentionBackwardReference(
                  {}, {.shape = shape,
                       .records = in.records.data(),
                       .q = q.data(),
                       .k = k.data(),
                       .v = v.data(),
                       .sinks = SinksOf(c, sinks.data()),
                       .output = r.output.data(),
                       .log_sum_exp = r.log_sum_exp.data(),
                       .output_gradient = output_gradient.data(),
                       .output_dot = r.output_dot.data(),
                       .q_gradient = r.q_gradient.data(),
                       .k_gradient = r.k_gradient.data(),
                       .v_gradient = r.v_gradient.data(),
                       .sinks_gradient = {.sum = c.has_sinks ? r.sinks_gradient.data() : nullptr}})
                  .ok());
  return r;
}

double Largest(const std::vector<float>& values) {
  double largest = 0;
  for (const float value : values) largest = std::fmax(largest, std::fabs(value));
  return largest;
}

// The square root of the mean square of the differences.
double Off(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - double{b[i]}, 2);
  return a.empty() ? 0 : std::sqrt(sum / static_cast<double>(a.size()));
}
double Size(const std::vector<float>& a) { return Off(a, std::vector<float>(a.size())); }

// The square root of the sum over all tokens of the squares of p |output| |output_gradient|, where
// p is the probability of the head's sink: how large a sum of p x output_dot is whose terms have
// random signs and do not vanish within a token.
std::vector<double> SinkGradientSizes(const Case& c, const Inputs& in, const Results& exact) {
  std::vector<double> sizes(static_cast<size_t>(c.heads));
  const std::vector<float> output_gradient = Widened(in.output_gradient);
  const auto length = [&](const std::vector<float>& values, size_t entry) {
    double sum = 0;
    for (int64_t d = 0; d < c.head_dim; ++d) {
      sum += std::pow(
          double{values[entry * static_cast<size_t>(c.head_dim) + static_cast<size_t>(d)]}, 2);
    }
    return std::sqrt(sum);
  };
  for (size_t entry = 0; entry < exact.log_sum_exp.size(); ++entry) {
    const size_t head = entry % sizes.size();
    const double p =
        std::exp(double{Widened(in.sinks[1 + head])} - double{exact.log_sum_exp[entry]});
    sizes[head] += std::pow(p * length(exact.output, entry) * length(output_gradient, entry), 2);
  }
  for (double& size : sizes) size = std::sqrt(size);
  return sizes;
}

class AttentionCudaTest : public testing::TestWithParam<Case> {};

TEST_P(AttentionCudaTest, MatchesTheReference) {
  const Case& c = GetParam();
  const Inputs in(c);
  const Results expected = Reference(c, in);
  const Results actual = OnDevice(c, in);
  const auto width = static_cast<double>(c.head_dim);
  // Values are at most 1. Probabilities are rounded to bf16 before they weigh values, the sum of
  // them is rounded to bf16: two units of at most 1. Scores are sums of `width` terms in fp32.
  const double score = 2 * (width + 2) * std::sqrt(width) * kFp32Unit;
  ExpectNear("output", actual.output, expected.output,
             [&](size_t) { return 2 * kBf16Unit + 2 * score; });
  ExpectNear("log_sum_exp", actual.log_sum_exp, expected.log_sum_exp, [&](size_t i) {
    return score + (static_cast<double>(c.sequence) / 16 + 16) * kFp32Unit +
           4 * kFp32Unit * std::fabs(expected.log_sum_exp[i]);
  });
  ExpectNear("output_dot", actual.output_dot, expected.output_dot,
             [&](size_t) { return (2 * kBf16Unit + 2 * score) * width; });
  // Four roundings to bf16 lie on the way to a gradient (output, probability, gradient of the
  // score, the gradient itself), each of one unit of its size. Their signs are random, so that no
  // element is off by much more than that of the largest, and all of them by less on the mean.
  // Where the exact gradient vanishes (a sample's first token) fp32 sums of `width` terms are what
  // is left.
  const double floor = width * std::sqrt(width) * kFp32Unit;
  const auto expect_gradient = [&](const char* what, const std::vector<float>& a,
                                   const std::vector<float>& e) {
    const double bound = 8 * kBf16Unit * Largest(e) + floor;
    ExpectNear(what, a, e, [&](size_t) { return bound; });
    EXPECT_LE(Off(a, e), 2 * kBf16Unit * Size(e) + floor) << what;
  };
  expect_gradient("q_gradient", actual.q_gradient, expected.q_gradient);
  expect_gradient("k_gradient", actual.k_gradient, expected.k_gradient);
  expect_gradient("v_gradient", actual.v_gradient, expected.v_gradient);
  if (!c.has_sinks) return;
  // A token's output_dot is off by roundings of its output to bf16, of random signs.
  const std::vector<double> sizes = SinkGradientSizes(c, in, expected);
  const double tokens = static_cast<double>(c.batch * c.sequence);
  ExpectNear("sinks_gradient", actual.sinks_gradient, expected.sinks_gradient,
             [&](size_t head) { return 4 * kBf16Unit * sizes[head] + tokens * floor; });
}

TEST_P(AttentionCudaTest, NoOrderOfBlocksChangesABit) {
  const Inputs in(GetParam());
  EXPECT_TRUE(OnDevice(GetParam(), in, 2) == OnDevice(GetParam(), in, 3));
}

// Around tiles of 256 queries and 512 keys, windows within a tile and beyond, groups of 1, 2, 7.
INSTANTIATE_TEST_SUITE_P(Shapes, AttentionCudaTest,
                         testing::Values(Case{1, 1, 1, 1, 8, 0, 0}, Case{2, 3, 2, 1, 8, 0, 0},
                                         Case{3, 33, 4, 2, 24, 0, 7}, Case{1, 256, 2, 1, 16, 0, 0},
                                         Case{1, 257, 2, 1, 16, 0, 90}, Case{1, 70, 7, 1, 64, 0, 0},
                                         Case{1, 300, 2, 2, 8, 9, 0}, Case{1, 613, 2, 1, 16, 0, 0},
                                         Case{1, 613, 2, 1, 8, 60, 400},
                                         Case{2, 530, 1, 1, 8, 0, 100},
                                         Case{1, 1100, 1, 1, 8, 200, 0},
                                         Case{1, 40, 2, 1, 256, 0, 0}, Case{1, 40, 1, 1, 512, 0, 0},
                                         Case{0, 5, 2, 1, 8, 0, 0}, Case{2, 0, 2, 1, 8, 0, 0}));

// A query that sees no key of its first tile has its sink all the same, and once: windows and
// samples that begin in later tiles. A token that sees itself alone, beside a small sink, has
// gradients below the roundings of its output: they are held against those of a second token.
INSTANTIATE_TEST_SUITE_P(
    Sinks, AttentionCudaTest,
    testing::Values(Case{2, 2, 1, 1, 8, 0, 0, true}, Case{3, 33, 4, 2, 24, 0, 7, true},
                    Case{1, 257, 2, 1, 16, 0, 90, true}, Case{1, 70, 7, 1, 64, 0, 0, true},
                    Case{1, 613, 2, 1, 16, 0, 0, true}, Case{1, 613, 2, 1, 8, 60, 400, true},
                    Case{2, 530, 2, 1, 8, 0, 100, true}, Case{1, 1100, 2, 2, 8, 200, 0, true},
                    Case{1, 40, 1, 1, 512, 0, 0, true}, Case{0, 5, 2, 1, 8, 0, 0, true},
                    Case{2, 0, 2, 1, 8, 0, 0, true}));

// A sample gets the bits it has when the other sample of its row is another one.
TEST(AttentionCuda, SamplesOfARowAddExactlyNothingToEachOther) {
  const Case c = {1, 600, 2, 1, 8, 0, 0};
  constexpr int64_t kFirst = 301;
  Inputs one(c, 1);
  for (int64_t t = kFirst; t < c.sequence; ++t) {
    one.records[static_cast<size_t>(t)].position = static_cast<int32_t>(t - kFirst);
  }
  Inputs other = one;
  const Inputs source(c, 2);
  const auto replace = [&](std::vector<uint16_t>& to, const std::vector<uint16_t>& from,
                           int64_t width) {
    std::copy(from.begin() + kFirst * width, from.end(), to.begin() + kFirst * width);
  };
  replace(other.q, source.q, 16);
  replace(other.k, source.k, 8);
  replace(other.v, source.v, 8);
  replace(other.output_gradient, source.output_gradient, 16);
  const Results a = OnDevice(c, one);
  const Results b = OnDevice(c, other);
  const auto same = [&](const std::vector<float>& x, const std::vector<float>& y, int64_t width) {
    return std::equal(x.begin(), x.begin() + kFirst * width, y.begin());
  };
  EXPECT_TRUE(same(a.output, b.output, 16));
  EXPECT_TRUE(same(a.log_sum_exp, b.log_sum_exp, 2));
  EXPECT_TRUE(same(a.q_gradient, b.q_gradient, 16));
  EXPECT_TRUE(same(a.k_gradient, b.k_gradient, 8));
  EXPECT_TRUE(same(a.v_gradient, b.v_gradient, 8));
  EXPECT_FALSE(a == b);
}

TEST(AttentionCuda, RefusesWhatItDoesNotPromise) {
  const Case c = {1, 4, 2, 1, 8, 0, 0};
  const Inputs in(c);
  const uint64_t bytes = AttentionForwardWorkspaceBytes(c.shape());
  for (const uint64_t given : {bytes, bytes - 1, uint64_t{0}}) {
    DeviceLane lane(1, given);
    AttentionForward args = {.shape = c.shape(),
                             .records = lane.Upload(in.records),
                             .q = lane.Upload(in.q),
                             .k = lane.Upload(in.k),
                             .v = lane.Upload(in.v),
                             .output = lane.Allocate<uint16_t>(in.q.size()),
                             .log_sum_exp = lane.Allocate<float>(8)};
    EXPECT_EQ(AttentionForwardCuda(lane.context(), args).ok(), given == bytes);
    args.shape.head_dim = 4;
    EXPECT_EQ(AttentionForwardCuda(lane.context(), args).code(),
              absl::StatusCode::kInvalidArgument);
    args.shape.head_dim = 8;
    args.sinks = lane.Allocate<float>(2);
    EXPECT_NE(AttentionForwardCuda(lane.context(), args), absl::OkStatus());
  }
}

// Twice the sequence takes at most twice the memory.
TEST(AttentionCuda, WorkspaceIsLinearInTheSequence) {
  AttentionShape shape = Case{1, 4096, 28, 4, 128, 0, 0}.shape();
  const uint64_t forward = AttentionForwardWorkspaceBytes(shape);
  const uint64_t backward = AttentionBackwardWorkspaceBytes(shape);
  shape.sequence = 8192;
  EXPECT_EQ(AttentionForwardWorkspaceBytes(shape), forward);
  EXPECT_EQ(AttentionBackwardWorkspaceBytes(shape) - backward, uint64_t{2} * 4096 * 4 * 128 * 4);
}

}  // namespace
}  // namespace horizon
