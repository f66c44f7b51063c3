#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/host/reference_math.h"

namespace horizon {
namespace {

// One query of one head, and the keys it sees.
struct Query {
  const AttentionShape& shape;
  const TokenRecord* records;
  int64_t batch;
  int64_t head;
  int64_t t;

  int64_t first() const {
    const int64_t back = records[batch * shape.sequence + t].position;
    return shape.window > 0 && back >= shape.window ? t - shape.window + 1 : t - back;
  }
  int64_t row() const {
    return ((batch * shape.sequence + t) * shape.heads + head) * shape.head_dim;
  }
  int64_t entry() const { return (batch * shape.sequence + t) * shape.heads + head; }
  int64_t key_row(int64_t s) const {
    const int64_t kv_head = head * shape.kv_heads / shape.heads;
    return ((batch * shape.sequence + s) * shape.kv_heads + kv_head) * shape.head_dim;
  }
};

template <typename Body>
void ForEachQuery(const AttentionShape& shape, const TokenRecord* records, const Body& body) {
  for (int64_t batch = 0; batch < shape.batch; ++batch) {
    for (int64_t head = 0; head < shape.heads; ++head) {
      for (int64_t t = 0; t < shape.sequence; ++t) body(Query{shape, records, batch, head, t});
    }
  }
}

double Product(const float* a, const float* b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

// The keys' part of softmax(scale q k^T, sink) for the keys first() .. t, and the logarithm of its
// denominator. `sinks` may be null.
std::vector<double> Probabilities(const Query& query, const float* q, const float* k,
                                  const float* sinks, double& log_sum_exp) {
  const double sink =
      sinks != nullptr ? double{sinks[query.head]} : -std::numeric_limits<double>::infinity();
  std::vector<double> scores;
  double largest = sink;
  for (int64_t s = query.first(); s <= query.t; ++s) {
    scores.push_back(double{query.shape.scale} *
                     Product(q + query.row(), k + query.key_row(s), query.shape.head_dim));
    largest = std::fmax(largest, scores.back());
  }
  double sum = std::exp(sink - largest);
  for (const double score : scores) sum += std::exp(score - largest);
  log_sum_exp = largest + std::log(sum);
  for (double& score : scores) score = std::exp(score - log_sum_exp);
  return scores;
}

}  // namespace

absl::Status AttentionForwardReference(const KernelContext& context, const AttentionForward& args) {
  const int64_t width = args.shape.head_dim;
  ForEachQuery(args.shape, args.records, [&](const Query& query) {
    double log_sum_exp = 0;
    const std::vector<double> p = Probabilities(query, args.q, args.k, args.sinks, log_sum_exp);
    args.log_sum_exp[query.entry()] = static_cast<float>(log_sum_exp);
    for (int64_t d = 0; d < width; ++d) {
      double sum = 0;
      for (int64_t s = query.first(); s <= query.t; ++s) {
        sum += p[static_cast<size_t>(s - query.first())] * double{args.v[query.key_row(s) + d]};
      }
      args.output[query.row() + d] = static_cast<float>(sum);
    }
  });
  return absl::OkStatus();
}

// From the probabilities themselves: log_sum_exp and output are not read. For one query
//   dV_s = p_s dO,  dp_s = dO . V_s,  ds_s = p_s (dp_s - sum p dp),
//   dQ = scale sum ds_s K_s,  dK_s = scale ds_s Q.
// The sink is a score without a value, so that its dp is 0.
absl::Status AttentionBackwardReference(const KernelContext& context,
                                        const AttentionBackward& args) {
  const AttentionShape& shape = args.shape;
  const int64_t width = shape.head_dim;
  const auto keys = static_cast<size_t>(shape.batch * shape.sequence * shape.kv_heads * width);
  std::vector<double> dk(keys);
  std::vector<double> dv(keys);
  std::vector<double> dsinks(static_cast<size_t>(shape.heads));
  ForEachQuery(shape, args.records, [&](const Query& query) {
    double log_sum_exp = 0;
    const std::vector<double> p = Probabilities(query, args.q, args.k, args.sinks, log_sum_exp);
    std::vector<double> dp(p.size());
    double dot = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      dp[i] = Product(args.output_gradient + query.row(),
                      args.v + query.key_row(query.first() + static_cast<int64_t>(i)), width);
      dot += p[i] * dp[i];
    }
    args.output_dot[query.entry()] = static_cast<float>(dot);
    if (args.sinks_gradient.is_needed()) {
      dsinks[static_cast<size_t>(query.head)] -=
          std::exp(double{args.sinks[query.head]} - log_sum_exp) * dot;
    }
    std::vector<double> dq(static_cast<size_t>(width));
    for (size_t i = 0; i < p.size(); ++i) {
      const int64_t key_row = query.key_row(query.first() + static_cast<int64_t>(i));
      const double ds = double{shape.scale} * p[i] * (dp[i] - dot);
      for (int64_t d = 0; d < width; ++d) {
        const auto at = static_cast<size_t>(key_row + d);
        dq[static_cast<size_t>(d)] += ds * double{args.k[at]};
        dk[at] += ds * double{args.q[query.row() + d]};
        dv[at] += p[i] * double{args.output_gradient[query.row() + d]};
      }
    }
    for (int64_t d = 0; d < width; ++d) {
      args.q_gradient[query.row() + d] = static_cast<float>(dq[static_cast<size_t>(d)]);
    }
  });
  for (size_t i = 0; i < keys; ++i) {
    args.k_gradient[i] = static_cast<float>(dk[i]);
    args.v_gradient[i] = static_cast<float>(dv[i]);
  }
  if (!args.sinks_gradient.is_needed()) return absl::OkStatus();
  for (int64_t head = 0; head < shape.heads; ++head) {
    ReferenceStoreGradient(args.sinks_gradient, head, dsinks[static_cast<size_t>(head)]);
  }
  return absl::OkStatus();
}

}  // namespace horizon
