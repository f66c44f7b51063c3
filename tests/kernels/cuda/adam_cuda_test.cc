#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "kernels/optimizer/adam.h"
#include "tests/kernels/cuda/device_array.h"
#include "tests/kernels/optimizer/adam_state.h"

namespace horizon {
namespace {

constexpr uint64_t kNoneRefused = std::numeric_limits<uint64_t>::max();

// Moments and how many elements behind an aligned place the arrays begin.
struct Case {
  MomentType moments;
  int64_t offset;
};
class AdamCudaTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (CudaDeviceCount() == 0) GTEST_SKIP() << "no CUDA device";
  }
};
std::string NameOf(const testing::TestParamInfo<Case>& tested) {
  const MomentType moments = tested.param.moments;
  const std::string name = moments == MomentType::kFp32   ? "Fp32"
                           : moments == MomentType::kBf16 ? "Bf16"
                                                          : "EightBit";
  return name + "At" + std::to_string(tested.param.offset);
}
INSTANTIATE_TEST_SUITE_P(Moments, AdamCudaTest,
                         testing::Values(Case{MomentType::kFp32, 0}, Case{MomentType::kFp32, 1},
                                         Case{MomentType::kBf16, 0}, Case{MomentType::kBf16, 1},
                                         Case{MomentType::k8Bit, 0}, Case{MomentType::k8Bit, 1}),
                         NameOf);

// One of the state's arrays on the device, without the element before its begin.
template <typename T>
class StateArray {
 public:
  StateArray(const CudaStream& stream, std::vector<T>& state, size_t begin, int64_t offset)
      : state_(state),
        begin_(begin),
        array_(stream, std::vector<T>(state.begin() + static_cast<int64_t>(begin), state.end()),
               offset) {}
  T* data() const { return array_.data(); }
  void ReadBack() const {
    const std::vector<T> values = array_.Read();
    std::copy(values.begin(), values.end(), state_.begin() + static_cast<int64_t>(begin_));
  }

 private:
  std::vector<T>& state_;
  size_t begin_;
  DeviceArray<T> array_;
};

// One update of the state on the device; returns what was refused. `args` says everything but where
// the arrays lie; which of them it has is kept.
uint64_t UpdateOnCuda(AdamState& state, AdamUpdate args, int64_t offset, uint64_t seed) {
  const CudaStream stream(seed);
  const auto moment_bytes = static_cast<size_t>(MomentBytes(state.moments));
  const auto moment_offset = static_cast<int64_t>(moment_bytes) * offset;
  const StateArray<float> gradient(stream, state.gradient, 1, offset);
  const StateArray<uint16_t> gradient_bf16(stream, state.gradient_bf16, 1, offset);
  const StateArray<uint16_t> hi(stream, state.hi, 1, offset);
  const StateArray<int16_t> lo(stream, state.lo, 1, offset);
  const StateArray<uint8_t> m(stream, state.m, moment_bytes, moment_offset);
  const StateArray<uint8_t> v(stream, state.v, moment_bytes, moment_offset);
  const StateArray<float> m_scales(stream, state.m_scales, 0, offset);
  const StateArray<float> v_scales(stream, state.v_scales, 0, offset);
  const StateArray<float> weights(stream, state.weights, 1, offset);
  const DeviceArray<uint64_t> first_refused(stream, {7}, 0);
  if (args.gradient_fp32 != nullptr) args.gradient_fp32 = gradient.data();
  if (args.gradient_bf16 != nullptr) args.gradient_bf16 = gradient_bf16.data();
  args.hi = hi.data();
  if (args.lo != nullptr) args.lo = lo.data();
  args.m = m.data();
  args.v = v.data();
  args.m_scales = m_scales.data();
  args.v_scales = v_scales.data();
  if (args.weights != nullptr) args.weights = weights.data();
  args.first_refused = first_refused.data();
  EXPECT_TRUE(AdamUpdateCuda(stream.context(), args).ok());
  hi.ReadBack();
  lo.ReadBack();
  m.ReadBack();
  v.ReadBack();
  m_scales.ReadBack();
  v_scales.ReadBack();
  weights.ReadBack();
  return first_refused.Read()[0];
}

// Three updates of one state by `update(state, args)`, in the form that its bits stand for.
template <class Update>
AdamState Updated(AdamState state, uint32_t form, int64_t first, const Update& update) {
  for (int64_t step = 1; step <= 3; ++step) {
    AdamUpdate args = state.Args();
    args.first = first;
    args.key = 99;
    args.constants = AdamConstantsOf({.learning_rate = 1e-2, .weight_decay = 0.1, .step = step});
    args.step = step;
    args.clip = 0.7f;
    if ((form & 1) != 0) args.lo = nullptr;
    if ((form & 2) != 0) args.weights = nullptr;
    args.weights_from_hi = (form & 4) != 0;
    if ((form & 8) != 0) {
      args.gradient_fp32 = nullptr;
      args.gradient_bf16 = state.gradient_bf16.data() + 1;
    }
    update(state, args);
  }
  return state;
}

void ExpectTheTwinsBits(const AdamState& begin, uint32_t form, int64_t first, int64_t offset,
                        uint64_t seed) {
  const AdamState scalar = Updated(begin, form, first, [](AdamState&, const AdamUpdate& args) {
    EXPECT_TRUE(AdamUpdateScalar({}, args).ok());
  });
  const AdamState cuda = Updated(begin, form, first, [&](AdamState& state, const AdamUpdate& args) {
    EXPECT_EQ(UpdateOnCuda(state, args, offset, seed), kNoneRefused);
  });
  ASSERT_TRUE(cuda.SameBytes(scalar)) << begin.count << " parameters, form " << form;
  ASSERT_TRUE(begin.count == 0 || !cuda.SameBytes(begin));
}

TEST_P(AdamCudaTest, HasTheBitsOfTheScalarTwin) {
  for (const int64_t count : {0, 1, 7, 8, 9, 255, 256, 257, 1000, 4099}) {
    for (uint32_t form = 0; form < 16; ++form) {
      AdamState begin(count, GetParam().moments);
      begin.Randomize(static_cast<uint32_t>(count) + 1);
      ExpectTheTwinsBits(begin, form, 0, GetParam().offset, form + 1);
    }
  }
}

// More than all blocks take at once is 8 million; a few blocks are enough for their order.
TEST_P(AdamCudaTest, BitsDoNotDependOnTheOrderOfBlocks) {
  AdamState begin(20'001, GetParam().moments);
  begin.Randomize(2);
  for (const uint64_t seed : {1, 2, 3}) {
    ExpectTheTwinsBits(begin, 0, 512, GetParam().offset, seed);
  }
}

// Numbers of parameters past 2^32 change the generator's key in the middle of a run.
TEST_P(AdamCudaTest, BitsAreTheTwinsWhereNumbersPass32Bits) {
  AdamState begin(700, GetParam().moments);
  begin.Randomize(4);
  const int64_t before = GetParam().moments == MomentType::k8Bit ? 512 : 333;
  ExpectTheTwinsBits(begin, 0, (int64_t{1} << 32) - before, GetParam().offset, 1);
}

// Denormal, huge (but finite) and zero gradients in one block, and blocks of one kind.
TEST_P(AdamCudaTest, BitsAreTheTwinsForNumbersOfEverySize) {
  AdamState begin(4 * kAdamBlock, GetParam().moments);
  begin.Randomize(5);
  const std::vector<float> sizes = {0.0f, -0.0f, 1e-45f, -1e-39f, 1e-38f, 1e-30f, 1e-19f, 1e15f};
  for (int64_t i = 0; i < begin.count; ++i) {
    const int64_t block = i / kAdamBlock;
    begin.SetGradient(i, block == 0   ? sizes[static_cast<size_t>(i % 8)]
                         : block == 1 ? 0.0f
                         : block == 2 ? 1e-40f
                                      : (i % kAdamBlock == 77 ? 1e10f : 1e-10f));
  }
  ExpectTheTwinsBits(begin, 0, 0, GetParam().offset, 1);
}

TEST_P(AdamCudaTest, TheLowestMasterThatOverflowsBf16IsTold) {
  for (const bool low_half : {true, false}) {
    AdamState state(10'000, GetParam().moments);
    state.Randomize(7);
    for (const int64_t bad : {9'999, 4'103, 4'104, 7'000}) {
      state.SetMaster(bad, bad % 2 == 0 ? 0x1.FEp127f : -0x1.FEp127f);
      state.SetGradient(bad, bad % 2 == 0 ? -1.0f : 1.0f);
    }
    AdamUpdate args = state.Args();
    args.first = 2560;
    args.constants = AdamConstantsOf({.learning_rate = 1e36, .weight_decay = 0.0});
    if (!low_half) args.lo = nullptr;
    EXPECT_EQ(UpdateOnCuda(state, args, GetParam().offset, 1), 2560u + 4103u);
  }
}

TEST_P(AdamCudaTest, ParametersPastTheEndAreNotLookedAt) {
  AdamState state(3, GetParam().moments);
  for (int64_t i = 0; i < 3; ++i) {
    state.SetMaster(i, std::bit_cast<float>(0x7F7F7FFF));
    state.SetGradient(i, 1.0f);
  }
  AdamUpdate args = state.Args();
  // An epsilon of zero: 0 / 0 where moments are zero, as they are past the end.
  args.constants = AdamConstantsOf({.learning_rate = 0.0, .epsilon = 0.0, .weight_decay = 0.0});
  EXPECT_EQ(UpdateOnCuda(state, args, GetParam().offset, 1), kNoneRefused);
  EXPECT_EQ(state.Master(2), std::bit_cast<float>(0x7F7F7FFF));
}

}  // namespace
}  // namespace horizon
