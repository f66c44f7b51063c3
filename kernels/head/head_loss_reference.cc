#include <cmath>
#include <limits>
#include <vector>

#include "kernels/head/head_loss.h"

namespace horizon {
namespace {

// The logits of one token. Args: HeadLogSumExp or HeadLoss.
template <typename Args>
std::vector<double> Logits(const Args& args, int64_t token) {
  const HeadShape& shape = args.shape;
  std::vector<double> logits(static_cast<size_t>(shape.rows));
  for (int64_t row = 0; row < shape.rows; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < shape.hidden; ++i) {
      sum += double{args.input[token * shape.hidden + i]} *
             double{args.weights[row * shape.hidden + i]};
    }
    logits[static_cast<size_t>(row)] = double{args.logit_scale} * sum;
  }
  return logits;
}

bool IsRowOf(const HeadShape& shape, int64_t label) {
  return label >= shape.first_row && label < shape.first_row + shape.rows;
}

// Running sums of one token, in double.
struct Sums {
  double largest = -std::numeric_limits<double>::infinity();
  double sum = 0;
  double label_logit = 0;

  void Continue(const HeadShape& shape, const std::vector<double>& logits, int64_t label) {
    for (const double logit : logits) {
      const double before = largest;
      largest = std::fmax(largest, logit);
      sum =
          (before == largest ? sum : sum * std::exp(before - largest)) + std::exp(logit - largest);
    }
    if (IsRowOf(shape, label)) label_logit = logits[static_cast<size_t>(label - shape.first_row)];
  }
};

Sums Widened(const TokenSums& sums) {
  return {.largest = sums.largest, .sum = sums.sum, .label_logit = sums.label_logit};
}

}  // namespace

absl::Status HeadLogSumExpReference(const KernelContext& context, const HeadLogSumExp& args) {
  for (int64_t token = 0; token < args.shape.tokens; ++token) {
    Sums sums = args.shape.first_row == 0 ? Sums() : Widened(args.sums[token]);
    sums.Continue(args.shape, Logits(args, token), args.records[token].label);
    args.sums[token] = {.largest = static_cast<float>(sums.largest),
                        .sum = static_cast<float>(sums.sum),
                        .label_logit = static_cast<float>(sums.label_logit)};
  }
  return absl::OkStatus();
}

absl::Status HeadLossReference(const KernelContext& context, const HeadLoss& args) {
  const HeadShape& shape = args.shape;
  std::vector<double> weight_gradient(static_cast<size_t>(shape.rows * shape.hidden));
  if (args.clear_loss) *args.loss = {};
  for (int64_t token = 0; token < shape.tokens; ++token) {
    const int64_t label = args.records[token].label;
    const float* input = args.input + token * shape.hidden;
    std::vector<double> input_gradient(static_cast<size_t>(shape.hidden));
    if (label >= 0) {
      const std::vector<double> logits = Logits(args, token);
      Sums sums;
      if (args.sums_complete) {
        sums = Widened(args.sums[token]);
      } else {
        sums.Continue(shape, logits, label);
      }
      if (shape.first_row == 0) {
        args.loss->sum += sums.largest + std::log(sums.sum) - sums.label_logit;
        ++args.loss->count;
      }
      for (int64_t row = 0; row < shape.rows; ++row) {
        const double probability =
            std::exp(logits[static_cast<size_t>(row)] - sums.largest) / sums.sum;
        const double target = shape.first_row + row == label ? 1 : 0;
        const double gradient =
            double{args.logit_scale} * double{args.scale} * (probability - target);
        for (int64_t i = 0; i < shape.hidden; ++i) {
          const auto at = static_cast<size_t>(row * shape.hidden + i);
          input_gradient[static_cast<size_t>(i)] += gradient * double{args.weights[at]};
          weight_gradient[at] += gradient * double{input[i]};
        }
      }
    }
    if (args.input_gradient == nullptr) continue;
    for (int64_t i = 0; i < shape.hidden; ++i) {
      float& out = args.input_gradient[token * shape.hidden + i];
      const double before = shape.first_row == 0 ? 0.0 : double{out};
      out = static_cast<float>(before + input_gradient[static_cast<size_t>(i)]);
    }
  }
  if (args.weight_gradient == nullptr) return absl::OkStatus();
  for (size_t i = 0; i < weight_gradient.size(); ++i) {
    const double before = args.first_chunk ? 0.0 : double{args.weight_gradient[i]};
    args.weight_gradient[i] = static_cast<float>(before + weight_gradient[i]);
  }
  return absl::OkStatus();
}

}  // namespace horizon
