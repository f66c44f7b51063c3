// Slots of the buffer ring: small cases solved by hand, and the true minimum found by trying all.
#include "schedule/build/ring_assignment.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

using Uses = std::vector<int32_t>;

// "+0 +1 1": loads into slot 0, loads into slot 1, used in slot 1.
std::string Picture(const Uses& chunk_of_use, int32_t depth) {
  std::string text;
  for (const RingUse& use : AssignRing(chunk_of_use, depth)) {
    text += StrCat(text.empty() ? "" : " ", use.loads ? "+" : "", use.slot);
  }
  return text;
}

// The fewest loads any choice of slots needs from `use` on, with `slots` holding what they hold.
int64_t FewestLoads(const Uses& uses, size_t use, Uses slots) {
  if (use == uses.size()) return 0;
  if (std::find(slots.begin(), slots.end(), uses[use]) != slots.end()) {
    return FewestLoads(uses, use + 1, std::move(slots));
  }
  int64_t fewest = static_cast<int64_t>(uses.size());
  for (int32_t& slot : slots) {
    const int32_t before = std::exchange(slot, uses[use]);
    fewest = std::min(fewest, 1 + FewestLoads(uses, use + 1, slots));
    slot = before;
  }
  return fewest;
}

TEST(AssignRing, NothingToUseNeedsNothing) {
  EXPECT_TRUE(AssignRing({}, 1).empty());
  EXPECT_TRUE(AssignRing({}, 0).empty());  // a plan in which every chunk is resident
}

TEST(AssignRing, OneSlotHoldsTheChunkUntilAnotherIsNeeded) {
  EXPECT_EQ(Picture({0, 0, 1, 1, 0}, 1), "+0 0 +0 0 +0");
}

// Forward 0 1 2 3, backward 3 2 1 0 with two slots: 3 and 2 are still there at the turn.
// When 2 comes, chunk 0 is needed after 1: it goes. When 3 comes, 1 is needed after 2: it goes.
TEST(AssignRing, KeepsTheChunksAroundTheTurn) {
  EXPECT_EQ(Picture({0, 1, 2, 3, 3, 2, 1, 0}, 2), "+0 +1 +0 +1 1 0 +1 +0");
}

// Chunks that are never needed again give way in the order they were released, so that loads do
// not wait for the slot that was used last.
TEST(AssignRing, ReleasedFirstIsTakenFirst) {
  EXPECT_EQ(Picture({0, 1, 2, 3, 4, 5}, 3), "+0 +1 +2 +0 +1 +2");
}

// Recompute 4 5 then backward 5 4, block after block: a ring that holds a block loads it once.
TEST(AssignRing, ARingThatHoldsABlockLoadsItOnce) {
  EXPECT_EQ(Picture({4, 5, 5, 4, 2, 3, 3, 2}, 2), "+0 +1 1 0 +1 +0 0 1");
}

TEST(AssignRing, MoreSlotsThanChunksLoadEachOnce) {
  EXPECT_EQ(Picture({0, 1, 0, 1, 0}, 5), "+0 +1 0 1 0");
}

RC_GTEST_PROP(AssignRing, EveryUseFindsItsChunkAndNoOrderLoadsLess, ()) {
  const int32_t depth = *rc::gen::inRange(1, 4);
  const size_t count = *rc::gen::inRange(0, 10);
  const Uses uses = *rc::gen::container<Uses>(count, rc::gen::inRange(0, 5));
  const std::vector<RingUse> assigned = AssignRing(uses, depth);
  RC_ASSERT(assigned.size() == uses.size());
  Uses slots(depth, -1);
  int64_t loads = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    RC_ASSERT(assigned[i].slot >= 0 && assigned[i].slot < depth);
    const bool held = std::find(slots.begin(), slots.end(), uses[i]) != slots.end();
    RC_ASSERT(assigned[i].loads == !held);
    if (assigned[i].loads) slots[assigned[i].slot] = uses[i];
    RC_ASSERT(slots[assigned[i].slot] == uses[i]);
    loads += assigned[i].loads ? 1 : 0;
  }
  RC_ASSERT(loads == FewestLoads(uses, 0, Uses(depth, -1)));
}

// Long sequences: too many choices to try, but a replay still tells a wrong slot.
RC_GTEST_PROP(AssignRing, LongSequencesReplay, ()) {
  const int32_t depth = *rc::gen::inRange(1, 12);
  const Uses uses = *rc::gen::container<Uses>(500, rc::gen::inRange(0, 40));
  const std::vector<RingUse> assigned = AssignRing(uses, depth);
  Uses slots(depth, -1);
  for (size_t i = 0; i < uses.size(); ++i) {
    if (assigned[i].loads) slots[assigned[i].slot] = uses[i];
    RC_ASSERT(slots[assigned[i].slot] == uses[i]);
  }
}

}  // namespace
}  // namespace horizon
