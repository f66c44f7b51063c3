// `horizon report` of a run, in a real browser: it renders, nothing goes wrong, its figures are
// those of run.json, and the timeline answers to wheel, pointer and keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "tests/app/support/golden_run.h"
#include "tests/app/support/run_program.h"
#include "tests/browser/browser.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ReportInBrowser : public ::testing::Test {
 protected:
  void SetUp() override {
    PrepareGolden("llama");
    const ProcessResult trained =
        RunShell(StrCat("\"$horizon\" train --machine cpu-desktop --threads 2 ", kGoldenRun, " && ",
                        "\"$horizon\" report run && pwd"));
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    const size_t line = trained.out.rfind('\n', trained.out.size() - 2) + 1;
    folder_ = trained.out.substr(line, trained.out.size() - 1 - line);
  }

  std::string Js(Browser& browser, const std::string& expression) {
    const absl::StatusOr<std::string> value = browser.Evaluate(expression);
    EXPECT_TRUE(value.ok()) << value.status();
    return value.ok() ? *value : "";
  }

  // The figure of an element with this key, unrounded.
  std::string Shown(Browser& browser, const std::string& key) {
    return Js(browser, StrCat("JSON.parse(document.querySelector('[data-key=\"", key,
                              "\"]').dataset.value)"));
  }

  std::string folder_;
};

TEST_F(ReportInBrowser, ShowsTheFiguresOfTheRunWithoutAnError) {
  absl::StatusOr<Browser> browser = Browser::Start(1200, 900);
  ASSERT_TRUE(browser.ok()) << browser.status();
  ASSERT_TRUE(browser->Open(StrCat("file://", folder_, "/report.html")).ok());
  ASSERT_TRUE(browser->Await("document.documentElement.dataset.rendered === '1'").ok());
  EXPECT_EQ(Js(*browser, "document.documentElement.dataset.errors || ''"), "\"\"");

  // Both sides go through the browser's own reader of numbers, so that equal means equal bits.
  const std::string run = RunShell("cat run/run.json").out;
  ASSERT_FALSE(run.empty());
  Js(*browser, StrCat("(window.run = ", run, ", 1)"));
  for (const char* key : {"step_seconds", "tokens_per_second", "host_bytes", "device_bytes"}) {
    for (const char* part : {"predicted", "measured", "error"}) {
      const std::string wanted = Js(*browser, StrCat("run.", key, ".", part));
      EXPECT_EQ(Shown(*browser, StrCat(key, ".", part)), wanted) << key << "." << part;
      EXPECT_EQ(Shown(*browser, StrCat("table.", key, ".", part)), wanted) << key << "." << part;
    }
  }
  EXPECT_EQ(Shown(*browser, "first_loss"), Js(*browser, "run.first_loss"));
  EXPECT_EQ(Shown(*browser, "last_loss"), Js(*browser, "run.last_loss"));
  for (const char* list : {"lanes", "kinds", "missed_most"}) {
    EXPECT_EQ(Js(*browser,
                 StrCat("run.", list, ".every((work, i) => ['predicted', 'measured', ",
                        "'error'].every((part) => document.querySelector(`[data-key=\"", list,
                        ".${i}.${part}\"]`).dataset.value === ", "JSON.stringify(work[part])))")),
              "true")
        << list;
    EXPECT_NE(Js(*browser, StrCat("run.", list, ".length")), "0");
  }
  EXPECT_EQ(Js(*browser, "document.querySelectorAll('#curves svg').length"), "2");
  EXPECT_EQ(Js(*browser, "document.querySelectorAll('#memory svg').length"), "3");
  EXPECT_EQ(Js(*browser, "document.querySelector('.state').textContent"), "\"complete\"");
  EXPECT_EQ(Js(*browser,
               "[...document.querySelectorAll('section h2')].every((one) => "
               "one.textContent && one.parentElement.children.length > 1)"),
            "true");
  EXPECT_EQ(browser->errors(), "");
  // The page itself, and nothing else.
  EXPECT_EQ(browser->requests(), StrCat("file://", folder_, "/report.html\n"));
}

TEST_F(ReportInBrowser, TheTimelineAnswersToWheelPointerAndKeys) {
  absl::StatusOr<Browser> browser = Browser::Start(1200, 900);
  ASSERT_TRUE(browser.ok()) << browser.status();
  ASSERT_TRUE(browser->Open(StrCat("file://", folder_, "/report.html")).ok());
  ASSERT_TRUE(browser->Await("document.getElementById('window').textContent").ok());
  Js(*browser, "document.getElementById('timeline').scrollIntoView({block: 'center'})");
  ASSERT_TRUE(browser->Await("timeline.canvas.getBoundingClientRect().top >= 0").ok());
  // The middle of the longest operation of the lower, the measured half.
  const std::string place = Js(*browser, R"((() => {
    const half = timeline.halves[1];
    const box = timeline.canvas.getBoundingClientRect();
    let longest = 0;
    half.times.start_ns.forEach((start, i) => {
      const length = (j) => half.times.end_ns[j] - half.times.start_ns[j];
      if (length(i) > length(longest)) longest = i;
    });
    window.wanted = longest;
    const row = timeline.lanes.findIndex(({id}) => id === timeline.data.operations.lane[longest]);
    const middle = (half.times.start_ns[longest] + half.times.end_ns[longest]) / 2;
    return {x: box.left + timeline.toX(middle), y: box.top + timeline.rowTop(1, row) + 10};
  })())");
  const absl::StatusOr<Document> at = ParseJson("place", place);
  ASSERT_TRUE(at.ok()) << place;
  const std::string xy =
      StrCat("\"x\": ", NumberAt(at->root, "x"), ", \"y\": ", NumberAt(at->root, "y"));
  const auto mouse = [&](const std::string& more) {
    const absl::Status sent =
        browser->Command("Input.dispatchMouseEvent", StrCat("{", xy, ", ", more, "}")).status();
    EXPECT_TRUE(sent.ok()) << sent;
  };
  const auto key = [&](const std::string& name) {
    for (const char* type : {"keyDown", "keyUp"}) {
      const absl::Status sent =
          browser
              ->Command("Input.dispatchKeyEvent",
                        StrCat("{\"type\": \"", type, "\", \"key\": \"", name, "\"}"))
              .status();
      EXPECT_TRUE(sent.ok()) << sent;
    }
  };

  mouse("\"type\": \"mouseMoved\"");
  ASSERT_TRUE(browser->Await("!document.getElementById('tip').hidden").ok());
  const std::string tip = Js(*browser, "document.getElementById('tip').textContent");
  EXPECT_THAT(tip, AllOf(HasSubstr("lane: "), HasSubstr("bytes: "), HasSubstr("start: "),
                         HasSubstr("duration: "), HasSubstr("waited for: "),
                         HasSubstr("measured, step 8")));
  EXPECT_EQ(Js(*browser,
               "document.getElementById('tip').querySelector('strong').textContent === "
               "timeline.data.operations.name[wanted]"),
            "true");

  mouse("\"type\": \"mouseWheel\", \"deltaX\": 0, \"deltaY\": -400");
  ASSERT_TRUE(browser->Await("timeline.window !== null").ok());
  EXPECT_EQ(Js(*browser, "timeline.window[1] - timeline.window[0] < timeline.end / 2"), "true");
  // What was under the pointer still is, and is found again.
  EXPECT_EQ(Js(*browser, "timeline.hover.operation === wanted"), "true");

  // New data keep the window.
  Js(*browser, "(window.kept = JSON.stringify(timeline.window), render(embedded), 1)");
  EXPECT_EQ(Js(*browser, "JSON.stringify(timeline.window) === kept"), "true");

  // A drag moves the window and keeps its length.
  mouse("\"type\": \"mousePressed\", \"button\": \"left\", \"clickCount\": 1");
  const std::string dragged =
      StrCat("{\"type\": \"mouseMoved\", \"button\": \"left\", \"buttons\": 1, \"x\": ",
             NumberAt(at->root, "x") - 60, ", \"y\": ", NumberAt(at->root, "y"), "}");
  ASSERT_TRUE(browser->Command("Input.dispatchMouseEvent", dragged).ok());
  mouse("\"type\": \"mouseReleased\", \"button\": \"left\", \"clickCount\": 1");
  EXPECT_EQ(Js(*browser, "JSON.stringify(timeline.window) !== kept"), "true");

  Js(*browser, "timeline.canvas.focus()");
  key("0");
  ASSERT_TRUE(browser->Await("timeline.window === null").ok());
  key("+");
  ASSERT_TRUE(browser->Await("timeline.window !== null").ok());
  key("n");
  ASSERT_TRUE(browser->Await("timeline.focus !== null").ok());
  const std::string first = Js(*browser, "document.getElementById('operation').textContent");
  EXPECT_THAT(first, HasSubstr("waited for: "));
  key("n");
  ASSERT_TRUE(
      browser->Await(StrCat("document.getElementById('operation').textContent !== ", first)).ok());
  key("m");
  ASSERT_TRUE(browser->Await("timeline.focus.half === 1").ok());

  // Light and dark.
  const std::string theme = Js(*browser, "document.documentElement.dataset.theme");
  Js(*browser, "document.getElementById('theme').click()");
  EXPECT_NE(Js(*browser, "document.documentElement.dataset.theme"), theme);
  EXPECT_EQ(Js(*browser, "document.documentElement.dataset.errors || ''"), "\"\"");
  EXPECT_EQ(browser->errors(), "");
}

}  // namespace
}  // namespace horizon
