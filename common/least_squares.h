#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace horizon {

// Nonlinear and linear least squares. least_squares.cc is the only file of the program that
// includes Eigen.

// Computes the residuals for given values; the fit calls it again and again with other values. A
// residual is a number that the fit tries to bring to zero, for example log(simulated / published)
// of a row.
using ResidualFunction =
    std::function<absl::Status(std::span<const double> values, std::span<double> residuals)>;

// Options of FitLeastSquares.
struct LeastSquaresOptions {
  // The standard deviation of a residual if it is known beforehand, for example the noise of
  // published figures. None: it is estimated from the residuals, which needs more residuals than
  // values.
  std::optional<double> known_spread;
  // The step of numerical derivatives, relative to a value, and absolute where a value is near 0.
  double step = 1e-4;
  int most_evaluations = 2000;
};

// The result of a fit.
struct LeastSquaresFit {
  std::vector<double> values;
  // The covariance matrix of the values, row-major, values.size() x values.size(). Entry (i, i) is
  // the variance of value i.
  std::vector<double> covariance;
  // The standard deviation of a residual: estimated from residuals and degrees of freedom, or as
  // given.
  double residual_spread = 0;
  std::vector<double> residuals;  // at `values`
  int evaluations = 0;

  double Deviation(size_t i) const;  // the standard deviation of a value
};

// Finds the values with the least sum of squared residuals near `start`, all at once, by
// Levenberg-Marquardt with central differences. For a value that must stay positive fit its
// logarithm. The error of `residuals` stops the fit and is returned. InvalidArgument for fewer
// residuals than values, or no more and no known spread; FailedPrecondition if the residuals do not
// determine the values (some combination of them changes nothing) or are not finite.
absl::StatusOr<LeastSquaresFit> FitLeastSquares(const ResidualFunction& residuals,
                                                size_t residual_count, std::vector<double> start,
                                                const LeastSquaresOptions& options = {});

// A straight line fitted to points (least squares in y).
struct LineFit {
  double slope = 0;
  double intercept = 0;
  double r_squared = 0;  // the share of the variance that the line explains; 1 if all y are equal
};

// Fits a line to points (x, y). Empty for fewer than two different x.
std::optional<LineFit> FitLine(std::span<const std::pair<double, double>> points);

}  // namespace horizon
