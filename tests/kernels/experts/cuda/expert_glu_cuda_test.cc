#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/experts/expert_glu.h"
#include "tests/kernels/cuda/cuda_kernel_test.h"
#include "tests/kernels/cuda/device_array.h"
#include "tests/kernels/experts/cuda/routed_tokens.h"
#include "tests/kernels/gelu_error.h"
#include "tests/kernels/support/bf16_values.h"

namespace horizon {
namespace {

class ExpertGluCudaTest : public CudaKernelTest {};
INSTANTIATE_TEST_SUITE_P(Offset, ExpertGluCudaTest, testing::Values(0, 1, 8));

// What the units of a case compute.
struct Form {
  GluActivation activation;
  GateUpLayout layout;
  float limit;
  float alpha;
};
const Form kForms[] = {{GluActivation::kSilu, GateUpLayout::kHalves, 0.0f, 1.0f},
                       {GluActivation::kGeluTanh, GateUpLayout::kInterleaved, 0.0f, 1.0f},
                       {GluActivation::kSilu, GateUpLayout::kHalves, 2.5f, 1.702f},
                       {GluActivation::kSilu, GateUpLayout::kInterleaved, 2.5f, 1.702f}};

// Rows of several experts. Rows before the first one's and behind the last one's belong to others.
constexpr int32_t kRowsBefore = 3;
constexpr int32_t kRowsBehind = 2;

struct Rows {
  Rows(const Form& form_of, const std::vector<int32_t>& of_experts, int64_t width_of,
       int64_t hidden_of, uint32_t seed)
      : form(form_of),
        width(width_of),
        hidden(hidden_of),
        begins(BeginsOf(of_experts, kRowsBefore)),
        random(seed) {
    most_rows = begins.back() + kRowsBehind;
    tokens = most_rows / 2 + 1;
    gate_up = RandomBf16(random, most_rows * 2 * width, 6.0f);
    // Where e^x and e^-x overflow, the limits themselves, and zeros.
    const std::vector<float> far = {-100.0f, 100.0f, -88.5f, 88.5f, 0.0f, -0.0f, 2.5f, -2.5f};
    for (size_t i = 0; i < gate_up.size(); i += 11) gate_up[i] = Narrowed(far[i / 11 % far.size()]);
    output_gradient = RandomBf16(random, most_rows * width);
    row_pairs = RandomOrder(most_rows, random);
    weights = RandomFp32(random, most_rows);
    down_bias = RandomBf16(random, static_cast<int64_t>(of_experts.size()) * bias_stride());
    down_gradient = RandomBf16(random, tokens * hidden);
    row_tokens = RandomRows(most_rows, tokens, random);
  }
  int64_t bias_stride() const { return hidden + 3; }
  int64_t experts() const { return static_cast<int64_t>(begins.size()) - 1; }
  bool is_row(int64_t row) const { return row >= begins.front() && row < begins.back(); }
  ExpertGluShape Shape() const {
    return {.activation = form.activation,
            .layout = form.layout,
            .limit = form.limit,
            .alpha = form.alpha,
            .width = width,
            .experts = experts(),
            .begins = begins.data(),
            .most_rows = most_rows,
            .row_pairs = row_pairs.data(),
            .weights = weights.data()};
  }
  // Where gate number j of a row is stored, and the up beside it.
  size_t GateAt(int64_t row, int64_t j) const {
    return static_cast<size_t>(row * 2 * width +
                               (form.layout == GateUpLayout::kHalves ? j : 2 * j));
  }
  size_t UpAt(int64_t row, int64_t j) const {
    return GateAt(row, j) + static_cast<size_t>(form.layout == GateUpLayout::kHalves ? width : 1);
  }

  Form form;
  int64_t width;
  int64_t hidden;
  std::vector<int32_t> begins;
  std::mt19937 random;
  int64_t most_rows = 0;
  int64_t tokens = 0;
  std::vector<uint16_t> gate_up, output_gradient;
  std::vector<int32_t> row_pairs;
  std::vector<float> weights;
  std::vector<uint16_t> down_bias, down_gradient;
  std::vector<int32_t> row_tokens;
};

struct Results {
  std::vector<uint16_t> forward;
  std::vector<uint16_t> output;
  std::vector<uint16_t> gate_up_gradient;
  std::vector<float> weight_gradient;
  bool operator==(const Results&) const = default;
};
constexpr uint16_t kUnwritten = 0x4321;
constexpr float kUnwrittenWeight = 1234.5f;

// In one call, or in one for each of these ranges of experts.
Results OnCuda(const Rows& rows, const std::vector<int64_t>& borders, int64_t offset,
               uint64_t seed) {
  const CudaStream stream(seed);
  const std::vector<uint16_t> empty(rows.output_gradient.size(), kUnwritten);
  const std::vector<uint16_t> two_empty(rows.gate_up.size(), kUnwritten);
  const DeviceArray<int32_t> begins(stream, rows.begins, 0);
  const DeviceArray<int32_t> row_pairs(stream, rows.row_pairs, 0);
  const DeviceArray<int32_t> row_tokens(stream, rows.row_tokens, 0);
  const DeviceArray<float> weights(stream, rows.weights, offset);
  const DeviceArray<uint16_t> gate_up(stream, rows.gate_up, offset);
  const DeviceArray<uint16_t> output_gradient(stream, rows.output_gradient, offset);
  const DeviceArray<uint16_t> down_bias(stream, rows.down_bias, offset);
  const DeviceArray<uint16_t> down_gradient(stream, rows.down_gradient, offset);
  const DeviceArray<uint16_t> forward(stream, empty, offset);
  const DeviceArray<uint16_t> output(stream, empty, offset);
  const DeviceArray<uint16_t> gate_up_gradient(stream, two_empty, offset);
  const DeviceArray<float> weight_gradient(
      stream, std::vector<float>(rows.weights.size(), kUnwrittenWeight), offset);
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    ExpertGluShape shape = rows.Shape();
    shape.begins = begins.data() + borders[i];
    shape.experts = borders[i + 1] - borders[i];
    shape.row_pairs = row_pairs.data();
    shape.weights = weights.data();
    const absl::Status went = ExpertGluForwardCuda(
        stream.context(), {.shape = shape, .gate_up = gate_up.data(), .output = forward.data()});
    EXPECT_TRUE(went.ok()) << went;
    ExpertGluBackward backward = {.shape = shape,
                                  .gate_up = gate_up.data(),
                                  .output_gradient = output_gradient.data(),
                                  .output = output.data(),
                                  .gate_up_gradient = gate_up_gradient.data(),
                                  .weight_gradient = weight_gradient.data()};
    if (rows.hidden > 0) {
      backward.down_bias = down_bias.data() + borders[i] * rows.bias_stride();
      backward.down_bias_expert_stride = rows.bias_stride();
      backward.hidden = rows.hidden;
      backward.down_gradient = down_gradient.data();
      backward.row_tokens = row_tokens.data();
    }
    const absl::Status came = ExpertGluBackwardCuda(stream.context(), backward);
    EXPECT_TRUE(came.ok()) << came;
  }
  return {forward.Read(), output.Read(), gate_up_gradient.Read(), weight_gradient.Read()};
}

struct Expected {
  std::vector<float> output;
  std::vector<float> gate_up_gradient;
  std::vector<float> weight_gradient;
};

Expected ByReference(const Rows& rows) {
  const std::vector<float> gate_up = Widened(rows.gate_up);
  const std::vector<float> output_gradient = Widened(rows.output_gradient);
  const std::vector<float> down_bias = Widened(rows.down_bias);
  const std::vector<float> down_gradient = Widened(rows.down_gradient);
  const float unwritten = Widened(kUnwritten);
  Expected expected = {std::vector<float>(output_gradient.size(), unwritten),
                       std::vector<float>(gate_up.size(), unwritten),
                       std::vector<float>(rows.weights.size(), kUnwrittenWeight)};
  ExpertGluBackward args = {.shape = rows.Shape(),
                            .gate_up = gate_up.data(),
                            .output_gradient = output_gradient.data(),
                            .output = expected.output.data(),
                            .gate_up_gradient = expected.gate_up_gradient.data(),
                            .weight_gradient = expected.weight_gradient.data()};
  if (rows.hidden > 0) {
    args.down_bias = down_bias.data();
    args.down_bias_expert_stride = rows.bias_stride();
    args.hidden = rows.hidden;
    args.down_gradient = down_gradient.data();
    args.row_tokens = rows.row_tokens.data();
  }
  EXPECT_TRUE(ExpertGluBackwardReference({}, args).ok());
  return expected;
}

// What one unit may be off, in units of fp32: the value of the activation relative to it, its slope
// absolutely.
//
// exp is within 2 units on a GPU, and its argument has a rounding where alpha is not 1, so that a
// sigmoid is off by 4 units and the size of its argument. What is smaller than the least normal
// number may become zero.
struct UnitError {
  UnitError(const Form& form, double gate) {
    if (form.limit == 0.0f && form.activation == GluActivation::kGeluTanh) {
      const GeluError gelu(gate);
      value = gelu.value + 2.0;
      slope = gelu.slope + 4.0;
      return;
    }
    const double g = form.limit > 0.0f ? std::fmin(gate, form.limit) : gate;
    const double z = form.alpha * g;
    const double sigmoid = 1.0 / (1.0 + std::exp(-z));
    const double of_sigmoid = 8.0 + 2.0 * std::fabs(z);
    value = of_sigmoid + 4.0;
    // The slope is a sum that may cancel, and 1 - sigmoid has the sigmoid's error, which is not
    // small beside it where that is near 1.
    slope = 2.0 * (sigmoid + std::fabs(z) * sigmoid * (1.0 - sigmoid)) * of_sigmoid +
            2.0 * std::fabs(z) * sigmoid * sigmoid * of_sigmoid;
  }
  double value;
  double slope;
};
constexpr double kTiny = 0x1p-110;

void ExpectNearReference(const Rows& rows, const Results& results) {
  const Expected expected = ByReference(rows);
  const Form& form = rows.form;
  EXPECT_EQ(results.forward, results.output) << "the output again has other bits";
  std::vector<double> output_bound(expected.output.size(), 0.0);
  std::vector<double> gradient_bound(expected.gate_up_gradient.size(), 0.0);
  std::vector<double> weight_bound(expected.weight_gradient.size(), 0.0);
  for (int64_t row = 0; row < rows.most_rows; ++row) {
    if (!rows.is_row(row)) continue;
    const auto pair = static_cast<size_t>(rows.row_pairs[static_cast<size_t>(row)]);
    const double weight = std::fabs(rows.weights[pair]);
    double sizes = 0.0;
    double errors = 0.0;
    for (int64_t j = 0; j < rows.width; ++j) {
      const auto at = static_cast<size_t>(row * rows.width + j);
      const double gate = Widened(rows.gate_up[rows.GateAt(row, j)]);
      double up = Widened(rows.gate_up[rows.UpAt(row, j)]);
      if (form.limit > 0.0f) up = std::clamp<double>(up, -form.limit, form.limit) + 1.0;
      const double gradient = std::fabs(Widened(rows.output_gradient[at]));
      const UnitError error(form, gate);
      // What is lost where a sigmoid has all but vanished: 1 - tanh in the reference, or an
      // exponential that overflows.
      const double lost = std::fmin(std::fabs(gate), 20.0) * 0x1p-50 + kTiny;
      const double value = std::fabs(expected.output[at]) / std::fmax(weight, 1e-30);
      const double off = value * (error.value + 2.0) * kFp32Unit + lost * std::fabs(up);
      output_bound[at] = std::fabs(expected.output[at]) * kBf16Unit + weight * off + kTiny;
      sizes += gradient * value;
      errors += gradient * off;
      const auto bound = [&](size_t i, double of_unit) {
        gradient_bound[i] = std::fabs(expected.gate_up_gradient[i]) * kBf16Unit +
                            2.0 * gradient * weight * of_unit + kTiny;
      };
      bound(rows.GateAt(row, j), std::fabs(up) * (error.slope + 4.0) * kFp32Unit);
      bound(rows.UpAt(row, j), (std::fabs(gate) + 1.0) * (error.value + 2.0) * kFp32Unit + lost);
    }
    // A bias and a gradient are at most 1.
    const auto hidden = static_cast<double>(rows.hidden);
    const double terms = static_cast<double>(rows.width) + hidden;
    weight_bound[pair] = errors + (sizes + hidden) * terms * kFp32Unit + kTiny;
  }
  ExpectNear("output", Widened(results.forward), expected.output,
             [&](size_t i) { return output_bound[i]; });
  ExpectNear("gate_up_gradient", Widened(results.gate_up_gradient), expected.gate_up_gradient,
             [&](size_t i) { return gradient_bound[i]; });
  ExpectNear("weight_gradient", results.weight_gradient, expected.weight_gradient,
             [&](size_t i) { return weight_bound[i]; });
}

TEST_P(ExpertGluCudaTest, EqualsTheReferenceWithTheSameBitsForAnyRangesOfExperts) {
  for (const Form& form : kForms) {
    for (const int64_t width : {8, 40, 264}) {
      for (const int64_t hidden : {0, 1, 256, 300}) {
        const Rows rows(form, {4, 0, 9, 0, 1, 12}, width, hidden, 1);
        const Results first = OnCuda(rows, {0, 6}, 0, 1);
        ExpectNearReference(rows, first);
        EXPECT_EQ(OnCuda(rows, {0, 1, 2, 5, 6}, offset(), 2), first) << width << " x " << hidden;
      }
    }
  }
}

TEST_P(ExpertGluCudaTest, ExpertsMayHaveNoRowsOneOrAll) {
  for (const Form& form : kForms) {
    for (const std::vector<int32_t>& of_experts : std::vector<std::vector<int32_t>>{
             {0}, {1}, {0, 0, 0}, {0, 33, 0}, {0, 0, 7}, {40, 0, 0}}) {
      const Rows rows(form, of_experts, 16, 24, 2);
      ExpectNearReference(rows, OnCuda(rows, {0, rows.experts()}, offset(), 3));
    }
  }
}

// Where gate or up was beyond the limit, and not where it is the limit.
TEST_P(ExpertGluCudaTest, ClampedValuesHaveNoGradient) {
  for (const Form& form : kForms) {
    if (form.limit == 0.0f) continue;
    Rows rows(form, {5, 6}, 48, 0, 3);
    for (const uint16_t gradient : rows.output_gradient) ASSERT_NE(gradient & 0x7FFF, 0);
    const Results results = OnCuda(rows, {0, 2}, offset(), 1);
    int clamped = 0;
    int at_limit = 0;
    for (int64_t row = rows.begins.front(); row < rows.begins.back(); ++row) {
      for (int64_t j = 0; j < rows.width; ++j) {
        const float gate = Widened(rows.gate_up[rows.GateAt(row, j)]);
        const float up = Widened(rows.gate_up[rows.UpAt(row, j)]);
        const float of_gate = Widened(results.gate_up_gradient[rows.GateAt(row, j)]);
        const float of_up = Widened(results.gate_up_gradient[rows.UpAt(row, j)]);
        if (gate > form.limit) {
          EXPECT_EQ(of_gate, 0.0f) << gate;
        }
        if (std::fabs(up) > form.limit) {
          EXPECT_EQ(of_up, 0.0f) << up;
        }
        clamped += gate > form.limit ? 1 : 0;
        clamped += std::fabs(up) > form.limit ? 1 : 0;
        if (gate == form.limit && up != -1.0f) {
          EXPECT_NE(of_gate, 0.0f) << up;
        }
        if (std::fabs(up) == form.limit && std::fabs(gate) < 4.0f && gate != 0.0f) {
          EXPECT_NE(of_up, 0.0f) << gate;
        }
        at_limit += gate == form.limit || std::fabs(up) == form.limit ? 1 : 0;
      }
    }
    EXPECT_GT(clamped, 0);
    EXPECT_GT(at_limit, 0);
  }
}

// More rows than the warps of all thread blocks.
TEST_P(ExpertGluCudaTest, ManyRowsAreStridedOver) {
  if (offset() != 0) return;
  const Rows rows(kForms[0], {20'000, 13'500}, 8, 0, 4);
  ExpectNearReference(rows, OnCuda(rows, {0, 2}, 0, 1));
}

// More units than all threads take at once: rows have the bits that they have alone.
TEST_P(ExpertGluCudaTest, ManyUnitsAreStridedOver) {
  if (offset() != 0) return;
  constexpr int64_t kRows = 4'200;
  constexpr int64_t kWidth = 2'056;
  const auto forward = [&](int64_t rows) {
    std::mt19937 random(5);
    const CudaStream stream;
    const std::vector<uint16_t> row = RandomBf16(random, 2 * kWidth);
    std::vector<uint16_t> all;
    for (int64_t i = 0; i < rows; ++i) all.insert(all.end(), row.begin(), row.end());
    const DeviceArray<uint16_t> gate_up(stream, all, 0);
    const DeviceArray<uint16_t> output(
        stream, std::vector<uint16_t>(static_cast<size_t>(rows * kWidth), kUnwritten), 0);
    const DeviceArray<int32_t> begins(stream, {0, static_cast<int32_t>(rows)}, 0);
    const DeviceArray<int32_t> row_pairs(stream, RandomOrder(rows, random), 0);
    const DeviceArray<float> weights(stream, std::vector<float>(static_cast<size_t>(rows), 0.75f),
                                     0);
    const absl::Status status =
        ExpertGluForwardCuda(stream.context(), {.shape = {.width = kWidth,
                                                          .experts = 1,
                                                          .begins = begins.data(),
                                                          .most_rows = rows,
                                                          .row_pairs = row_pairs.data(),
                                                          .weights = weights.data()},
                                                .gate_up = gate_up.data(),
                                                .output = output.data()});
    EXPECT_TRUE(status.ok()) << status;
    return output.Read();
  };
  const std::vector<uint16_t> one = forward(1);
  const std::vector<uint16_t> all = forward(kRows);
  for (int64_t row = 0; row < kRows; ++row) {
    ASSERT_TRUE(std::equal(one.begin(), one.end(), all.begin() + row * kWidth)) << row;
  }
}

}  // namespace
}  // namespace horizon
