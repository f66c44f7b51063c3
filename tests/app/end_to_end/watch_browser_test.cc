// The page of `horizon watch` in a real browser, while a training goes on and after it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "common/text/str_cat.h"
#include "tests/app/support/golden_run.h"
#include "tests/app/support/run_program.h"
#include "tests/browser/browser.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Starts what goes on beside the test and leaves its number in a file.
void Start(const std::string& name, const std::string& command, const std::string& awaited) {
  const ProcessResult result =
      RunShell(StrCat("rm -f ", name, ".out && mkfifo ", name, ".out\n", command, " >", name,
                      ".out 2>&1 &\necho $! >", name, ".pid\nexec 3<", name,
                      ".out\nwhile read -r -t 60 line <&3; do\n  [[ $line == *'", awaited,
                      "'* ]] && break\ndone\nprintf '%s' \"$line\"\ncat <&3 >", name, ".log &"));
  ASSERT_THAT(result.out, HasSubstr(awaited)) << result.err;
  WriteFile(name + ".line", result.out);
}

// Not SIGINT, which a shell has its background ignore.
void Stop(const std::string& name) {
  RunShell(
      StrCat("kill -TERM $(cat ", name, ".pid); tail --pid=$(cat ", name, ".pid) -f /dev/null"));
}

class WatchInBrowser : public testing::Test {
 protected:
  explicit WatchInBrowser(std::string golden = "llama") : golden_(std::move(golden)) {}
  void SetUp() override {
    PrepareGolden(golden_);
    Start("train",
          "\"$horizon\" train --machine cpu-desktop --threads 1 --model model --data "
          "batches.jsonl --output run --steps 1000000 --sequence 40 --link 20MB/s",
          "step 1/");
    Start("watch", "\"$horizon\" watch run --port 0", "http://");
    url_ = RunShell("cat watch.line").out;
    absl::StatusOr<Browser> browser = Browser::Start(1200, 900);
    ASSERT_TRUE(browser.ok()) << browser.status();
    browser_ = std::make_unique<Browser>(*std::move(browser));
  }
  void TearDown() override {
    Stop("train");
    Stop("watch");
  }
  std::string Js(const std::string& expression) {
    const absl::StatusOr<std::string> value = browser_->Evaluate(expression);
    EXPECT_TRUE(value.ok()) << value.status();
    return value.ok() ? *value : "";
  }
  void Await(const std::string& expression) {
    const absl::Status status = browser_->Await(expression);
    ASSERT_TRUE(status.ok()) << status << " " << expression << "\n"
                             << Js("document.documentElement.outerHTML.slice(0, 300)")
                             << browser_->errors();
  }

  const std::string golden_;
  std::string url_;
  std::unique_ptr<Browser> browser_;
};

class WatchExpertsInBrowser : public WatchInBrowser {
 protected:
  WatchExpertsInBrowser() : WatchInBrowser("mixtral") {}
};

TEST_F(WatchInBrowser, ShowsStepsAsTheyAreDoneAndThenTheFinalReport) {
  ASSERT_TRUE(browser_->Open(url_).ok());
  Await("document.documentElement.dataset.live === 'live'");
  Await("Number(document.documentElement.dataset.liveSteps) >= 1");
  const std::string steps = Js("Number(document.documentElement.dataset.liveSteps)");
  Await(StrCat("Number(document.documentElement.dataset.liveSteps) > ", steps));
  EXPECT_EQ(Js("document.getElementById('live-state').textContent"), "\"live\"");
  // What a person opens the page for stands first: loss and throughput, and how long still.
  EXPECT_EQ(Js("document.querySelector('main h2').id"), "\"h-curves\"");
  EXPECT_EQ(Js("/^running step [0-9,]+ of 1,000,000, .+ left$/.test("
               "document.getElementById('status').textContent)"),
            "true")
      << Js("document.getElementById('status').textContent");
  EXPECT_GT(std::stoi(Js("document.querySelectorAll('#curves svg, #curves canvas').length")), 0);

  Stop("train");
  Await("document.documentElement.dataset.live === 'interrupted'");
  // Drawn from changes alone, the page shows what run.json says.
  Js(StrCat("(window.run = ", RunShell("cat run/run.json").out, ", 1)"));
  Await("document.documentElement.dataset.liveSteps === String(window.run.steps)");
  for (const char* key : {"step_seconds", "tokens_per_second", "host_bytes", "device_bytes"}) {
    EXPECT_EQ(Js(StrCat("JSON.parse(document.querySelector('[data-key=\"", key,
                        ".measured\"]').dataset.value) === window.run.", key, ".measured")),
              "true")
        << key;
  }
  EXPECT_EQ(Js("document.documentElement.dataset.errors || ''"), "\"\"");
  EXPECT_EQ(browser_->errors(), "");
  EXPECT_THAT(browser_->requests(), Not(HasSubstr("https:")));
}

TEST_F(WatchExpertsInBrowser, DrawsTheirCurvesAsStepsAreDoneAndTheMapWithTheLastLine) {
  ASSERT_TRUE(browser_->Open(url_).ok());
  Await("document.querySelectorAll('#experts-charts svg').length === 2");
  Stop("train");
  Await("document.documentElement.dataset.live === 'interrupted'");
  // Drawn from changes alone: what the last line of routing.jsonl counted, of 4 experts in 3
  // layers.
  Js(StrCat("(window.counted = ", RunShell("tail -n 1 run/routing.jsonl").out, ", 1)"));
  Await(
      "[...document.querySelectorAll('#experts-map rect')].map((one) => "
      "JSON.parse(one.dataset.share) * counted.tokens).map(Math.round).join() === "
      "counted.counts.flat().join()");
  EXPECT_EQ(Js("counted.counts.flat().length"), "12");
  EXPECT_EQ(Js("document.documentElement.dataset.errors || ''"), "\"\"");
  EXPECT_EQ(browser_->errors(), "");
}

TEST_F(WatchInBrowser, SaysThatTheConnectionIsLostAndGoesOnWhenItIsBack) {
  ASSERT_TRUE(browser_->Open(url_).ok());
  Await("document.documentElement.dataset.live === 'live'");
  Stop("watch");
  Await("document.documentElement.dataset.live === 'lost'");
  EXPECT_EQ(Js("document.getElementById('live-state').textContent"),
            "\"connection lost, trying again\"");
  const std::string port = url_.substr(url_.rfind(':') + 1);
  Start("watch", StrCat("\"$horizon\" watch run --port ", port.substr(0, port.find('/'))),
        "http://");
  Await("document.documentElement.dataset.live === 'live'");
  const std::string steps = Js("Number(document.documentElement.dataset.liveSteps)");
  Await(StrCat("Number(document.documentElement.dataset.liveSteps) > ", steps));
}

}  // namespace
}  // namespace horizon
