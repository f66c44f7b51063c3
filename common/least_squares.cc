#include "common/least_squares.h"

#include <algorithm>
#include <cmath>
#include <eigen3/Eigen/Dense>
#include <eigen3/unsupported/Eigen/NonLinearOptimization>
#include <limits>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// What Eigen minimises: residuals, and their derivatives by central differences.
class Problem {
 public:
  using Scalar = double;
  enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };

  Problem(const ResidualFunction& residuals, size_t residual_count, size_t value_count,
          const LeastSquaresOptions& options)
      : residuals_(residuals),
        residual_count_(residual_count),
        value_count_(value_count),
        options_(options) {}

  int inputs() const { return static_cast<int>(value_count_); }
  int values() const { return static_cast<int>(residual_count_); }
  const absl::Status& status() const { return status_; }
  int evaluations() const { return evaluations_; }

  // Below zero stops the fit.
  int operator()(const VectorXd& at, VectorXd& out) const {
    out.resize(values());
    ++evaluations_;
    if (status_.ok()) {
      status_ = residuals_({at.data(), value_count_}, {out.data(), residual_count_});
    }
    if (status_.ok() && !out.allFinite()) {
      status_ = absl::FailedPreconditionError(
          StrCat("a least-squares fit met a residual that is not a finite number after ",
                 evaluations_, " evaluations: start nearer to the solution"));
    }
    return status_.ok() ? 0 : -1;
  }

  int df(const VectorXd& at, MatrixXd& jacobian) const {
    jacobian.resize(values(), inputs());
    VectorXd above;
    VectorXd below;
    for (int i = 0; i < inputs(); ++i) {
      const double step = options_.step * std::max(1.0, std::fabs(at[i]));
      VectorXd moved = at;
      moved[i] = at[i] + step;
      if ((*this)(moved, above) < 0) return -1;
      moved[i] = at[i] - step;
      if ((*this)(moved, below) < 0) return -1;
      jacobian.col(i) = (above - below) / (2 * step);
    }
    return 0;
  }

 private:
  const ResidualFunction& residuals_;
  const size_t residual_count_;
  const size_t value_count_;
  const LeastSquaresOptions& options_;
  mutable absl::Status status_;
  mutable int evaluations_ = 0;
};

}  // namespace

double LeastSquaresFit::Deviation(size_t i) const {
  return std::sqrt(covariance[i * values.size() + i]);
}

absl::StatusOr<LeastSquaresFit> FitLeastSquares(const ResidualFunction& residuals,
                                                size_t residual_count, std::vector<double> start,
                                                const LeastSquaresOptions& options) {
  const size_t count = start.size();
  const bool estimates = !options.known_spread.has_value();
  if (count == 0 || residual_count < count + (estimates ? 1 : 0)) {
    return absl::InvalidArgumentError(
        StrCat("cannot fit ", count, " values to ", residual_count, " residuals",
               estimates ? " without a known spread" : "", ": give more residuals"));
  }
  Problem problem(residuals, residual_count, count, options);
  Eigen::LevenbergMarquardt<Problem> solver(problem);
  solver.parameters.maxfev = options.most_evaluations;
  VectorXd values = Eigen::Map<const VectorXd>(start.data(), static_cast<Eigen::Index>(count));
  solver.minimize(values);
  if (!problem.status().ok()) return problem.status();
  VectorXd left;
  MatrixXd jacobian;
  problem(values, left);
  problem.df(values, jacobian);
  if (!problem.status().ok()) return problem.status();
  // The inverse of JᵀJ from the singular values of J, whose squares it does not have to compute.
  const Eigen::JacobiSVD<MatrixXd> svd(jacobian, Eigen::ComputeThinU | Eigen::ComputeThinV);
  if (static_cast<size_t>(svd.rank()) < count) {
    return absl::FailedPreconditionError(
        StrCat("the residuals determine only ", svd.rank(), " of ", count,
               " values: some change of the values changes no residual"));
  }
  const double freedom = static_cast<double>(residual_count - count);
  LeastSquaresFit fit{.values = {values.begin(), values.end()},
                      .residual_spread = options.known_spread.value_or(
                          std::sqrt(left.squaredNorm() / std::max(1.0, freedom))),
                      .residuals = {left.begin(), left.end()},
                      .evaluations = problem.evaluations()};
  const VectorXd inverse = svd.singularValues().cwiseInverse();
  const MatrixXd covariance = fit.residual_spread * fit.residual_spread * svd.matrixV() *
                              inverse.cwiseAbs2().asDiagonal() * svd.matrixV().transpose();
  fit.covariance.resize(count * count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) {
      fit.covariance[i * count + j] =
          covariance(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
    }
  }
  return fit;
}

std::optional<LineFit> FitLine(std::span<const std::pair<double, double>> points) {
  if (points.empty()) return std::nullopt;
  const auto count = static_cast<Eigen::Index>(points.size());
  VectorXd x(count);
  VectorXd y(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    x[i] = points[static_cast<size_t>(i)].first;
    y[i] = points[static_cast<size_t>(i)].second;
  }
  const double mean_x = x.mean();
  const double mean_y = y.mean();
  // About the means, so that large sizes do not drown the intercept.
  const VectorXd from_x = x.array() - mean_x;
  const VectorXd from_y = y.array() - mean_y;
  if (!(from_x.squaredNorm() > 0)) return std::nullopt;
  const double slope = from_x.colPivHouseholderQr().solve(from_y)(0);
  const double all = from_y.squaredNorm();
  const double left = (from_y - slope * from_x).squaredNorm();
  return LineFit{.slope = slope,
                 .intercept = mean_y - slope * mean_x,
                 .r_squared = all > 0 ? 1 - left / all : 1};
}

}  // namespace horizon
