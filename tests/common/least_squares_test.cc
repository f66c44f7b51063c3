#include "common/least_squares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace horizon {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using In = std::span<const double>;
using Out = std::span<double>;

// A straight line through (0, 0), (1, 1), (2, 0): flat at 1/3. Its residuals are 1/3, -2/3, 1/3, so
// with one degree of freedom their variance is 2/3; (XᵀX)⁻¹ is (5, -3; -3, 3) / 6.
TEST(LeastSquares, ALineAndItsCovarianceAreThoseOfTheFormula) {
  const auto residuals = [](In v, Out r) {
    const double y[] = {0, 1, 0};
    for (int i = 0; i < 3; ++i) r[i] = v[0] + v[1] * i - y[i];
    return absl::OkStatus();
  };
  const absl::StatusOr<LeastSquaresFit> fit = FitLeastSquares(residuals, 3, {5, -7});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(fit->values[0], 1.0 / 3, 1e-8);
  EXPECT_NEAR(fit->values[1], 0, 1e-8);
  EXPECT_NEAR(fit->residual_spread, std::sqrt(2.0 / 3), 1e-8);
  EXPECT_THAT(fit->residuals, ElementsAre(DoubleNear(1.0 / 3, 1e-8), DoubleNear(-2.0 / 3, 1e-8),
                                          DoubleNear(1.0 / 3, 1e-8)));
  EXPECT_THAT(fit->covariance, ElementsAre(DoubleNear(5.0 / 9, 1e-7), DoubleNear(-1.0 / 3, 1e-7),
                                           DoubleNear(-1.0 / 3, 1e-7), DoubleNear(1.0 / 3, 1e-7)));
  EXPECT_NEAR(fit->Deviation(1), std::sqrt(1.0 / 3), 1e-7);
}

// Rosenbrock's valley ends at (1, 1), where JᵀJ is (401, -200; -200, 100).
TEST(LeastSquares, ABentValleyIsFollowedToItsEnd) {
  const auto residuals = [](In v, Out r) {
    r[0] = 10 * (v[1] - v[0] * v[0]);
    r[1] = 1 - v[0];
    return absl::OkStatus();
  };
  const absl::StatusOr<LeastSquaresFit> fit =
      FitLeastSquares(residuals, 2, {-1.2, 1}, {.known_spread = 0.1});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(fit->values[0], 1, 1e-6);
  EXPECT_NEAR(fit->values[1], 1, 1e-6);
  EXPECT_THAT(fit->covariance,
              ElementsAre(DoubleNear(0.01 * 1, 1e-6), DoubleNear(0.01 * 2, 1e-6),
                          DoubleNear(0.01 * 2, 1e-6), DoubleNear(0.01 * 4.01, 1e-6)));
}

// What the calibration does: seconds = work / speed of two parts that are not seen apart.
TEST(LeastSquares, SpeedsThatAddUpAreToldApart) {
  const std::vector<std::pair<double, double>> work = {{10, 1}, {4, 4}, {1, 9}, {6, 2}};
  const auto seconds = [&](size_t i, double a, double b) {
    return work[i].first / a + work[i].second / b;
  };
  const auto residuals = [&](In logs, Out r) {
    for (size_t i = 0; i < work.size(); ++i) {
      r[i] = std::log(seconds(i, std::exp(logs[0]), std::exp(logs[1])) / seconds(i, 0.6, 2.5));
    }
    return absl::OkStatus();
  };
  const absl::StatusOr<LeastSquaresFit> fit = FitLeastSquares(residuals, 4, {0, 0});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(std::exp(fit->values[0]), 0.6, 1e-7);
  EXPECT_NEAR(std::exp(fit->values[1]), 2.5, 1e-7);
  EXPECT_LT(fit->residual_spread, 1e-7);
}

TEST(LeastSquares, AMeanIsAsCertainAsItsNumbersAreMany) {
  const auto residuals = [](In v, Out r) {
    for (size_t i = 0; i < r.size(); ++i) r[i] = v[0] - static_cast<double>(i);
    return absl::OkStatus();
  };
  const absl::StatusOr<LeastSquaresFit> fit =
      FitLeastSquares(residuals, 100, {0}, {.known_spread = 3});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(fit->values[0], 49.5, 1e-9);
  EXPECT_NEAR(fit->Deviation(0), 0.3, 1e-9);
}

TEST(LeastSquares, ValuesThatTheResidualsDoNotTellApartAreRefused) {
  const auto residuals = [](In v, Out r) {
    for (size_t i = 0; i < r.size(); ++i) r[i] = v[0] + v[1] - static_cast<double>(i);
    return absl::OkStatus();
  };
  const absl::StatusOr<LeastSquaresFit> fit = FitLeastSquares(residuals, 5, {1, 1});
  EXPECT_EQ(fit.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(fit.status().message()), HasSubstr("only 1 of 2 values"));
}

TEST(LeastSquares, TooFewResidualsAreRefused) {
  const auto residuals = [](In v, Out r) {
    for (size_t i = 0; i < r.size(); ++i) r[i] = v[i];
    return absl::OkStatus();
  };
  EXPECT_TRUE(FitLeastSquares(residuals, 2, {1, 1}, {.known_spread = 1}).ok());
  for (const size_t count : {0, 1, 2}) {
    EXPECT_EQ(FitLeastSquares(residuals, count, {1, 1}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << count;
  }
  EXPECT_EQ(FitLeastSquares(residuals, 3, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(LeastSquares, TheErrorOfAResidualEndsTheFit) {
  for (const int when : {1, 2, 3, 7}) {
    int calls = 0;
    const auto residuals = [&](In v, Out r) -> absl::Status {
      if (++calls >= when) return absl::NotFoundError("row 7");
      for (size_t i = 0; i < r.size(); ++i) r[i] = std::exp(v[0]) - static_cast<double>(i);
      return absl::OkStatus();
    };
    EXPECT_EQ(FitLeastSquares(residuals, 3, {0.0}).status().code(), absl::StatusCode::kNotFound)
        << when;
    EXPECT_EQ(calls, when) << "nothing is asked after an error";
  }
  const auto not_finite = [](In, Out r) {
    for (double& one : r) one = std::numeric_limits<double>::quiet_NaN();
    return absl::OkStatus();
  };
  EXPECT_EQ(FitLeastSquares(not_finite, 3, {0.0}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

using Points = std::vector<std::pair<double, double>>;

TEST(LineFit, FindsALineExactly) {
  const std::optional<LineFit> fit = FitLine(Points{{1, 5}, {2, 7}, {4, 11}});
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->slope, 2, 1e-12);
  EXPECT_NEAR(fit->intercept, 3, 1e-12);
  EXPECT_NEAR(fit->r_squared, 1, 1e-12);
}

// Of 0, 1, 0 at 0, 1, 2 the best line is flat at 1/3 and explains nothing; of 0, 3, 3 at the same
// places it rises by 1.5 and explains 4.5 of 6: 3/4.
TEST(LineFit, SaysHowMuchOfTheVarianceItExplains) {
  EXPECT_NEAR(FitLine(Points{{0, 0}, {1, 1}, {2, 0}})->r_squared, 0, 1e-12);
  EXPECT_NEAR(FitLine(Points{{0, 0}, {1, 3}, {2, 3}})->slope, 1.5, 1e-12);
  EXPECT_NEAR(FitLine(Points{{0, 0}, {1, 3}, {2, 3}})->r_squared, 0.75, 1e-12);
}

TEST(LineFit, NeedsTwoPlaces) {
  EXPECT_FALSE(FitLine(Points{}).has_value());
  EXPECT_FALSE(FitLine(Points{{1, 2}}).has_value());
  EXPECT_FALSE(FitLine(Points{{1, 2}, {1, 3}}).has_value());
  EXPECT_EQ(FitLine(Points{{1, 2}, {3, 2}})->r_squared, 1);
}

}  // namespace
}  // namespace horizon
