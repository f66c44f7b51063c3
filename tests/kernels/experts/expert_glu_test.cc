#include "kernels/experts/expert_glu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/activation/glu.h"
#include "tests/kernels/each_target.h"
#include "tests/kernels/experts/shared_rows.h"
#include "tests/kernels/gelu_error.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

constexpr double kUnit = 0x1p-24;
constexpr float kLimit = 7.0f;
constexpr float kAlpha = 1.702f;

struct Form {
  const char* name;
  GluActivation activation = GluActivation::kSilu;
  GateUpLayout layout = GateUpLayout::kHalves;
  float limit = 0.0f;
};
constexpr Form kForms[] = {
    {"silu, halves"},
    {"silu, interleaved", GluActivation::kSilu, GateUpLayout::kInterleaved},
    {"gelu, halves", GluActivation::kGeluTanh},
    {"gelu, interleaved", GluActivation::kGeluTanh, GateUpLayout::kInterleaved},
    {"clamped, halves", GluActivation::kSilu, GateUpLayout::kHalves, kLimit},
    {"clamped, interleaved", GluActivation::kSilu, GateUpLayout::kInterleaved, kLimit}};

// Rows begins.front() to begins.back() - 1, of 3 more that belong to no expert.
struct Arrays {
  Form form;
  std::mt19937 random{1};
  std::vector<int32_t> begins;
  int64_t width;
  int64_t rows;
  int64_t hidden = 19;
  std::vector<int32_t> row_pairs;
  std::vector<int32_t> row_tokens;
  GuardedFloats weights, gate_up, output_gradient, down_bias, down_gradient;
  GuardedFloats output, gate_up_gradient, weight_gradient;

  Arrays(const Form& the_form, std::vector<int32_t> the_begins, int64_t the_width)
      : form(the_form),
        begins(std::move(the_begins)),
        width(the_width),
        rows(begins.back() + 3),
        row_pairs(RandomOrder(random, rows)),
        row_tokens(RandomIndices(random, rows, 5)),
        weights(RandomFloats(random, rows)),
        gate_up(RandomFloats(random, rows * 2 * width, 10.0f)),
        output_gradient(RandomFloats(random, rows * width)),
        down_bias(RandomFloats(random, experts() * (hidden + 2))),
        down_gradient(RandomFloats(random, 5 * hidden)),
        output(rows * width, 5.0f),
        gate_up_gradient(rows * 2 * width, 5.0f),
        weight_gradient(rows, 5.0f) {}

  int64_t experts() const { return static_cast<int64_t>(begins.size()) - 1; }
  ExpertGluShape Shape() const {
    return {.activation = form.activation,
            .layout = form.layout,
            .limit = form.limit,
            .alpha = kAlpha,
            .width = width,
            .experts = experts(),
            .begins = begins.data(),
            .most_rows = rows,
            .row_pairs = row_pairs.data(),
            .weights = weights.data()};
  }
  ExpertGluForward Forward() {
    return {.shape = Shape(), .gate_up = gate_up.data(), .output = output.data()};
  }
  ExpertGluBackward Backward(bool biased = false) {
    ExpertGluBackward args = {.shape = Shape(),
                              .gate_up = gate_up.data(),
                              .output_gradient = output_gradient.data(),
                              .output = output.data(),
                              .gate_up_gradient = gate_up_gradient.data(),
                              .weight_gradient = weight_gradient.data()};
    if (biased) {
      args.down_bias = down_bias.data();
      args.down_bias_expert_stride = hidden + 2;
      args.hidden = hidden;
      args.down_gradient = down_gradient.data();
      args.row_tokens = row_tokens.data();
    }
    return args;
  }
  bool Computes(int64_t row) const { return row >= begins.front() && row < begins.back(); }
  int64_t ExpertOf(int64_t row) const {
    int64_t expert = 0;
    while (begins[static_cast<size_t>(expert) + 1] <= row) ++expert;
    return expert;
  }
  int64_t GateAt(int64_t row, int64_t j) const {
    return row * 2 * width + (form.layout == GateUpLayout::kHalves ? j : 2 * j);
  }
  int64_t UpAt(int64_t row, int64_t j) const {
    return row * 2 * width + (form.layout == GateUpLayout::kHalves ? width + j : 2 * j + 1);
  }
  // By the formulas of the header, in double.
  double Glu(double gate, double up) const {
    if (form.limit > 0) {
      const double g = std::min<double>(gate, form.limit);
      const double u = std::clamp<double>(up, -form.limit, form.limit);
      return g / (1 + std::exp(-double{kAlpha} * g)) * (u + 1);
    }
    if (form.activation == GluActivation::kSilu) return gate / (1 + std::exp(-gate)) * up;
    const double root = std::sqrt(2.0 / 3.14159265358979323846);
    return 0.5 * gate * (1 + std::tanh(root * (gate + 0.044715 * std::pow(gate, 3)))) * up;
  }
};

// With a step of 1e-4 in double the differences are exact to 1e-7; fp32 to 2e-5 at these sizes.
// Where a clamp begins within the step there is no difference to compare with.
TEST(ExpertGlu, ForwardAndBackwardAreTheFormulaAndItsDifferences) {
  for (const Form& form : kForms) {
    for (const auto& [forward, backward] :
         {std::pair{&ExpertGluForwardReference, &ExpertGluBackwardReference},
          std::pair{&ExpertGluForwardHost, &ExpertGluBackwardHost}}) {
      Arrays arrays(form, {2, 5, 5, 9}, 21);
      KernelLane lane(1);
      ASSERT_TRUE(forward(lane.context(), arrays.Forward()).ok());
      ExpertGluBackward args = arrays.Backward(/*biased=*/true);
      args.output = nullptr;
      ASSERT_TRUE(backward(lane.context(), args).ok());
      for (int64_t row = 0; row < arrays.rows; ++row) {
        const int32_t pair = arrays.row_pairs[static_cast<size_t>(row)];
        if (!arrays.Computes(row)) {
          EXPECT_EQ(arrays.output[row * arrays.width], 5.0f) << "a row of no expert";
          EXPECT_EQ(arrays.gate_up_gradient[row * 2 * arrays.width], 5.0f);
          EXPECT_EQ(arrays.weight_gradient[pair], 5.0f);
          continue;
        }
        const double weight = arrays.weights[pair];
        double of_weight = 0;
        for (int64_t j = 0; j < arrays.width; ++j) {
          const double gate = arrays.gate_up[arrays.GateAt(row, j)];
          const double up = arrays.gate_up[arrays.UpAt(row, j)];
          const double gradient = arrays.output_gradient[row * arrays.width + j];
          const double value = arrays.Glu(gate, up);
          of_weight += gradient * value;
          EXPECT_NEAR(arrays.output[row * arrays.width + j], weight * value, 3e-5) << form.name;
          const double by_gate = (arrays.Glu(gate + 1e-4, up) - arrays.Glu(gate - 1e-4, up)) / 2e-4;
          const double by_up = (arrays.Glu(gate, up + 1e-4) - arrays.Glu(gate, up - 1e-4)) / 2e-4;
          if (std::fabs(std::fabs(gate) - kLimit) > 1e-3) {
            EXPECT_NEAR(arrays.gate_up_gradient[arrays.GateAt(row, j)], gradient * weight * by_gate,
                        3e-5)
                << form.name << " " << gate << " " << up;
          }
          if (std::fabs(std::fabs(up) - kLimit) > 1e-3) {
            EXPECT_NEAR(arrays.gate_up_gradient[arrays.UpAt(row, j)], gradient * weight * by_up,
                        3e-5)
                << form.name << " " << gate << " " << up;
          }
        }
        const int64_t bias = arrays.ExpertOf(row) * (arrays.hidden + 2);
        const int64_t token = arrays.row_tokens[static_cast<size_t>(row)];
        for (int64_t i = 0; i < arrays.hidden; ++i) {
          of_weight +=
              double{arrays.down_bias[bias + i]} * arrays.down_gradient[token * arrays.hidden + i];
        }
        // 40 terms of up to 100.
        EXPECT_NEAR(arrays.weight_gradient[pair], of_weight, 4e-4) << form.name;
      }
      EXPECT_TRUE(arrays.output.guards_hold() && arrays.gate_up_gradient.guards_hold() &&
                  arrays.weight_gradient.guards_hold());
    }
  }
}

// The values of a unit of fp32: the sigmoid is off by 8 units (exp 3 ulp = 6, a sum, a quotient),
// its argument by the product with alpha; what follows are products.
double ValueUnits(const Form& form, double gate) {
  if (form.limit > 0) return 15 + std::fabs(kAlpha * std::min<double>(gate, form.limit));
  if (form.activation == GluActivation::kSilu) return 15;
  return GeluError(static_cast<float>(gate)).value + 4;
}
// Of the slope, absolute: a sum of two terms that may cancel.
double SlopeUnits(const Form& form, double gate) {
  if (form.activation == GluActivation::kGeluTanh) {
    return GeluError(static_cast<float>(gate)).slope + 6;
  }
  return (2 + 2 * std::fabs(gate)) * ValueUnits(form, gate);
}

TEST(ExpertGlu, HostEqualsTheReferenceOnEveryTarget) {
  ForEachTarget([&](const char* target) {
    std::mt19937 random(2);
    for (const Form& form : kForms) {
      for (const int64_t width : {0, 1, 7, 8, 17, 96, 1003}) {
        for (const int64_t count : {0, 1, 40}) {
          const std::vector<int32_t> begins = ShareRows(random, 5, count, 1);
          const std::string what = std::string(target) + ", " + form.name;
          Arrays expected(form, begins, width);
          Arrays host(form, begins, width);
          KernelLane lane(2);
          const bool biased = width % 2 == 1;
          ASSERT_TRUE(ExpertGluForwardHost(lane.context(), host.Forward()).ok());
          const GuardedFloats forward = host.output;
          ASSERT_TRUE(ExpertGluBackwardReference(lane.context(), expected.Backward(biased)).ok());
          ASSERT_TRUE(ExpertGluBackwardHost(lane.context(), host.Backward(biased)).ok());
          ASSERT_TRUE(SameBits(host.output, forward)) << what << ": backward repeats forward";
          for (int64_t row = 0; row < host.rows; ++row) {
            const int32_t pair = host.row_pairs[static_cast<size_t>(row)];
            double magnitude = 0;
            for (int64_t j = 0; j < width; ++j) {
              const double gate = host.gate_up[host.GateAt(row, j)];
              const double up = host.gate_up[host.UpAt(row, j)];
              const int64_t at = row * width + j;
              // Where the activation has all but vanished, 1 + tanh(u) of the reference has too.
              const double vanished = 0x1p-48;
              const double value_bound = kUnit * ValueUnits(form, gate);
              ASSERT_NEAR(host.output[at], expected.output[at],
                          std::fabs(expected.output[at]) * value_bound + vanished)
                  << what << " " << gate;
              const double scale = std::fabs(host.output_gradient[at] * (std::fabs(up) + 1));
              ASSERT_NEAR(host.gate_up_gradient[host.GateAt(row, j)],
                          expected.gate_up_gradient[host.GateAt(row, j)],
                          scale * kUnit * SlopeUnits(form, gate) + vanished)
                  << what << " " << gate;
              const double of_up = expected.gate_up_gradient[host.UpAt(row, j)];
              ASSERT_NEAR(host.gate_up_gradient[host.UpAt(row, j)], of_up,
                          std::fabs(of_up) * value_bound + vanished)
                  << what << " " << gate;
              magnitude += std::fabs(host.output_gradient[at] * host.Glu(gate, up));
            }
            const double roundings = 40 + static_cast<double>(width + host.hidden) / 16;
            ASSERT_NEAR(host.weight_gradient[pair], expected.weight_gradient[pair],
                        kUnit * roundings * (magnitude + static_cast<double>(host.hidden)))
                << what;
          }
          ASSERT_TRUE(host.output.guards_hold() && host.gate_up_gradient.guards_hold() &&
                      host.weight_gradient.guards_hold());
        }
      }
    }
  });
}

// With weights of 1 a unit without a limit is that of a dense layer, to the bit.
TEST(ExpertGlu, WithoutWeightsItIsTheUnitOfALayer) {
  for (const Form& form : {kForms[0], kForms[2]}) {
    Arrays arrays(form, {0, 30}, 67);
    std::fill_n(arrays.weights.data(), arrays.rows, 1.0f);
    KernelLane lane(1);
    ASSERT_TRUE(ExpertGluForwardHost(lane.context(), arrays.Forward()).ok());
    for (int64_t row = 0; row < 30; ++row) {
      GuardedFloats output(67);
      ASSERT_TRUE(GluForwardHost(lane.context(), {.activation = form.activation,
                                                  .count = 67,
                                                  .gate = arrays.gate_up.data() + row * 134,
                                                  .up = arrays.gate_up.data() + row * 134 + 67,
                                                  .output = output.data()})
                      .ok());
      for (int64_t j = 0; j < 67; ++j) ASSERT_EQ(arrays.output[row * 67 + j], output[j]);
    }
  }
}

// At the limit itself nothing is clamped, and gradients pass. Values by hand: with gate 7 (clamped
// from 9) and up -7 (clamped from -8), 7 x sigmoid(1.702 x 7) x (-7 + 1).
TEST(ExpertGlu, ClampedValuesHaveNoGradientButTheLimitItselfHas) {
  const Form& form = kForms[5];
  const double at_limit = 7 / (1 + std::exp(-double{kAlpha} * 7));
  for (const auto body : {&ExpertGluBackwardReference, &ExpertGluBackwardHost}) {
    Arrays arrays(form, {0, 1}, 4);
    const float gate_up[] = {9, -8, 7, 7, 9, -7, -9, 8};
    std::copy_n(gate_up, 8, arrays.gate_up.data());
    std::fill_n(arrays.output_gradient.data(), 4, 1.0f);
    arrays.weights[arrays.row_pairs[0]] = 1.0f;
    KernelLane lane(1);
    ASSERT_TRUE(body(lane.context(), arrays.Backward()).ok());
    EXPECT_NEAR(arrays.output[0], at_limit * -6, 1e-5);
    EXPECT_NEAR(arrays.output[1], at_limit * 8, 1e-5);
    EXPECT_EQ(arrays.gate_up_gradient[0], 0.0f) << "gate above";
    EXPECT_EQ(arrays.gate_up_gradient[1], 0.0f) << "up below";
    EXPECT_NEAR(arrays.gate_up_gradient[2], 8.0, 1e-2) << "gate at the limit";
    EXPECT_NEAR(arrays.gate_up_gradient[3], at_limit, 1e-5) << "up at the limit";
    EXPECT_EQ(arrays.gate_up_gradient[4], 0.0f) << "gate above";
    EXPECT_NEAR(arrays.gate_up_gradient[5], at_limit, 1e-5) << "up at the lower limit";
    EXPECT_NE(arrays.gate_up_gradient[6], 0.0f) << "a gate has no lower limit";
    EXPECT_EQ(arrays.gate_up_gradient[7], 0.0f) << "up above";
  }
}

TEST(ExpertGlu, ANotANumberStaysOne) {
  for (const Form& form : kForms) {
    for (const bool of_gate : {false, true}) {
      for (const auto body : {&ExpertGluBackwardReference, &ExpertGluBackwardHost}) {
        Arrays arrays(form, {0, 3}, 9);
        arrays.gate_up[of_gate ? arrays.GateAt(1, 8) : arrays.UpAt(1, 8)] =
            std::numeric_limits<float>::quiet_NaN();
        KernelLane lane(1);
        ASSERT_TRUE(body(lane.context(), arrays.Backward()).ok());
        EXPECT_TRUE(std::isnan(arrays.output[9 + 8])) << form.name;
        EXPECT_TRUE(std::isnan(arrays.weight_gradient[arrays.row_pairs[1]])) << form.name;
        EXPECT_FALSE(std::isnan(arrays.output[9 + 7]) || std::isnan(arrays.output[18 + 8]));
        EXPECT_FALSE(std::isnan(arrays.weight_gradient[arrays.row_pairs[0]])) << form.name;
      }
    }
  }
}

TEST(ExpertGlu, BitsDoNotDependOnWorkersOrOnTheRangeOfExperts) {
  std::mt19937 random(3);
  const std::vector<int32_t> begins = ShareRows(random, 6, 300, 1);
  for (const Form& form : kForms) {
    Arrays whole(form, begins, 131);
    KernelLane one(1);
    ASSERT_TRUE(ExpertGluBackwardHost(one.context(), whole.Backward(true)).ok());
    const auto expect_same = [&](const Arrays& other) {
      EXPECT_TRUE(SameBits(other.output, whole.output));
      EXPECT_TRUE(SameBits(other.gate_up_gradient, whole.gate_up_gradient));
      EXPECT_TRUE(SameBits(other.weight_gradient, whole.weight_gradient));
    };
    for (const int workers : {2, 3, 5}) {
      Arrays many(form, begins, 131);
      KernelLane lane(workers);
      ASSERT_TRUE(ExpertGluBackwardHost(lane.context(), many.Backward(true)).ok());
      expect_same(many);
    }
    Arrays ranges(form, begins, 131);
    for (const auto& [first, count] : {std::pair<int64_t, int64_t>{3, 3}, {0, 1}, {1, 2}}) {
      ExpertGluBackward args = ranges.Backward(true);
      args.shape.begins += first;
      args.shape.experts = count;
      args.down_bias = args.down_bias.From(first * args.down_bias_expert_stride);
      ASSERT_TRUE(ExpertGluBackwardHost(one.context(), args).ok());
    }
    expect_same(ranges);
  }
}

TEST(ExpertGlu, ImpossibleSizesAreRefused) {
  KernelLane lane(1);
  for (int broken = 0; broken < 5; ++broken) {
    Arrays arrays(kForms[4], {0, 3, 5}, 6);
    ExpertGluForward forward = arrays.Forward();
    ExpertGluBackward backward = arrays.Backward();
    const auto change = [&](ExpertGluShape& shape) {
      if (broken == 0) shape.width = -1;
      if (broken == 1) shape.limit = -1.0f;
      if (broken == 2) shape.limit = std::numeric_limits<float>::quiet_NaN();
      if (broken == 3) shape.experts = -1;
      if (broken == 4) shape.most_rows = 4;
    };
    change(forward.shape);
    change(backward.shape);
    EXPECT_TRUE(absl::IsInvalidArgument(ExpertGluForwardHost(lane.context(), forward))) << broken;
    EXPECT_TRUE(absl::IsInvalidArgument(ExpertGluBackwardHost(lane.context(), backward))) << broken;
  }
  for (int broken = 0; broken < 4; ++broken) {
    Arrays arrays(kForms[4], {0, 3, 5}, 6);
    ExpertGluBackward args = arrays.Backward(/*biased=*/true);
    if (broken == 0) args.hidden = -1;
    if (broken == 1) args.down_bias_expert_stride = 18;
    if (broken == 2) args.down_gradient = nullptr;
    if (broken == 3) args.row_tokens = nullptr;
    EXPECT_TRUE(absl::IsInvalidArgument(ExpertGluBackwardHost(lane.context(), args))) << broken;
  }
}

}  // namespace
}  // namespace horizon
