#include "report/operation_family.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace horizon {
namespace {

TEST(OperationFamily, KindsThatAPersonTellsApartHaveDifferentFamilies) {
  EXPECT_EQ(FamilyOf(OperationKind::kLoadChunk), OperationFamily::kCopy);
  EXPECT_EQ(FamilyOf(OperationKind::kSaveAnchor), OperationFamily::kCopy);
  EXPECT_EQ(FamilyOf(OperationKind::kForward), OperationFamily::kForward);
  EXPECT_EQ(FamilyOf(OperationKind::kLoss), OperationFamily::kForward);
  EXPECT_EQ(FamilyOf(OperationKind::kBackward), OperationFamily::kBackward);
  EXPECT_EQ(FamilyOf(OperationKind::kRecompute), OperationFamily::kBackward);
  EXPECT_EQ(FamilyOf(OperationKind::kOffloadGradient), OperationFamily::kGradient);
  EXPECT_EQ(FamilyOf(OperationKind::kClipFactor), OperationFamily::kGradient);
  EXPECT_EQ(FamilyOf(OperationKind::kAdam), OperationFamily::kOptimizer);
  EXPECT_EQ(FamilyOf(OperationKind::kNextBatch), OperationFamily::kHost);
  EXPECT_EQ(FamilyOf(OperationKind::kPack), OperationFamily::kHost);
}

TEST(OperationFamily, EveryKindHasOneAndEveryFamilyHasAKindAndAWord) {
  std::set<OperationFamily> used;
  for (const EnumWord<OperationKind>& kind : WordsOf(OperationKind{})) {
    used.insert(FamilyOf(kind.value));
  }
  EXPECT_EQ(used.size(), static_cast<size_t>(kOperationFamilies));
  std::set<std::string_view> words;
  for (const OperationFamily family : used) words.insert(ToString(family));
  EXPECT_EQ(words.size(), used.size());
  for (const std::string_view word : words) {
    EXPECT_EQ(word.find('_'), std::string_view::npos) << word;
  }
}

}  // namespace
}  // namespace horizon
