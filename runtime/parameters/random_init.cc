#include "runtime/parameters/random_init.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "common/check.h"
#include "common/philox.h"
#include "model/tensor_role.h"

namespace horizon {
namespace {

bool IsNorm(TensorRole role) {
  switch (role) {
    case TensorRole::kNorm:
    case TensorRole::kNormAfter:
    case TensorRole::kQueryNorm:
    case TensorRole::kKeyNorm:
      return true;
    default:
      return false;
  }
}

bool IsBias(TensorRole role) {
  switch (role) {
    case TensorRole::kQueryBias:
    case TensorRole::kKeyBias:
    case TensorRole::kValueBias:
    case TensorRole::kOutputBias:
    case TensorRole::kGateBias:
    case TensorRole::kUpBias:
    case TensorRole::kDownBias:
    case TensorRole::kRouterBias:
    case TensorRole::kGateUpBias:
    case TensorRole::kExpertsDownBias:
      return true;
    default:
      return false;
  }
}

// Two independent normal numbers from two uniform ones (Box and Muller, 1958). The halves keep the
// logarithm away from 0: no value lies beyond 6.7 deviations.
std::array<double, 2> NormalPair(uint32_t a, uint32_t b) {
  constexpr double kUnit = 0x1p-32;
  const double radius = std::sqrt(-2 * std::log((a + 0.5) * kUnit));
  const double angle = 2 * std::numbers::pi * (b + 0.5) * kUnit;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

// Elements 4 x block .. 4 x block + 3.
std::array<double, 4> NormalBlock(PhiloxKey key, uint64_t stream, uint64_t block) {
  const PhiloxBlock bits = Philox(key, PhiloxCounterOf(block, stream));
  const auto [a, b] = NormalPair(bits[0], bits[1]);
  const auto [c, d] = NormalPair(bits[2], bits[3]);
  return {a, b, c, d};
}

}  // namespace

void FillRandomTensor(const ModelSpec& spec, const TensorSpec& tensor, int64_t seed, uint64_t first,
                      std::span<float> values) {
  CHECK(first <= tensor.parameters && values.size() <= tensor.parameters - first);
  if (IsNorm(tensor.role)) {
    // Either way the norm begins by multiplying with 1.
    std::fill(values.begin(), values.end(), spec.norm_adds_one ? 0.0F : 1.0F);
    return;
  }
  if (IsBias(tensor.role)) {
    std::fill(values.begin(), values.end(), 0.0F);
    return;
  }
  const PhiloxKey key = PhiloxKeyOf(static_cast<uint64_t>(seed));
  const uint64_t stream = PhiloxStreamOf(tensor.name);
  size_t done = 0;
  while (done < values.size()) {
    const uint64_t at = first + done;
    const std::array<double, 4> block = NormalBlock(key, stream, at / 4);
    for (size_t i = at % 4; i < 4 && done < values.size(); ++i) {
      values[done++] = static_cast<float>(spec.initializer_range * block[i]);
    }
  }
}

}  // namespace horizon
