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
#include "tests/browser/page_checks.h"

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
  EXPECT_EQ(Js(*browser,
               "document.getElementById('basis').textContent.startsWith('The prediction "
               "rests on ')"),
            "true");
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
                         HasSubstr("duration: "), HasSubstr("waited for: "), HasSubstr("kind: "),
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

TEST_F(ReportInBrowser, LossAndThroughputComeFirstAndOperationsBehindWhatTheyMean) {
  absl::StatusOr<Browser> browser = Browser::Start(1280, 900);
  ASSERT_TRUE(browser.ok()) << browser.status();
  ASSERT_TRUE(browser->Open(StrCat("file://", folder_, "/report.html")).ok());
  ASSERT_TRUE(browser->Await("document.documentElement.dataset.rendered === '1'").ok());
  EXPECT_EQ(Js(*browser, "[...document.querySelectorAll('main h2')].map((one) => one.id).join()"),
            "\"h-curves,h-progress,h-memory,h-compared,h-timelines,h-plan,h-machine\"");
  // Both charts are in sight without scrolling.
  EXPECT_EQ(Js(*browser,
               "[...document.querySelectorAll('#curves svg')].every((one) => "
               "one.getBoundingClientRect().bottom < innerHeight)"),
            "true");
  EXPECT_THAT(Js(*browser, "document.getElementById('status').textContent"),
              HasSubstr("step 8 of 8"));
  // Names of files and fields are for programs.
  EXPECT_EQ(Js(*browser, "(document.body.innerText.match(/\\w*[a-z]_[a-z]\\w*/g) || []).join()"),
            "\"\"");
}

TEST_F(ReportInBrowser, FitsAPhoneAndAScreenInLightAndDark) {
  absl::StatusOr<Browser> browser = Browser::Start(1280, 900);
  ASSERT_TRUE(browser.ok()) << browser.status();
  ASSERT_TRUE(browser->Open(StrCat("file://", folder_, "/report.html")).ok());
  ASSERT_TRUE(browser->Await("document.documentElement.dataset.rendered === '1'").ok());
  for (const int width : {1280, 380}) {
    for (const char* scheme : {"light", "dark"}) {
      ASSERT_EQ(Emulate(*browser, width, 800, scheme), "");
      EXPECT_EQ(Js(*browser, "document.documentElement.dataset.theme"), StrCat("\"", scheme, "\""));
      Js(*browser,
         "(document.querySelectorAll('details').forEach((one) => { one.open = true; }), 1)");
      EXPECT_EQ(SidewaysProblem(*browser), "") << width << scheme;
      EXPECT_EQ(ChartTextProblem(*browser), "") << width << scheme;
    }
  }
}

// Distances of colors as the eye of a person with protanopia, deuteranopia or tritanopia has them
// (matrices of Machado, Oliveira and Fernandes 2009, severity 1; CIE Lab). 20 is far more than the
// 2 to 3 that a careful look tells apart.
TEST_F(ReportInBrowser, OperationsHaveAFewHuesThatTheColorBlindTellApart) {
  absl::StatusOr<Browser> browser = Browser::Start(1280, 900);
  ASSERT_TRUE(browser.ok()) << browser.status();
  ASSERT_TRUE(browser->Open(StrCat("file://", folder_, "/report.html")).ok());
  ASSERT_TRUE(browser->Await("document.getElementById('window').textContent").ok());
  for (const char* scheme : {"light", "dark"}) {
    ASSERT_EQ(Emulate(*browser, 1280, 900, scheme), "");
    EXPECT_EQ(Js(*browser, R"((() => {
      const eyes = {
        all: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                 [-0.003882, -0.048116, 1.051998]],
        deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                 [-0.011820, 0.042940, 0.968881]],
        tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                 [0.004733, 0.691367, 0.303900]]};
      const times = (matrix, v) => matrix.map((row) => row.reduce((sum, x, i) => sum + x * v[i], 0));
      const linear = (color) => color.match(/\d+/g).slice(0, 3).map((one) => one / 255).map(
          (one) => one <= 0.04045 ? one / 12.92 : Math.pow((one + 0.055) / 1.055, 2.4));
      const lab = (rgb) => {
        const [x, y, z] = times([[0.4339, 0.3762, 0.1899], [0.2126, 0.7152, 0.0722],
          [0.0177, 0.1095, 0.8728]], rgb.map((one) => Math.min(1, Math.max(0, one)))).map(
            (one) => one > 0.008856 ? Math.cbrt(one) : 7.787 * one + 16 / 116);
        return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
      };
      const swatches = [...document.querySelectorAll('#legend i')].map(
          (one) => getComputedStyle(one).backgroundColor);
      if (swatches.length < 5 || swatches.length > 6) return `${swatches.length} families`;
      const problems = [];
      for (const [eye, matrix] of Object.entries(eyes)) {
        const seen = swatches.map((one) => lab(times(matrix, linear(one))));
        seen.forEach((a, i) => seen.slice(0, i).forEach((b, j) => {
          const apart = Math.hypot(...a.map((one, k) => one - b[k]));
          if (!(apart >= 20)) problems.push(`${eye}: ${i} and ${j} are ${apart} apart`);
        }));
      }
      return problems.join('; ');
    })())"),
              "\"\"")
        << scheme;
    // What is drawn has the color of its legend: the middle of the longest operation.
    ASSERT_TRUE(browser->Await("!timeline.pending").ok());
    EXPECT_EQ(Js(*browser, R"((() => {
      const half = timeline.halves[0];
      const length = (i) => half.times.end_ns[i] - half.times.start_ns[i];
      const ids = half.times.start_ns.map((_, i) => i);
      const longest = ids.reduce((best, i) => length(i) > length(best) ? i : best, 0);
      const row = timeline.lanes.findIndex(({id}) => id === timeline.data.operations.lane[longest]);
      const x = timeline.toX((half.times.start_ns[longest] + half.times.end_ns[longest]) / 2);
      const pixel = timeline.canvas.getContext('2d').getImageData(
          Math.round(x), timeline.rowTop(0, row) + 2, 1, 1).data;
      const family = timeline.data.families[timeline.familyOf(longest)];
      const entry = [...document.querySelectorAll('#legend span')].find(
          (one) => one.textContent === family);
      const color = getComputedStyle(entry.querySelector('i')).backgroundColor;
      const drawn = `rgb(${pixel[0]}, ${pixel[1]}, ${pixel[2]})`;
      return drawn === color ? '' : `${family} is ${drawn}, its legend ${color}`;
    })())"),
              "\"\"")
        << scheme;
  }
}

}  // namespace
}  // namespace horizon
