#include "selftest/findings.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"

namespace horizon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Findings, WhatHoldsIsNoFinding) {
  Findings findings;
  int evaluated = 0;
  [&] {
    VERIFY(findings, ++evaluated == 1) << "not evaluated " << ++evaluated;
    VERIFY_EQ(findings, ++evaluated, 2);
    VERIFY_OK(findings, absl::StatusOr<int>(3));
    REQUIRE(findings, ++evaluated == 3);
    REQUIRE_EQ(findings, ++evaluated, 4);
    REQUIRE_OK(findings, absl::OkStatus());
    ++evaluated;
  }();
  EXPECT_THAT(findings.lines(), IsEmpty());
  EXPECT_TRUE(findings.none());
  EXPECT_EQ(evaluated, 5);
}

TEST(Findings, ALineHasThePlaceTheExpectationAndWhatWasThere) {
  Findings findings;
  const int three = 3;
  VERIFY(findings, three == 4) << "with " << three;
  VERIFY_EQ(findings, three, 5) << "a sum";
  VERIFY_OK(findings, absl::AbortedError("why")) << "at last";
  EXPECT_THAT(findings.lines(),
              ElementsAre(AllOf(HasSubstr("findings_test.cc:"),
                                HasSubstr("three == 4 does not hold: with 3")),
                          HasSubstr("three == 5 does not hold, they are 3 and 5: a sum"),
                          AllOf(HasSubstr("OK of absl::AbortedError(\"why\") does not hold"),
                                HasSubstr("ABORTED: why: at last"))));
}

TEST(Findings, WhatIsNeededEndsTheFunction) {
  Findings findings;
  int reached = 0;
  const auto check = [&](int which) {
    if (which == 0) REQUIRE(findings, which == 1);
    if (which == 1) REQUIRE_EQ(findings, which, 2);
    if (which == 2) REQUIRE_OK(findings, absl::StatusOr<int>(absl::AbortedError("why")));
    ++reached;
  };
  for (int which = 0; which < 3; ++which) check(which);
  EXPECT_EQ(reached, 0);
  EXPECT_THAT(findings.lines(), ElementsAre(HasSubstr("which == 1"), HasSubstr("1 and 2"),
                                            HasSubstr("ABORTED: why")));
}

TEST(Findings, TheCircumstanceIsThatOfItsTime) {
  Findings findings;
  findings.Add("before");
  findings.SetCircumstance("seed 7");
  findings.Add("then");
  findings.SetCircumstance("");
  findings.Add("after");
  EXPECT_THAT(findings.lines(), ElementsAre("before", "then (seed 7)", "after"));
}

TEST(Findings, AnyThreadMayAdd) {
  Findings findings;
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int line = 0; line < 100; ++line) VERIFY(findings, line < 0);
      });
    }
  }
  EXPECT_EQ(findings.lines().size(), 400);
}

}  // namespace
}  // namespace horizon
