// The page of `horizon experiments` in a real browser: what the paper claims and the verdict are in
// sight at once, a miss is called one, and everything can be read on a phone without a script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/text/str_cat.h"
#include "tests/app/support/run_program.h"
#include "tests/browser/browser.h"
#include "tests/browser/page_checks.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

class ExperimentsInBrowser : public ::testing::Test {
 protected:
  // An experiment that holds, one with rows that are 90 % off, and one with lines.
  void SetUp() override {
    const ProcessResult result = RunShell(
        "\"$horizon\" experiments ablation throughput_workstation depth_scaling "
        "--output out >/dev/null && \"$horizon\" report out --output again.html "
        ">/dev/null && pwd");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    folder_ = result.out.substr(0, result.out.size() - 1);
  }

  std::string Js(Browser& browser, const std::string& expression) {
    const absl::StatusOr<std::string> value = browser.Evaluate(expression);
    EXPECT_TRUE(value.ok()) << value.status();
    return value.ok() ? *value : "";
  }

  std::string folder_;
};

TEST_F(ExperimentsInBrowser, ClaimsAndVerdictsAreInSightWithoutScrolling) {
  absl::StatusOr<Browser> browser = Browser::Start(1280, 800);
  ASSERT_TRUE(browser.ok()) << browser.status();
  for (const char* page : {"out/report.html", "again.html"}) {
    ASSERT_TRUE(browser->Open(StrCat("file://", folder_, "/", page)).ok());
    ASSERT_EQ(Emulate(*browser, 1280, 800, "light"), "");
    EXPECT_EQ(Js(*browser, "document.querySelectorAll('h2')[0].textContent"),
              "\"What the paper claims, and what we get\"");
    EXPECT_EQ(Js(*browser, R"((() => {
      const section = document.querySelectorAll('section')[0];
      const cells = [...section.querySelectorAll('td:nth-child(2)')];
      const hidden = cells.filter((one) => {
        const box = one.getBoundingClientRect();
        const scroller = one.closest('.table').getBoundingClientRect();
        return box.right > Math.min(innerWidth, scroller.right) ||
            box.bottom > Math.min(innerHeight, scroller.bottom);
      });
      return `${cells.length > 4} ${hidden.map((one) => one.textContent)}`;
    })())"),
              "\"true \"")
        << page;
    // The table of verdicts needs no scrolling to the right either.
    EXPECT_EQ(Js(*browser,
                 "[...document.querySelectorAll('section')[1].querySelectorAll('.table')]"
                 ".every((one) => one.scrollWidth <= one.clientWidth)"),
              "true")
        << page;
  }
  EXPECT_EQ(browser->errors(), "");
}

TEST_F(ExperimentsInBrowser, AMissOfNinetyPercentIsRedAndSaidToMiss) {
  absl::StatusOr<Browser> browser = Browser::Start(1280, 800);
  ASSERT_TRUE(browser.ok()) << browser.status();
  for (const char* page : {"out/report.html", "again.html"}) {
    ASSERT_TRUE(browser->Open(StrCat("file://", folder_, "/", page)).ok());
    const std::string row = Js(*browser, R"((() => {
      const row = [...document.querySelectorAll('tr')].find(
          (one) => one.cells[0].textContent === 'Throughput on workstation GPUs');
      return `${row.cells[1].className}: ${row.cells[1].textContent}`;
    })())");
    EXPECT_THAT(row, HasSubstr("bad: misses 5 of 7 rows by up to 89.5 %")) << page;
    EXPECT_THAT(Js(*browser, "document.body.innerText"),
                HasSubstr("The published figures of ZeRO-3 at batch 1 cannot be met"));
  }
}

TEST_F(ExperimentsInBrowser, CanBeReadOnAPhoneInLightAndDark) {
  absl::StatusOr<Browser> browser = Browser::Start(1280, 800);
  ASSERT_TRUE(browser.ok()) << browser.status();
  for (const char* scheme : {"light", "dark"}) {
    for (const int width : {380, 820, 1280}) {
      ASSERT_TRUE(browser->Open(StrCat("file://", folder_, "/out/report.html")).ok());
      ASSERT_EQ(Emulate(*browser, width, 800, scheme), "");
      EXPECT_EQ(SidewaysProblem(*browser), "") << width << scheme;
      EXPECT_EQ(ChartTextProblem(*browser), "") << width << scheme;
      const std::string paper = Js(*browser, "getComputedStyle(document.body).backgroundColor");
      EXPECT_EQ(paper == "\"rgb(255, 255, 255)\"", std::string(scheme) == "light") << paper;
    }
    ASSERT_TRUE(browser->Open(StrCat("file://", folder_, "/again.html")).ok());
    ASSERT_EQ(Emulate(*browser, 380, 800, scheme), "");
    EXPECT_EQ(SidewaysProblem(*browser), "") << scheme;
    // These charts are pictures: as large as they were drawn, scrolled within their box.
    EXPECT_EQ(Js(*browser,
                 "[...document.querySelectorAll('figure img')].length > 0 && "
                 "[...document.querySelectorAll('figure img')].every((one) => "
                 "one.getBoundingClientRect().width >= 720)"),
              "true");
  }
}

}  // namespace
}  // namespace horizon
