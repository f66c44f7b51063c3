#include "model/rotary_frequencies.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "common/check.h"

namespace horizon {
namespace {

// theta^(2i / rotary_dim): how many positions a pair needs for one radian. The quotient is rounded
// to fp32 as transformers does, the power is taken in double and rounded once.
std::vector<float> PositionsPerRadian(double theta, int64_t rotary_dim) {
  std::vector<float> positions(static_cast<size_t>(rotary_dim / 2));
  for (size_t i = 0; i < positions.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(rotary_dim);
    positions[i] =
        static_cast<float>(std::pow(static_cast<double>(static_cast<float>(theta)), exponent));
  }
  return positions;
}

// Llama 3.1: short waves stay, long ones are stretched by the factor, those between go over from
// one to the other linearly in the number of turns within the original context.
float StretchLlama3(const RopeSpec& rope, float frequency) {
  const auto original = static_cast<double>(rope.original_max_positions);
  const auto longest = static_cast<float>(original / rope.low_frequency_factor);
  const auto shortest = static_cast<float>(original / rope.high_frequency_factor);
  const auto factor = static_cast<float>(rope.factor);
  // A number over a tensor is the tensor's reciprocal times the number in PyTorch.
  const float wave = (1.0F / frequency) * static_cast<float>(2 * std::numbers::pi);
  if (wave > longest) return frequency / factor;
  if (wave < shortest) return frequency;
  const float turns = (1.0F / wave) * static_cast<float>(original);
  const float smooth = (turns - static_cast<float>(rope.low_frequency_factor)) /
                       static_cast<float>(rope.high_frequency_factor - rope.low_frequency_factor);
  return (1.0F - smooth) * frequency / factor + smooth * frequency;
}

// YaRN (arXiv 2309.00071), section 3.2: the pair that makes `rotations` turns within the original
// context, as a real number.
double PairWithRotations(const RopeSpec& rope, int64_t rotary_dim, double rotations) {
  const auto original = static_cast<double>(rope.original_max_positions);
  return static_cast<double>(rotary_dim) * std::log(original / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(rope.theta));
}

// Pairs below a first one keep their frequency, those past a last one are stretched by the factor,
// linear in the pair's number between.
std::vector<float> StretchYarn(const RopeSpec& rope, int64_t rotary_dim,
                               const std::vector<float>& positions) {
  double first = PairWithRotations(rope, rotary_dim, rope.beta_fast);
  double last = PairWithRotations(rope, rotary_dim, rope.beta_slow);
  if (rope.truncate) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, static_cast<double>(rotary_dim - 1));
  if (first == last) last += 0.001;
  std::vector<float> frequencies(positions.size());
  for (size_t i = 0; i < positions.size(); ++i) {
    const float ramp = std::clamp(
        (static_cast<float>(i) - static_cast<float>(first)) / static_cast<float>(last - first),
        0.0F, 1.0F);
    const float kept = 1.0F - ramp;
    const float stretched = 1.0F / (static_cast<float>(rope.factor) * positions[i]);
    frequencies[i] = stretched * (1.0F - kept) + 1.0F / positions[i] * kept;
  }
  return frequencies;
}

double Magnitude(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

double YarnFactor(const RopeSpec& rope) {
  if (rope.attention_factor != 0) return rope.attention_factor;
  if (rope.mscale == 0 || rope.mscale_all_dim == 0) return Magnitude(rope.factor, 1.0);
  return Magnitude(rope.factor, rope.mscale) / Magnitude(rope.factor, rope.mscale_all_dim);
}

// LongRoPE (arXiv 2402.13753): each pair has its own divisor.
std::vector<float> StretchLongrope(const std::vector<double>& factors,
                                   const std::vector<float>& positions) {
  CHECK(factors.size() == positions.size());
  std::vector<float> frequencies(positions.size());
  for (size_t i = 0; i < positions.size(); ++i) {
    frequencies[i] = 1.0F / (static_cast<float>(factors[i]) * positions[i]);
  }
  return frequencies;
}

double LongropeFactor(const RopeSpec& rope) {
  if (rope.attention_factor != 0) return rope.attention_factor;
  if (rope.factor <= 1) return 1.0;
  return std::sqrt(1.0 + std::log(rope.factor) /
                             std::log(static_cast<double>(rope.original_max_positions)));
}

}  // namespace

RotaryFrequencies FrequenciesOf(const RopeSpec& rope, int64_t rotary_dim, int64_t sequence) {
  CHECK(rotary_dim >= 2 && rotary_dim % 2 == 0);
  const std::vector<float> positions = PositionsPerRadian(rope.theta, rotary_dim);
  RotaryFrequencies result;
  if (rope.kind == RopeKind::kYarn) {
    result.frequencies = StretchYarn(rope, rotary_dim, positions);
    result.factor = static_cast<float>(YarnFactor(rope));
    return result;
  }
  if (rope.kind == RopeKind::kLongrope) {
    const bool is_long = sequence > rope.original_max_positions;
    result.frequencies =
        StretchLongrope(is_long ? rope.long_factors : rope.short_factors, positions);
    result.factor = static_cast<float>(LongropeFactor(rope));
    return result;
  }
  for (const float position : positions) {
    const float frequency = 1.0F / position;
    switch (rope.kind) {
      case RopeKind::kLinear:
        result.frequencies.push_back(frequency / static_cast<float>(rope.factor));
        break;
      case RopeKind::kLlama3:
        result.frequencies.push_back(StretchLlama3(rope, frequency));
        break;
      default:
        result.frequencies.push_back(frequency);
    }
  }
  return result;
}

float QueryScaleOf(const RopeSpec& rope, int64_t position) {
  CHECK(position >= 0);
  if (rope.query_scale_beta == 0) return 1.0F;
  const float contexts =
      std::floor(static_cast<float>(position) / static_cast<float>(rope.original_max_positions));
  const auto logarithm = static_cast<float>(std::log(static_cast<double>(1.0F + contexts)));
  return 1.0F + static_cast<float>(rope.query_scale_beta) * logarithm;
}

}  // namespace horizon
