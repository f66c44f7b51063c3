#include <gtest/gtest.h>

#include <ostream>

#include "kernels/gemm/gemm.h"
#include "tests/kernels/gemm/cuda/device_lane.h"
#include "tests/kernels/support/bf16_values.h"

namespace horizon {
namespace {

struct Case {
  int64_t m, n, k;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.m << " x " << c.n << " x " << c.k;
}

enum class Added { kNothing, kBias, kInitial, kItself, kAll };

struct Arrays {
  std::vector<uint16_t> a, b, bias, initial;
};

constexpr GemmForm kForms[] = {GemmForm::kForward, GemmForm::kInputGradient,
                               GemmForm::kWeightGradient};

Gemm Describe(GemmForm form, const Case& c) {
  return {.form = form,
          .m = c.m,
          .n = c.n,
          .k = c.k,
          .a_stride = form == GemmForm::kWeightGradient ? c.m : c.k,
          .b_stride = form == GemmForm::kForward ? c.k : c.n,
          .c_stride = c.n};
}

class GemmCudaTest : public testing::TestWithParam<Case> {
 protected:
  GemmCudaTest() {
    const Case& c = GetParam();
    arrays = {.a = RandomBf16(random, c.m * c.k),
              .b = RandomBf16(random, c.k * c.n),
              .bias = RandomBf16(random, c.n),
              .initial = RandomBf16(random, c.m * c.n)};
  }

  std::vector<float> Reference(GemmForm form, Added added) {
    const Case& c = GetParam();
    const std::vector<float> a = Widened(arrays.a), b = Widened(arrays.b);
    const std::vector<float> bias = Widened(arrays.bias), initial = Widened(arrays.initial);
    std::vector<float> result(static_cast<size_t>(c.m * c.n));
    Gemm gemm = Describe(form, c);
    gemm.a = a.data();
    gemm.b = b.data();
    gemm.c = result.data();
    if (added == Added::kBias || added == Added::kAll) gemm.bias = bias.data();
    if (added >= Added::kInitial) gemm.initial = initial.data();
    EXPECT_TRUE(GemmReference({}, gemm).ok());
    return result;
  }

  std::vector<uint16_t> OnDevice(GemmForm form, Added added, uint64_t seed) {
    const Case& c = GetParam();
    DeviceLane lane(seed);
    Gemm gemm = Describe(form, c);
    gemm.a = lane.Upload(arrays.a);
    gemm.b = lane.Upload(arrays.b);
    uint16_t* result = added == Added::kItself ? lane.Upload(arrays.initial)
                                               : lane.Allocate<uint16_t>(arrays.initial.size());
    gemm.c = result;
    if (added == Added::kBias || added == Added::kAll) gemm.bias = lane.Upload(arrays.bias);
    if (added == Added::kInitial || added == Added::kAll) {
      gemm.initial = lane.Upload(arrays.initial);
    }
    if (added == Added::kItself) gemm.initial = result;
    EXPECT_EQ(GemmCuda(lane.context(), gemm), absl::OkStatus());
    return lane.Download(result, c.m * c.n);
  }

  std::mt19937 random{1};
  Arrays arrays;
};

// Terms are at most 1, so that the sum of k of them in fp32 is off by k roundings of at most k;
// bias and residual are two terms more. The result is rounded once.
TEST_P(GemmCudaTest, MatchesTheReference) {
  const auto terms = static_cast<double>(GetParam().k + 2);
  for (const GemmForm form : kForms) {
    for (const Added added :
         {Added::kNothing, Added::kBias, Added::kInitial, Added::kItself, Added::kAll}) {
      const std::vector<float> expected = Reference(form, added);
      const std::vector<uint16_t> actual = OnDevice(form, added, 1);
      ExpectNear("product", Widened(actual), expected, [&](size_t i) {
        return kBf16Unit * std::fabs(expected[i]) + terms * terms * kFp32Unit;
      });
      EXPECT_EQ(OnDevice(form, added, 7), actual);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, GemmCudaTest,
                         testing::Values(Case{8, 8, 8}, Case{8, 24, 16}, Case{64, 8, 40},
                                         Case{40, 136, 72}, Case{0, 8, 8}, Case{8, 8, 0},
                                         Case{128, 64, 256}));

TEST(GemmCuda, OneTokenIsEnough) {
  std::mt19937 random(2);
  const std::vector<uint16_t> x = RandomBf16(random, 24), w = RandomBf16(random, int64_t{16} * 24);
  DeviceLane lane;
  float* y = lane.Allocate<float>(16);
  EXPECT_EQ(GemmCuda(lane.context(), {.m = 1,
                                      .n = 16,
                                      .k = 24,
                                      .a = lane.Upload(x),
                                      .a_stride = 24,
                                      .b = lane.Upload(w),
                                      .b_stride = 24,
                                      .c = y,
                                      .c_stride = 16}),
            absl::OkStatus());
  std::vector<float> expected(16);
  for (size_t i = 0; i < 16; ++i) {
    double sum = 0;
    for (size_t j = 0; j < 24; ++j) sum += double{Widened(x[j])} * double{Widened(w[i * 24 + j])};
    expected[i] = static_cast<float>(sum);
  }
  ExpectNear("y", lane.Download(y, 16), expected, [](size_t) { return 26 * 26 * kFp32Unit; });
}

// Columns [begin, end) of a product with tiles of columns, as a shard of a head gives.
TEST(GemmCuda, ShardsHaveTheBitsOfTheWhole) {
  std::mt19937 random(3);
  constexpr int64_t kM = 8, kN = 1536, kK = 200;
  const std::vector<uint16_t> x = RandomBf16(random, kM * kK), w = RandomBf16(random, kN * kK);
  const auto product = [&](int64_t shard) {
    DeviceLane lane;
    const uint16_t* a = lane.Upload(x);
    const uint16_t* b = lane.Upload(w);
    float* c = lane.Allocate<float>(kM * kN);
    for (int64_t begin = 0; begin < kN; begin += shard) {
      EXPECT_EQ(GemmCuda(lane.context(), {.m = kM,
                                          .n = shard,
                                          .k = kK,
                                          .a = a,
                                          .a_stride = kK,
                                          .b = b + begin * kK,
                                          .b_stride = kK,
                                          .c = c + begin,
                                          .c_stride = kN,
                                          .n_tile = 512}),
                absl::OkStatus());
    }
    return lane.Download(c, kM * kN);
  };
  const std::vector<float> whole = product(kN);
  EXPECT_EQ(product(512), whole);
}

TEST(GemmCuda, PiecesOfTheSumHaveTheBitsOfTheWhole) {
  std::mt19937 random(4);
  constexpr int64_t kM = 16, kN = 24, kK = 96;
  const std::vector<uint16_t> x = RandomBf16(random, kM * kK), w = RandomBf16(random, kN * kK);
  const auto product = [&](int64_t part) {
    DeviceLane lane;
    const uint16_t* a = lane.Upload(x);
    const uint16_t* b = lane.Upload(w);
    float* c = lane.Allocate<float>(kM * kN);
    for (int64_t begin = 0; begin < kK; begin += part) {
      EXPECT_EQ(GemmCuda(lane.context(), {.form = GemmForm::kWeightGradient,
                                          .m = kM,
                                          .n = kN,
                                          .k = part,
                                          .a = a + begin * kM,
                                          .a_stride = kM,
                                          .b = b + begin * kN,
                                          .b_stride = kN,
                                          .c = c,
                                          .c_stride = kN,
                                          .initial = begin == 0 ? nullptr : c,
                                          .k_tile = 16}),
                absl::OkStatus());
    }
    return lane.Download(c, kM * kN);
  };
  EXPECT_EQ(product(32), product(kK));
}

struct Stored {
  const char* name;
  bool leaves, add, rounded;
};
class WeightGradientCudaTest : public testing::TestWithParam<Stored> {};

// 9000 columns of 8 MiElements at once: 896 rows, so that the gradient comes in two parts.
TEST_P(WeightGradientCudaTest, IsStoredAsGradientOutSays) {
  std::mt19937 random(5);
  const Stored& stored = GetParam();
  std::vector<Case> cases = {{8, 16, 3}, {24, 40, 130}};
  if (stored.add && stored.rounded) cases.push_back({904, 9000, 2});
  for (const Case& c : cases) {
    const std::vector<uint16_t> dy = RandomBf16(random, c.k * c.m);
    const std::vector<uint16_t> x = RandomBf16(random, c.k * c.n);
    const std::vector<float> before(static_cast<size_t>(c.m * c.n), 0.75f);
    const WeightGradient shape = {.m = c.m,
                                  .n = c.n,
                                  .k = c.k,
                                  .output_stride = c.m,
                                  .input_stride = c.n,
                                  .gradient = {.add = stored.add, .rounded = stored.rounded}};
    WeightGradient exact = shape;
    const std::vector<float> wide_dy = Widened(dy), wide_x = Widened(x);
    std::vector<float> gradient(before.size());
    exact.output_gradient = wide_dy.data();
    exact.input = wide_x.data();
    exact.gradient = {.sum = gradient.data()};
    ASSERT_TRUE(WeightGradientReference({}, exact).ok());

    // What leaves says what every other way has to sum.
    const auto run = [&](bool leaves) {
      WeightGradient args = shape;
      float probe = 0;
      args.gradient.sum = leaves ? nullptr : &probe;
      DeviceLane lane(1, WeightGradientWorkspaceBytes(args));
      args.output_gradient = lane.Upload(dy);
      args.input = lane.Upload(x);
      uint16_t* leaving = lane.Allocate<uint16_t>(leaves ? before.size() : 0);
      float* sum = lane.Upload(leaves ? std::vector<float>() : before);
      args.gradient.sum = leaves ? nullptr : sum;
      args.gradient.bf16 = leaves ? leaving : nullptr;
      EXPECT_EQ(WeightGradientCuda(lane.context(), args), absl::OkStatus());
      return leaves ? Widened(lane.Download(leaving, c.m * c.n)) : lane.Download(sum, c.m * c.n);
    };
    const std::vector<float> left = run(true);
    const auto terms = static_cast<double>(c.k);
    ExpectNear("leaving", left, gradient, [&](size_t i) {
      return kBf16Unit * std::fabs(gradient[i]) + terms * terms * kFp32Unit;
    });
    if (stored.leaves) continue;
    std::vector<float> expected = stored.rounded ? left : gradient;
    for (float& value : expected) value += stored.add ? 0.75f : 0.0f;
    const std::vector<float> actual = run(false);
    if (stored.rounded) {
      EXPECT_EQ(actual, expected);
    } else {
      ExpectNear("sum", actual, expected,
                 [&](size_t) { return (terms + 1) * (terms + 1) * kFp32Unit; });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, WeightGradientCudaTest,
                         testing::Values(Stored{"leaving", true, false, false},
                                         Stored{"sum", false, false, false},
                                         Stored{"added", false, true, false},
                                         Stored{"rounded", false, false, true},
                                         Stored{"rounded_and_added", false, true, true}),
                         [](const auto& way) { return way.param.name; });

TEST(CublasGemm, RefusesWhatItDoesNotPromise) {
  DeviceLane lane;
  uint16_t* memory = lane.Upload(std::vector<uint16_t>(4096));
  const DeviceGemm good = {.m = 8,
                           .n = 8,
                           .k = 8,
                           .a = memory,
                           .a_stride = 8,
                           .b = memory + 64,
                           .b_stride = 8,
                           .c = memory + 128,
                           .c_stride = 8};
  EXPECT_EQ(MultiplyOnDevice(lane.context(), good), absl::OkStatus());
  const auto code = [&](DeviceGemm product) {
    return MultiplyOnDevice(lane.context(), product).code();
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  DeviceGemm bad = good;
  bad.a = memory + 1;
  EXPECT_EQ(code(bad), kInvalid);
  bad = good;
  bad.b_stride = 12;
  EXPECT_EQ(code(bad), kInvalid);
  bad = good;
  bad.k = 0;
  EXPECT_EQ(code(bad), kInvalid);
  bad = good;
  bad.c_stride = 7;
  EXPECT_EQ(code(bad), kInvalid);
  bad = good;
  bad.initial = reinterpret_cast<const float*>(memory);
  EXPECT_EQ(code(bad), kInvalid);
  bad = good;
  bad.a = ConstValues();
  EXPECT_EQ(code(bad), kInvalid);
  DeviceContext of_another_device;
  for (DeviceContext* wrong : {static_cast<DeviceContext*>(nullptr), &of_another_device}) {
    KernelContext context = lane.context();
    context.device_context = wrong;
    EXPECT_EQ(MultiplyOnDevice(context, good).code(), absl::StatusCode::kFailedPrecondition);
  }
}

// Eight rows by the algorithm of `chosen_for` rows.
DeviceGemm Part(DeviceLane& lane, int64_t chosen_for) {
  constexpr size_t kM = 8, kN = 16, kK = 24;
  return {.m = kM,
          .n = kN,
          .k = kK,
          .a = lane.Upload(std::vector<uint16_t>(kM * kK, 0x3F80)),
          .a_stride = kK,
          .b = lane.Upload(std::vector<uint16_t>(kK * kN, 0x3F80)),
          .b_stride = kN,
          .c = lane.Allocate<uint16_t>(kM * kN),
          .c_stride = kN,
          .chosen_for_m = chosen_for};
}

TEST(CublasGemm, AnAlgorithmChosenForOtherSizesIsCheckedOnceAShape) {
  DeviceLane lane;
  DeviceGemm part = Part(lane, 64);
  const auto calls = [&](const DeviceGemm& product) {
    const uint64_t before = fake_cuda::CallCount();
    EXPECT_EQ(MultiplyOnDevice(lane.context(), product), absl::OkStatus());
    return fake_cuda::CallCount() - before;
  };
  // The fake ends the test if a product of sizes that were not checked is begun.
  const uint64_t first = calls(part);
  EXPECT_EQ(calls(part), 1U);
  part.m = 7;
  const uint64_t described_and_checked = calls(part);
  EXPECT_GT(described_and_checked, 2U);
  EXPECT_LT(described_and_checked, first) << "the algorithm is chosen once";
  EXPECT_EQ(calls(part), 1U);
}

TEST(CublasGemm, AnAlgorithmThatDoesNotServeThePartsIsAnErrorAndNotReplaced) {
  constexpr uint64_t kTooMuch = kGemmWorkspaceBytes + 1;
  for (const auto& [options, why] :
       {std::pair{fake_cuda::Options{.algorithms_serve_other_sizes = false},
                  std::string("CUBLAS_STATUS_NOT_SUPPORTED")},
        std::pair{fake_cuda::Options{.other_sizes_workspace_bytes = kTooMuch},
                  "takes " + std::to_string(kTooMuch) + " bytes of workspace of the 33554432"}}) {
    DeviceLane lane(options);
    for (int time = 0; time < 2; ++time) {
      const absl::Status status = MultiplyOnDevice(lane.context(), Part(lane, 64));
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      const std::string message(status.message());
      for (const std::string& part :
           {std::string("of 8 x 24 and 24 x 16 "), std::string("of 64 x 24 and 24 x 16:"), why,
            std::string("equal bits")}) {
        EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
      }
    }
    lane.Upload(std::vector<uint16_t>(1));  // when all work is done
    EXPECT_EQ(fake_cuda::WorkCount(), 0U) << "nothing of what was refused was begun";
    // Its own sizes are what it was chosen for.
    EXPECT_EQ(MultiplyOnDevice(lane.context(), Part(lane, 8)), absl::OkStatus());
    EXPECT_EQ(MultiplyOnDevice(lane.context(), Part(lane, 0)), absl::OkStatus());
  }
  // All that a workspace has may be taken.
  DeviceLane lane(fake_cuda::Options{.other_sizes_workspace_bytes = kGemmWorkspaceBytes});
  EXPECT_EQ(MultiplyOnDevice(lane.context(), Part(lane, 64)), absl::OkStatus());
}

// Each call in turn that may fail. One that only releases may fail unnoticed: the product is right.
TEST(CublasGemm, AFailingCallIsAnErrorAndNothingLeaks) {
  int errors = 0;
  for (uint64_t call = 1; call < 100; ++call) {
    DeviceLane lane;
    const uint16_t* ones = lane.Upload(std::vector<uint16_t>(64, 0x3F80));
    uint16_t* result = lane.Allocate<uint16_t>(64);
    fake_cuda::FailCall(call, cudaErrorUnknown, fake_cuda::Persistence::kOnce);
    const absl::Status status = MultiplyOnDevice(lane.context(), {.m = 8,
                                                                  .n = 8,
                                                                  .k = 8,
                                                                  .a = ones,
                                                                  .a_stride = 8,
                                                                  .b = ones,
                                                                  .b_stride = 8,
                                                                  .c = result,
                                                                  .c_stride = 8,
                                                                  .bias = ones});
    const bool failed = fake_cuda::HasFailed();
    fake_cuda::FailCall(0, cudaSuccess, fake_cuda::Persistence::kOnce);
    if (status.ok()) {
      EXPECT_EQ(Widened(lane.Download(result, 64)), std::vector<float>(64, 9.0f)) << call;
    } else {
      EXPECT_TRUE(failed) << call << ": " << status;
      EXPECT_NE(status.message().find("cannot "), std::string::npos) << status;
      ++errors;
    }
    if (failed) continue;
    // Descriptions of two products and their matrices, a preference, the choice, the product: as
    // far as the fake lets them fail.
    EXPECT_GE(errors, 11);
    return;
  }
  ADD_FAILURE() << "the product makes 100 calls";
}

}  // namespace
}  // namespace horizon
