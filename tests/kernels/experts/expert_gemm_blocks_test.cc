#include "kernels/experts/expert_gemm_blocks.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace horizon {
namespace {

RC_GTEST_PROP(ExpertRowBlocks, CoverEveryEntryOnceAndFitTheScratch, ()) {
  std::vector<int32_t> begins = {*rc::gen::inRange(0, 100)};
  for (const int32_t rows : *rc::gen::nonEmpty(rc::gen::container<std::vector<int32_t>>(
           rc::gen::oneOf(rc::gen::just(0), rc::gen::inRange(0, 40), rc::gen::inRange(0, 1000))))) {
    begins.push_back(begins.back() + rows);
  }
  const auto experts = static_cast<int64_t>(begins.size()) - 1;
  const auto n = *rc::gen::inRange<int64_t>(1, 900);
  std::vector<std::vector<int>> covered(static_cast<size_t>(begins.back()),
                                        std::vector<int>(static_cast<size_t>(n), 0));
  const ExpertRowBlocks blocks(begins.data(), experts, n);
  for (int64_t i = 0; i < blocks.count(); ++i) {
    const ExpertBlock block = blocks.At(i);
    RC_ASSERT(block.rows.size() > 0 && block.rows.size() <= kMostBlockRows);
    RC_ASSERT(block.columns.size() > 0 && block.columns.size() <= kMostBlockColumns);
    RC_ASSERT(block.rows.begin >= begins[static_cast<size_t>(block.expert)]);
    RC_ASSERT(block.rows.end <= begins[static_cast<size_t>(block.expert) + 1]);
    for (int64_t row = block.rows.begin; row < block.rows.end; ++row) {
      for (int64_t j = block.columns.begin; j < block.columns.end; ++j) {
        ++covered[static_cast<size_t>(row)][static_cast<size_t>(j)];
      }
    }
  }
  for (size_t row = 0; row < covered.size(); ++row) {
    const int expected = static_cast<int64_t>(row) < begins.front() ? 0 : 1;
    for (const int times : covered[row]) RC_ASSERT(times == expected);
  }
}

TEST(ExpertRowBlocks, AFewRowsOfOneExpertAreStillWorkForSeveral) {
  const std::vector<int32_t> begins = {0, 3};
  EXPECT_EQ(ExpertRowBlocks(begins.data(), 1, 1024).count(), 16);
  EXPECT_EQ(ExpertRowBlocks(begins.data(), 1, 96).count(), 2);
  EXPECT_EQ(ExpertRowBlocks(begins.data(), 1, 5).count(), 1);
}

TEST(ExpertRowBlocks, ManyExpertsHaveOneBlockEachIfTheyFit) {
  std::vector<int32_t> begins = {0};
  for (int i = 0; i < 128; ++i) begins.push_back(begins.back() + 128);
  EXPECT_EQ(ExpertRowBlocks(begins.data(), 128, 192).count(), 128);
}

}  // namespace
}  // namespace horizon
