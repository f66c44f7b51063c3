// The experts of a run on its page, in a real browser: 128 experts in each of 48 layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "report/page.h"
#include "report/run_view.h"
#include "report/view_json.h"
#include "tests/browser/browser.h"
#include "tests/browser/page_checks.h"
#include "tests/model/test_files.h"
#include "tests/report/made_run.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ExpertsInBrowser : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = MadeRun(*io_, 60, kExpertsModel);
    // A longer run than its job says, for curves that are more than a point.
    TrainingJob job = MadeView(kExpertsModel).job;
    job.steps = 60;
    WriteBytes(*io_, JoinPath(folder_, "job.json"), WriteJob(job));
    absl::StatusOr<Browser> browser = Browser::Start(1280, 900);
    ASSERT_TRUE(browser.ok()) << browser.status();
    browser_ = std::make_unique<Browser>(*std::move(browser));
  }

  void Show(const RunView& view) {
    const std::string page = JoinPath(folder_, "report.html");
    WriteBytes(*io_, page, RunPage("a run of experts", ViewJson(view)));
    ASSERT_TRUE(browser_->Open(StrCat("file://", page)).ok());
    ASSERT_TRUE(browser_->Await("document.documentElement.dataset.rendered === '1'").ok());
  }
  RunView View() {
    absl::StatusOr<RunView> view = ReadRun(*io_, folder_);
    EXPECT_TRUE(view.ok()) << view.status();
    return *std::move(view);
  }
  std::string Js(const std::string& expression) {
    const absl::StatusOr<std::string> value = browser_->Evaluate(expression);
    EXPECT_TRUE(value.ok()) << value.status();
    return value.ok() ? *value : "";
  }
  void ExpectNoErrors() {
    EXPECT_EQ(Js("document.documentElement.dataset.errors || ''"), "\"\"");
    EXPECT_EQ(browser_->errors(), "");
  }

  const std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_;
  std::unique_ptr<Browser> browser_;
};

TEST_F(ExpertsInBrowser, AMapHasACellForEachExpertOfEachLayer) {
  const RunView view = View();
  Show(view);
  // Each cell has the share that was counted, unrounded, and the color of its legend.
  EXPECT_EQ(Js(R"((() => {
    const {routing, layers, experts, experts_per_token: chosen} = embedded.experts;
    const cells = [...document.querySelectorAll('#experts-map rect')];
    if (cells.length !== layers.length * experts) return `${cells.length} cells`;
    const problems = [];
    const level = (ratio) => ratio === 0 ? 0 :
        Math.min(8, Math.max(0, 4 + Math.round(2 * Math.log2(ratio))));
    const used = new Set();
    cells.forEach((cell, i) => {
      const [layer, expert] = [Math.floor(i / experts), i % experts];
      const share = routing.counts[layer][expert] / routing.tokens;
      const {layer: atLayer, expert: atExpert, share: shown} = cell.dataset;
      if (Number(atLayer) !== layers[layer] || Number(atExpert) !== expert) {
        problems.push(`cell ${i} is of ${atLayer}, ${atExpert}`);
      }
      if (JSON.parse(shown) !== share) problems.push(`cell ${i}: ${shown}, not ${share}`);
      const wanted = level(share * experts / chosen);
      used.add(wanted);
      const probe = document.createElement('i');
      probe.style.background = `var(--heat-${wanted})`;
      document.body.append(probe);
      const color = getComputedStyle(probe).backgroundColor;
      probe.remove();
      if (getComputedStyle(cell).fill !== color) problems.push(`cell ${i} is not ${color}`);
    });
    if (used.size < 6) problems.push(`only ${used.size} colors`);
    return problems.slice(0, 5).join('; ');
  })())"),
            "\"\"");
  // Rows go down with the layers and cells to the right with the experts, and none lies on another.
  EXPECT_EQ(Js(R"((() => {
    const boxes = [...document.querySelectorAll('#experts-map rect')].map(
        (cell) => cell.getBoundingClientRect());
    const problems = boxes.filter((box, i) => {
      const right = i % 128 === 127 || boxes[i + 1].left >= box.right;
      const down = i + 128 >= boxes.length || boxes[i + 128].top >= box.bottom;
      return !right || !down || box.width < 4 || box.height < 7;
    });
    return problems.length;
  })())"),
            "0");
  const std::string words = Js("document.querySelector('#experts-map .legend').textContent");
  EXPECT_THAT(words, AllOf(HasSubstr("half as often"), HasSubstr("as often as evenly"),
                           HasSubstr("twice as often")));
  EXPECT_THAT(Js("document.querySelector('#experts-map figcaption').textContent"),
              HasSubstr("step 60"));
  EXPECT_THAT(Js("document.querySelector('#experts-map svg').getAttribute('aria-label')"),
              AllOf(HasSubstr("the busiest is expert 7 of layer 3 with 51 % of the tokens"),
                    HasSubstr("the idlest expert 9 of layer 5 with 0 % of the tokens")));
  ExpectNoErrors();
}

TEST_F(ExpertsInBrowser, ACellTellsItsLayerExpertAndShare) {
  Show(View());
  const std::string cell = "document.querySelector('rect[data-layer=\"3\"][data-expert=\"7\"]')";
  Js(StrCat(cell, ".scrollIntoView({block: 'center'})"));
  const absl::StatusOr<Document> at =
      ParseJson("place", Js(StrCat("(() => { const box = ", cell, ".getBoundingClientRect(); ",
                                   "return {x: Math.round(box.left + box.width / 2), ",
                                   "y: Math.round(box.top + box.height / 2)}; })()")));
  ASSERT_TRUE(at.ok()) << at.status();
  const auto move = [&](int64_t x, int64_t y) {
    const absl::Status sent =
        browser_
            ->Command("Input.dispatchMouseEvent",
                      StrCat("{\"type\": \"mouseMoved\", \"x\": ", x, ", \"y\": ", y, "}"))
            .status();
    EXPECT_TRUE(sent.ok()) << sent;
  };
  move(*at->root.Find("x")->As<int64_t>(), *at->root.Find("y")->As<int64_t>());
  ASSERT_TRUE(browser_->Await("!document.getElementById('tip').hidden").ok());
  EXPECT_THAT(
      Js("document.getElementById('tip').innerText"),
      AllOf(HasSubstr("layer 3, expert 7"), HasSubstr("chosen by: 51 % of the tokens"),
            HasSubstr("an even share: 6.25 %"), HasSubstr("8.15 times as often as evenly")));
  move(2, 2);
  EXPECT_TRUE(browser_->Await("document.getElementById('tip').hidden").ok());
  ExpectNoErrors();
}

TEST_F(ExpertsInBrowser, FiguresCurvesAndATableStandBesideTheMap) {
  Show(View());
  EXPECT_EQ(Js("[...document.querySelectorAll('main h2')].map((one) => one.id).join()"),
            "\"h-curves,h-progress,h-experts,h-memory,h-compared,h-timelines,h-plan,h-machine\"");
  EXPECT_EQ(Js("document.querySelectorAll('#experts-charts svg').length"), "2");
  // The unrounded figures are those that were counted.
  EXPECT_EQ(Js(R"((() => {
    const {routing, layers} = embedded.experts;
    const value = (key) => JSON.parse(document.querySelector(`[data-key="${key}"]`).dataset.value);
    const all = routing.counts.flat().map((one) => one / routing.tokens);
    const problems = [];
    if (value('busiest_expert') !== Math.max(...all)) problems.push('busiest');
    if (value('idlest_expert') !== Math.min(...all)) problems.push('idlest');
    if (value('router_aux_loss') !== embedded.metrics.router_aux_loss.at(-1)) problems.push('loss');
    layers.forEach((layer, i) => {
      const shares = routing.counts[i].map((one) => one / routing.tokens);
      if (value(`experts.${layer}.busiest`) !== Math.max(...shares) ||
          value(`experts.${layer}.idlest`) !== Math.min(...shares)) problems.push(layer);
    });
    return problems.join();
  })())"),
            "\"\"");
  EXPECT_THAT(Js("document.getElementById('experts-figures').textContent"),
              AllOf(HasSubstr("of the tokens of layer 3 chose expert 7"),
                    HasSubstr("of the tokens of layer 5 chose expert 9"),
                    HasSubstr("each token chooses 8 of 128 experts")));
  // Names of files and fields are for programs.
  EXPECT_EQ(Js("(document.getElementById('experts').innerText.match(/\\w*[a-z]_[a-z]\\w*/g) || "
               "[]).join()"),
            "\"\"");
  ExpectNoErrors();
}

TEST_F(ExpertsInBrowser, NewDataDrawTheMapAnewOnlyWhereItIsAnother) {
  Show(View());
  Js("(window.kept = document.querySelector('#experts-map rect'), render(embedded), 1)");
  EXPECT_EQ(Js("document.querySelector('#experts-map rect') === kept"), "true");
  Js("(embedded.experts.routing.counts[0].reverse(), render(embedded), 1)");
  EXPECT_EQ(Js("document.querySelector('#experts-map rect') === kept"), "false");
  EXPECT_EQ(Js("document.querySelectorAll('#experts').length"), "1");
  // Of another run that has taken the folder there may be none.
  Js("(delete embedded.experts, render(embedded), 1)");
  EXPECT_EQ(Js("document.getElementById('experts')"), "null");
  ExpectNoErrors();
}

TEST_F(ExpertsInBrowser, WithoutALineOfRoutingTheSectionSaysWhy) {
  RunView view = View();
  view.routing.reset();
  Show(view);
  EXPECT_THAT(Js("document.getElementById('experts-map').textContent"),
              HasSubstr("was not recorded"));
  view.state = RunState::kRunning;
  Show(view);
  EXPECT_THAT(Js("document.getElementById('experts-map').textContent"),
              HasSubstr("after 50 steps, or once a step is saved"));
  EXPECT_EQ(Js("document.querySelectorAll('#experts-charts svg').length"), "2");
  view.metrics.Clear();
  view.steps_done = 0;
  Show(view);
  EXPECT_EQ(Js("document.querySelectorAll('#experts svg').length"), "0");
  // Steps of padding alone.
  view.routing = MadeRouting(1, 1);
  view.routing->tokens = 0;
  view.routing->counts.assign(view.routing->counts.size(), 0);
  Show(view);
  EXPECT_EQ(Js("document.querySelectorAll('#experts-map rect').length"), "6144");
  ExpectNoErrors();
}

TEST_F(ExpertsInBrowser, PlansAndDenseModelsHaveNoSuchSection) {
  Show(MadeView(kExpertsModel));
  EXPECT_EQ(Js("document.getElementById('experts')"), "null");
  Show(MadeView());
  EXPECT_EQ(Js("document.getElementById('experts')"), "null");
  ExpectNoErrors();
}

TEST_F(ExpertsInBrowser, FitsAPhoneAndAScreenInLightAndDark) {
  Show(View());
  for (const int width : {1280, 380}) {
    for (const char* scheme : {"light", "dark"}) {
      ASSERT_EQ(Emulate(*browser_, width, 900, scheme), "");
      Js("(document.querySelectorAll('details').forEach((one) => { one.open = true; }), 1)");
      EXPECT_EQ(SidewaysProblem(*browser_), "") << width << scheme;
      EXPECT_EQ(ChartTextProblem(*browser_), "") << width << scheme;
      // On a screen the whole map is seen at once.
      if (width == 1280) {
        EXPECT_EQ(Js("(() => { const one = document.querySelector('#experts-map .drawing'); "
                     "return one.scrollWidth <= one.clientWidth; })()"),
                  "true");
      }
    }
  }
  ExpectNoErrors();
}

// As report_browser_test does for operations: distances in CIE Lab as the eyes of the color-blind
// have them (matrices of Machado, Oliveira and Fernandes 2009, severity 1).
TEST_F(ExpertsInBrowser, TheColorBlindTellRarelyFromOften) {
  Show(View());
  for (const char* scheme : {"light", "dark"}) {
    ASSERT_EQ(Emulate(*browser_, 1280, 900, scheme), "");
    EXPECT_EQ(Js(R"((() => {
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
      const swatches = [...document.querySelectorAll('#experts-map .legend i')].map(
          (one) => getComputedStyle(one).backgroundColor);
      if (swatches.length !== 5) return `${swatches.length} colors`;
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
  }
}

}  // namespace
}  // namespace horizon
