// What every kernel of the product takes of a multiprocessor, held to bounds: nothing spilled, no
// stack, and room for enough warps to hide the memory's latency. The figures are ptxas's own, of
// the build under test; without nvcc there are none, and the test says so.
#include "tests/kernels/cuda/resource_usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/text/text_table.h"
#include "tests/kernels/cuda/occupancy.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

// Bounds of a kernel of a file, or of all that no line names.
//
// 64 registers are what a thread may have where half of 2048 threads are there, the share that is
// asked for unless a line says why less will do. Registers come in eights, so bounds do; a kernel
// that takes far fewer on all of sm_75 to sm_120 is held to its next eight, so that growth is seen.
struct Bounds {
  std::string file;
  std::string kernel;   // empty: all others of the file
  std::string threads;  // the constant of the source that the launcher takes for a block
  int registers = 0;
  int64_t shared_bytes = 0;
  double occupancy = 0.5;
  std::string dynamic_shared = "";  // the constant of the source for its bytes; empty: none
};

const std::vector<Bounds>& AllBounds() {
  static const std::vector<Bounds> kBounds = {
      // Gradient, master and both moments of eight elements are 32 registers before the first
      // address. 24 warps of 64 have 24 * 32 * 8 elements * 12 bytes = 72 KiB on the way; at
      // 2 TB/s for 108 multiprocessors and 600 ns of latency 11 KiB are enough.
      {"adam_cuda.cu", "", "kThreads", 80, 0, 0.375},
      {"attention_cuda.cu", "", "kThreads", 64, 0},
      // Eight columns and two rows of a thread at once.
      {"bias_gradient_cuda.cu", "", "kColumnThreads", 64, 0},
      // A query of 256, 256 weights, 2048 parts of the result and what block sums take.
      {"cached_attention_cuda.cu", "AttendTile", "kThreads", 64, 12 << 10},
      {"cached_attention_cuda.cu", "", "kThreads", 64, 64},
      {"convert_cuda.cu", "", "kThreads", 40, 0},
      {"cuda_image.cu", "", "1", 16, 0, 0.0},  // asked for its attributes, never launched
      // Bits of 128 tokens for 512 experts, and where 512 experts begin.
      {"dispatch_cuda.cu", "AddRows", "kThreads", 48, 0},
      {"dispatch_cuda.cu", "AddTiles", "kSumThreads", 56, 0},
      {"dispatch_cuda.cu", "", "kThreads", 64, 11 << 10},
      // Some hundred words of the self-test: what they cost is of no matter.
      {"double_words.cu", "", "kThreads", 16, 0, 0.25},
      {"embedding_cuda.cu", "SumRows", "kBackwardThreads", 40, 0},
      {"embedding_cuda.cu", "", "kForwardThreads", 40, 0},
      // As tensor_core_gemm_cuda.cu, and which expert a block works for.
      {"expert_gemm_cuda.cu", "MultiplyExperts", "kMultiplyThreads", 128, 16, 0.25,
       "kMultiplySharedBytes"},
      {"expert_gemm_cuda.cu", "MultiplyExpertRows", "kMultiplyThreads", 128, 0, 0.25,
       "kMultiplySharedBytes"},
      {"expert_gemm_cuda.cu", "", "kBiasThreads", 64, 8 << 10},
      {"expert_glu_cuda.cu", "", "kThreads", 64, 0},
      {"gemm_cuda.cu", "", "kThreads", 32, 0},
      {"glu_cuda.cu", "", "kThreads", 64, 0},
      {"head_loss_cuda.cu", "AddLosses", "kLossTileTokens", 40, 128},
      // Held to four blocks by its launch bounds: on sm_120 the compiler took 78 registers.
      {"head_loss_cuda.cu", "SumLogits", "kThreads", 64, 64},
      {"head_loss_cuda.cu", "", "kThreads", 56, 64},
      {"residual_cuda.cu", "", "kThreads", 40, 0},
      {"rms_norm_cuda.cu", "SumColumnTiles", "kColumnThreads", 64, 0},
      {"rms_norm_cuda.cu", "AddColumnTiles", "kColumnThreads", 40, 0},
      {"rms_norm_cuda.cu", "", "kThreads", 64, 64},
      {"rotary_cuda.cu", "", "kThreads", 64, 0},
      {"router_cuda.cu", "SumProbabilities", "kSumThreads", 64, 8 << 10},
      {"router_cuda.cu", "CountChosen", "kThreads", 40, 2 << 10},
      {"router_cuda.cu", "", "kThreads", 64, 0},
      // Held to eight blocks by the launch bounds: probabilities of eight heads of a thread at
      // once.
      {"sink_gradient_cuda.cu", "SumColumnTiles", "kColumnThreads", 64, 0},
      {"sink_gradient_cuda.cu", "AddColumnTiles", "kColumnThreads", 40, 0},
      {"split_master_cuda.cu", "", "kThreads", 16, 0},
      {"squared_norm_cuda.cu", "", "kThreads", 40, 0},
      // 64 sums of a thread, 32 words of fragments. Tensor cores are kept busy by independent
      // multiplies of one warp, 16 of them here, and by copies two steps ahead, not by many warps.
      {"tensor_core_gemm_cuda.cu", "", "kMultiplyThreads", 128, 0, 0.25, "kMultiplySharedBytes"},
  };
  return kBounds;
}

const Bounds* FindBounds(const std::string& file, const std::string& kernel) {
  for (const std::string& name : {kernel, std::string()}) {
    for (const Bounds& bounds : AllBounds()) {
      if (bounds.file == file && bounds.kernel == name) return &bounds;
    }
  }
  return nullptr;
}

std::string Read(const std::filesystem::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Where the source with this name lies among the files the test was given.
std::string PathOf(const std::string& file) {
  for (const char* folder : {"kernels", "selftest"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             folder, std::filesystem::directory_options::follow_directory_symlink)) {
      if (entry.path().filename() == file) return entry.path().string();
    }
  }
  ADD_FAILURE() << "there is no " << file;
  return file;
}

// The value of a constant in a source or one of the headers that device code shares; 0: not there.
int ConstantOf(const std::string& file, const std::string& name) {
  if (name == "1") return 1;
  const std::regex constant("constexpr \\w+ " + name + " = (\\d+);");
  for (const std::string& path :
       {PathOf(file), std::string("kernels/cuda/cuda_column_sums.cuh"),
        std::string("kernels/cuda/multiply_tile.cuh"), std::string("kernels/head/head_sums.h")}) {
    const std::string text = Read(path);
    std::smatch match;
    if (std::regex_search(text, match, constant)) return std::stoi(match[1].str());
  }
  return 0;
}

struct Found {
  std::string file;
  KernelUsage kernel;
};

// The figures of all .usage files the test was given.
std::vector<Found> AllKernels() {
  std::vector<Found> all;
  for (const char* folder : {"kernels", "runtime/device", "selftest"}) {
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             folder, std::filesystem::directory_options::follow_directory_symlink)) {
      if (entry.path().extension() != ".usage") continue;
      const auto kernels = ParseResourceUsage(Read(entry.path()));
      EXPECT_TRUE(kernels.ok()) << entry.path() << ": " << kernels.status();
      if (!kernels.ok()) continue;
      EXPECT_FALSE(kernels->empty()) << entry.path() << " has no kernel";
      for (const KernelUsage& kernel : *kernels) {
        all.push_back({entry.path().stem().string(), kernel});
      }
    }
  }
  std::sort(all.begin(), all.end(), [](const Found& a, const Found& b) {
    return std::tie(a.file, a.kernel.signature, a.kernel.architecture) <
           std::tie(b.file, b.kernel.signature, b.kernel.architecture);
  });
  return all;
}

TEST(ResourceUsage, EveryKernelStaysWithinItsBounds) {
  const std::vector<Found> all = AllKernels();
#ifdef HORIZON_NO_CUDA
  EXPECT_TRUE(all.empty());
  GTEST_SKIP() << "built without CUDA: there are no kernels to look at";
#endif
  TextTable table({"kernel", "sm", "threads", "registers", "of", "shared", "of", "stack", "spilled",
                   "occupancy", "least"});
  std::vector<const Bounds*> used;
  for (const auto& [file, kernel] : all) {
    SCOPED_TRACE(file + ": " + kernel.signature);
    const Bounds* bounds = FindBounds(file, kernel.kernel);
    ASSERT_NE(bounds, nullptr) << "a kernel without bounds";
    used.push_back(bounds);
    const int threads = ConstantOf(file, bounds->threads);
    ASSERT_GT(threads, 0) << bounds->threads << " is not in the source";
    KernelUsage with_dynamic = kernel;
    if (!bounds->dynamic_shared.empty()) {
      const int bytes = ConstantOf(file, bounds->dynamic_shared);
      ASSERT_GT(bytes, 0) << bounds->dynamic_shared << " is not in the source";
      with_dynamic.shared_bytes += bytes;
    }
    const auto occupancy = Occupancy(with_dynamic, threads);
    ASSERT_TRUE(occupancy.ok()) << occupancy.status();
    EXPECT_EQ(kernel.stack_bytes, 0);
    EXPECT_EQ(kernel.spill_store_bytes, 0);
    EXPECT_EQ(kernel.spill_load_bytes, 0);
    EXPECT_LE(kernel.registers, bounds->registers);
    EXPECT_LE(kernel.shared_bytes, bounds->shared_bytes);
    EXPECT_GE(*occupancy, bounds->occupancy);
    table.AddRow({file.substr(0, file.find("_cuda.cu")) + " " + kernel.kernel,
                  absl::StrFormat("%d", kernel.architecture), absl::StrFormat("%d", threads),
                  absl::StrFormat("%d", kernel.registers), absl::StrFormat("%d", bounds->registers),
                  absl::StrFormat("%d", kernel.shared_bytes),
                  absl::StrFormat("%d", bounds->shared_bytes),
                  absl::StrFormat("%d", kernel.stack_bytes),
                  absl::StrFormat("%d", kernel.spill_store_bytes + kernel.spill_load_bytes),
                  absl::StrFormat("%.0f %%", 100 * *occupancy),
                  absl::StrFormat("%.0f %%", 100 * bounds->occupancy)});
  }
  std::cout << std::move(table).Finish();
  for (const Bounds& bounds : AllBounds()) {
    EXPECT_NE(std::find(used.begin(), used.end(), &bounds), used.end())
        << "no kernel for the bounds of " << bounds.file << " " << bounds.kernel;
  }
}

TEST(ResourceUsage, FiguresAreReadAsPtxasWritesThem) {
  const auto kernels = ParseResourceUsage(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function '_ZN7horizon6UpdateINS_4KeptEEEvT_b' for 'sm_80'\n"
      "ptxas info    : Function properties for _ZN7horizon6UpdateINS_4KeptEEEvT_b\n"
      "    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Function properties for __internal_something\n"
      "    32 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 48 bytes cumulative stack size, 11328 "
      "bytes smem, 561 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'plain' for 'sm_120'\n"
      "ptxas info    : Function properties for plain\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, used 0 barriers\n");
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  ASSERT_EQ(kernels->size(), 2U);
  const KernelUsage& update = kernels->front();
  EXPECT_EQ(update.kernel, "Update");
  EXPECT_EQ(update.signature, "void horizon::Update<horizon::Kept>(horizon::Kept, bool)");
  EXPECT_EQ(update.architecture, 80);
  EXPECT_EQ(update.registers, 255);
  EXPECT_EQ(update.stack_bytes, 48);
  EXPECT_EQ(update.spill_store_bytes, 13);
  EXPECT_EQ(update.spill_load_bytes, 10);
  EXPECT_EQ(update.shared_bytes, 11328);
  const KernelUsage& plain = kernels->back();
  EXPECT_EQ(plain.kernel, "plain");
  EXPECT_EQ(plain.architecture, 120);
  EXPECT_EQ(plain.registers, 8);
  EXPECT_EQ(plain.shared_bytes, 0);
}

TEST(ResourceUsage, AFigureThatIsMissingIsNotZero) {
  const std::string entry = "ptxas info    : Compiling entry function 'f' for 'sm_80'\n";
  const std::string stack = "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
  const std::string used = "ptxas info    : Used 8 registers\n";
  const std::string half = entry + stack;
  const std::string whole = half + used;
  EXPECT_TRUE(ParseResourceUsage(whole).ok());
  for (const std::string& text : {entry, half, entry + used, half + whole}) {
    const auto kernels = ParseResourceUsage(text);
    EXPECT_EQ(kernels.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(kernels.status().message()), HasSubstr(" f"));
  }
}

// Solved by hand from the limits of the architectures.
TEST(ResourceUsage, OccupancyFollowsFromTheTightestLimit) {
  const auto of = [](int architecture, int registers, int64_t shared_bytes, int threads) {
    return Occupancy(
        {.architecture = architecture, .registers = registers, .shared_bytes = shared_bytes},
        threads);
  };
  EXPECT_EQ(*of(80, 32, 0, 256), 1.0);    // 65536 / (32 * 256) = 8 blocks of 256: all 2048 threads
  EXPECT_EQ(*of(80, 64, 0, 256), 0.5);    // 4 blocks
  EXPECT_EQ(*of(80, 65, 0, 256), 0.375);  // taken as 72: 3 blocks
  EXPECT_EQ(*of(86, 65, 0, 256), 0.5);    // 3 blocks of 1536 threads
  EXPECT_EQ(*of(75, 64, 0, 256), 1.0);    // 4 blocks of 1024 threads
  EXPECT_EQ(*of(80, 16, 0, 32), 0.5);     // at most 32 blocks
  EXPECT_EQ(*of(80, 16, 40 << 10, 256), 0.5);        // 164 KiB / (40 + 1) KiB = 4 blocks
  EXPECT_EQ(*of(80, 32, 0, 33), 1.0 * 32 * 2 / 64);  // 32 blocks of two warps, one nearly empty
  EXPECT_FALSE(of(80, 128, 0, 1024).ok()) << "no block fits";
  EXPECT_FALSE(of(61, 16, 0, 256).ok()) << "limits that are not known";
}

}  // namespace
}  // namespace horizon
