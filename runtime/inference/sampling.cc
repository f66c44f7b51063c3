#include "runtime/inference/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "common/check.h"
#include "common/failure_source.h"
#include "common/philox.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

struct Candidate {
  int32_t id = 0;
  double logit = 0;
};

// The likelier first, of equals the lower id: a total order, so that every way of sorting gives the
// same.
bool IsLikelier(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

absl::Status NotFinite(const std::string& what) {
  return WithFailureSource(
      absl::InternalError(StrCat("the model's logits cannot be sampled from: ", what)),
      FailureSource::kNumerics);
}

// Every token that may be chosen, penalties applied.
absl::StatusOr<std::vector<Candidate>> CandidatesOf(std::span<const float> logits,
                                                    std::span<const int32_t> before,
                                                    double penalty) {
  std::vector<char> penalised;
  if (penalty != 1) {
    penalised.resize(logits.size());
    for (const int32_t id : before) {
      if (id >= 0 && id < static_cast<int64_t>(logits.size())) {
        penalised[static_cast<size_t>(id)] = 1;
      }
    }
  }
  std::vector<Candidate> candidates;
  candidates.reserve(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    double logit{logits[i]};
    if (std::isnan(logit) || logit == std::numeric_limits<double>::infinity()) {
      return NotFinite(StrCat("that of token ", i, " is ", std::isnan(logit) ? "NaN" : "infinite"));
    }
    if (std::isinf(logit)) continue;
    if (!penalised.empty() && penalised[i] != 0) {
      logit = logit > 0 ? logit / penalty : logit * penalty;
    }
    candidates.push_back({static_cast<int32_t>(i), logit});
  }
  if (candidates.empty()) return NotFinite("all are -infinity");
  return candidates;
}

// Uniform in [0, 1), of 53 bits.
double Uniform(uint64_t seed, const DrawPlace& place) {
  const PhiloxBlock block = Philox(PhiloxKeyOf(seed), PhiloxCounterOf(place.position, place.text));
  const uint64_t bits = (uint64_t{block[0]} << 32 | block[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

// Sorts the fewest candidates that have a share of `top_p` of all weights to the front and returns
// how many they are. Sorts as far as that takes, since it is most often a small part.
size_t KeepTopP(std::vector<Candidate>& candidates, const std::vector<double>& weights_by_id,
                double wanted) {
  const auto weight = [&](const Candidate& c) { return weights_by_id[static_cast<size_t>(c.id)]; };
  double sum = 0;
  size_t sorted = 0;
  for (size_t kept = 0; kept < candidates.size(); ++kept) {
    if (kept == sorted) {
      sorted = std::min(candidates.size(), std::max<size_t>(64, 4 * sorted));
      std::partial_sort(candidates.begin() + static_cast<int64_t>(kept),
                        candidates.begin() + static_cast<int64_t>(sorted), candidates.end(),
                        IsLikelier);
    }
    sum += weight(candidates[kept]);
    if (sum >= wanted) return kept + 1;
  }
  return candidates.size();
}

}  // namespace

absl::Status ValidateSampling(const SamplingOptions& options) {
  if (!(options.temperature >= 0) || std::isinf(options.temperature)) {
    return absl::InvalidArgumentError(
        StrCat("temperature ", options.temperature, " is not 0 or above"));
  }
  if (options.top_k < 0) {
    return absl::InvalidArgumentError(StrCat("top_k ", options.top_k, " is not 0 or above"));
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    return absl::InvalidArgumentError(
        StrCat("top_p ", options.top_p, " is not above 0 and at most 1"));
  }
  if (!(options.repetition_penalty > 0) || std::isinf(options.repetition_penalty)) {
    return absl::InvalidArgumentError(
        StrCat("repetition_penalty ", options.repetition_penalty, " is not above 0"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int32_t> ChooseToken(std::span<const float> logits, std::span<const int32_t> before,
                                    const SamplingOptions& options, const DrawPlace& place) {
  CHECK(!logits.empty());
  ASSIGN_OR_RETURN(std::vector<Candidate> candidates,
                   CandidatesOf(logits, before, options.repetition_penalty));
  const Candidate best = *std::min_element(candidates.begin(), candidates.end(), IsLikelier);
  if (options.temperature == 0) return best.id;
  if (options.top_k > 0 && options.top_k < static_cast<int64_t>(candidates.size())) {
    std::nth_element(candidates.begin(), candidates.begin() + options.top_k, candidates.end(),
                     IsLikelier);
    candidates.resize(static_cast<size_t>(options.top_k));
    // nth_element leaves them in no particular order, and sums below follow the order.
    std::sort(candidates.begin(), candidates.end(), IsLikelier);
  }
  std::vector<double> weights(logits.size());
  double total = 0;
  for (const Candidate& candidate : candidates) {
    const double weight = std::exp((candidate.logit - best.logit) / options.temperature);
    weights[static_cast<size_t>(candidate.id)] = weight;
    total += weight;
  }
  if (options.top_p < 1) {
    candidates.resize(KeepTopP(candidates, weights, options.top_p * total));
    total = 0;
    for (const Candidate& candidate : candidates)
      total += weights[static_cast<size_t>(candidate.id)];
  }
  double left = Uniform(options.seed, place) * total;
  for (const Candidate& candidate : candidates) {
    left -= weights[static_cast<size_t>(candidate.id)];
    if (left < 0) return candidate.id;
  }
  // Roundings can leave a last crumb. It is the likeliest token's, which always has weight.
  return best.id;
}

}  // namespace horizon
