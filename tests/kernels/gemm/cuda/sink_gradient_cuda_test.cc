#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "kernels/attention/sink_gradient.h"
#include "kernels/cuda/cuda_column_scratch.h"
#include "tests/kernels/gemm/cuda/device_lane.h"
#include "tests/kernels/support/bf16_values.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

// Sinks that begin at any address: behind a number that is not one.
struct Inputs {
  int64_t tokens, heads;
  std::vector<uint16_t> sinks;
  std::vector<float> log_sum_exp, output_dot;

  // Probabilities of exactly 1, or some below.
  enum class Probabilities { kOne, kSome };
  Inputs(int64_t the_tokens, int64_t the_heads, Probabilities probabilities)
      : tokens(the_tokens), heads(the_heads) {
    std::mt19937 random(1);
    sinks = RandomBf16(random, heads + 1, 3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int64_t i = 0; i < tokens * heads; ++i) {
      const float below = probabilities == Probabilities::kSome ? 1 + uniform(random) : 0;
      log_sum_exp.push_back(Widened(sinks[static_cast<size_t>(1 + i % heads)]) + below);
      output_dot.push_back(uniform(random));
    }
  }
};

// In the workspace that is asked for and `more_tiles` further tiles.
template <typename T>
std::vector<T> OnDevice(const Inputs& in, GradientOut storing, uint64_t seed, int64_t more_tiles) {
  DeviceLane lane(
      seed, static_cast<uint64_t>(LeastColumnScratchBytes(in.heads) + more_tiles * in.heads * 4));
  T* out = lane.Upload(std::vector<T>(static_cast<size_t>(in.heads), T{5}));
  if constexpr (sizeof(T) == 2) {
    storing.bf16 = out;
  } else {
    storing.sum = out;
  }
  EXPECT_EQ(SinkGradientCuda(lane.context(), {.tokens = in.tokens,
                                              .heads = in.heads,
                                              .sinks = lane.Upload(in.sinks) + 1,
                                              .log_sum_exp = lane.Upload(in.log_sum_exp),
                                              .output_dot = lane.Upload(in.output_dot),
                                              .gradient = storing}),
            absl::OkStatus());
  return lane.Download(out, in.heads);
}

template <typename T>
std::vector<T> OnHost(const Inputs& in, GradientOut storing, decltype(&SinkGradientHost) body) {
  const std::vector<float> sinks = Widened(in.sinks);
  std::vector<T> out(static_cast<size_t>(in.heads), T{5});
  if constexpr (sizeof(T) == 2) {
    storing.bf16 = out.data();
  } else {
    storing.sum = out.data();
  }
  KernelLane lane(1);
  EXPECT_TRUE(body(lane.context(), {.tokens = in.tokens,
                                    .heads = in.heads,
                                    .sinks = sinks.data() + 1,
                                    .log_sum_exp = in.log_sum_exp.data(),
                                    .output_dot = in.output_dot.data(),
                                    .gradient = storing})
                  .ok());
  return out;
}

std::vector<std::pair<int64_t, int64_t>> Sizes() {
  return {{0, 8}, {1, 1}, {63, 5}, {64, 8}, {65, 17}, {200, 64}, {1000, 7}};
}

TEST(SinkGradientCuda, MatchesTheReference) {
  for (const auto& [tokens, heads] : Sizes()) {
    const Inputs in(tokens, heads, Inputs::Probabilities::kSome);
    // Terms of at most 1: of each a few roundings of its exponential, and 64 sums of a tile.
    ExpectNear("sinks", OnDevice<float>(in, {}, 1, 0),
               OnHost<float>(in, {}, &SinkGradientReference), [&, tokens = tokens](size_t) {
                 return (8 + 65) * kFp32Unit * static_cast<double>(tokens);
               });
  }
}

TEST(SinkGradientCuda, AddsInTheHostsOrderInAnyOrderOfBlocksAndWorkspace) {
  uint64_t seed = 1;
  for (const auto& [tokens, heads] : Sizes()) {
    const Inputs in(tokens, heads, Inputs::Probabilities::kOne);
    // One tile at a time, two, and all at once.
    for (const int64_t more : {int64_t{0}, int64_t{1}, tokens / 64 + 1}) {
      EXPECT_EQ(OnDevice<uint16_t>(in, {}, ++seed, more),
                OnHost<uint16_t>(in, {}, &SinkGradientHost));
      for (const GradientOut storing :
           {GradientOut{}, GradientOut{.add = true}, GradientOut{.add = true, .rounded = true}}) {
        EXPECT_EQ(OnDevice<float>(in, storing, ++seed, more),
                  OnHost<float>(in, storing, &SinkGradientHost))
            << tokens << " tokens, " << heads << " heads";
      }
    }
  }
}

TEST(SinkGradientCuda, RefusesWhatItDoesNotPromise) {
  const auto least = static_cast<uint64_t>(LeastColumnScratchBytes(8));
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  for (const uint64_t given : {least, least - 1}) {
    DeviceLane lane(1, given);
    const auto* numbers = lane.Upload(std::vector<float>(8));
    const SinkGradient one = {.tokens = 1,
                              .heads = 8,
                              .sinks = lane.Upload(std::vector<uint16_t>(8)),
                              .log_sum_exp = numbers,
                              .output_dot = numbers,
                              .gradient = {.sum = lane.Allocate<float>(8)}};
    EXPECT_EQ(SinkGradientCuda(lane.context(), one).code(),
              given == least ? absl::StatusCode::kOk : absl::StatusCode::kResourceExhausted);
    for (int broken = 0; broken < 7; ++broken) {
      SinkGradient args = one;
      if (broken == 0) args.tokens = -1;
      if (broken == 1) args.heads = -1;
      if (broken == 2) args.sinks = {};
      if (broken == 3) args.sinks = numbers;  // fp32
      if (broken == 4) args.log_sum_exp = nullptr;
      if (broken == 5) args.output_dot = nullptr;
      if (broken == 6) args.gradient = {};
      EXPECT_EQ(SinkGradientCuda(lane.context(), args).code(), kInvalid) << broken;
    }
  }
}

}  // namespace
}  // namespace horizon
