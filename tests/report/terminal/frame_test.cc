#include "report/terminal/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "tests/report/made_run.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// A run of 40 steps, 30 done, half as fast as predicted.
RunView SmallView() {
  RunView view = MadeView();
  view.folder = "runs/first";
  view.state = RunState::kRunning;
  view.steps_done = 30;
  view.steps_total = 40;
  for (int64_t step = 1; step <= 30; ++step) {
    view.metrics.Add({.step = step,
                      .loss = 1 + 3 / std::sqrt(static_cast<double>(step)),
                      .tokens = 64,
                      .step_time = Seconds{step % 10 == 0 ? 20.0 : 11.0},
                      .host_bytes = 6_GiB,
                      .device_bytes = 1_GiB});
  }
  view.evaluations.Add({.step = 20, .loss = 1.75, .perplexity = 5.7546});
  view.prediction.usable_host_bytes = 16_GiB;
  view.prediction.limits = {"link to the device (88 % of the step)", "compute (50 % of the step)"};
  return view;
}

std::string Drawn(const RunView& view, const FrameSize& size, const FrameStyle& style,
                  std::string_view problem = "") {
  std::string text = "\n";
  for (const std::string& line : DrawFrame(view, problem, size, style)) text += line + "\n";
  return text;
}

TEST(DrawFrame, ShowsARunInBlocks) {
  EXPECT_EQ(Drawn(SmallView(), {.columns = 96}, {.utf8 = true}), R"(
horizon top  runs/first                                                                  running
qwen2.5-0.5b, 494,032,768 parameters on test
step 30 of 40  ███████████████████████████████████████████▌░░░░░░░░░░░░░░  75 %, 1 min 59 s left
5.36 tokens/s, predicted 11.9 (-55 %)   11.9 s a step, predicted 5.37 s (+122 %)
loss 1.5477, first 4.0000; evaluated 1.7500 (perplexity 5.755) at step 20

a steady step           0 to 10.7 s
h2d        predicted  ▁       ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▂▂▂                                      4 %
           measured   ▁               ▁ ▁ ▁ ▁ ▁▁ ▁ ▁ ▁ ▁ ▁▁ ▁ ▁ ▁ ▁ ▁▁ ▁ ▁ ▁ ▁ ▁▁ ▃▁▁▄▄▁     3 %
compute    predicted           ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▄▃▃                                      5 %
           measured                     ▁ ▁ ▁ ▁▁ ▁ ▁ ▁ ▁ ▁▁ ▁ ▁ ▁ ▁ ▁▁ ▁ ▁ ▁ ▁ ▁▁ ▁▇▁▅▅▁     4 %
d2h        predicted                                ▁▄▃                                      3 %
           measured                                                                ▁▃▅▅▂     3 %
host       predicted  ▁       ▁                      ▇█                                      6 %
           measured   ▁               ▁                                             ▅███     5 %
optimizer  predicted  ██████████████████████████████▃                                       92 %
           measured   ████████████████████████████████████████████████████████████▅         83 %

memory
host       ████████████████▉░░░│░░░░░░░░░░░░░░░░░░░░░░░░ 6 GiB, predicted 6.96 GiB, limit 16 GiB
device     █████▍░░░│░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 1 GiB, predicted 1.60 GiB, there is 7.45 GiB

loss  1.5477 to 4
████
████▅▅▅
███████▇▇▇▄▄▄▂▂▂▁▁▁▁
███████████████████████▇▇▇▆▆▆▅▅▅▅▅▅▅▄▄▄▄▄▄▃▃▃▃▃▃▃▃▃▃▂▂▂▂▂▂▂▂▂▂▂▂▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁

tokens/s  0 to 11.91, predicted 11.9


█████████████████████████████▁▁▁█████████████████████████████▁▁▁█████████████████████████████▁▁▁
████████████████████████████████████████████████████████████████████████████████████████████████

limits  link to the device (88 % of the step), compute (50 % of the step)
)");
}

TEST(DrawFrame, ShowsItInAsciiToo) {
  EXPECT_EQ(Drawn(SmallView(), {.columns = 80, .rows = 24}, {}), R"(
horizon top  runs/first                                                  running
qwen2.5-0.5b, 494,032,768 parameters on test
step 30 of 40  ###############################-..........  75 %, 1 min 59 s left
5.36 tokens/s, predicted 11.9 (-55 %)   11.9 s a step, predicted 5.37 s (+122 %)
loss 1.5477, first 4.0000; evaluated 1.7500 (perplexity 5.755) at step 20
a steady step           0 to 10.7 s
h2d        measured   .           . ... ...... ... .. ... .. ... ...:.:.     3 %
compute    measured                 ... .. ... ... .. ... .. ... ...+.+.     4 %
d2h        measured                                                 .:+:     3 %
host       measured   .           .                                  +##     5 %
optimizer  measured   ##############################################        83 %
memory
host       ##########-..|............... 6 GiB, predicted 6.96 GiB, limit 16 GiB
device     ###..|.................. 1 GiB, predicted 1.60 GiB, there is 7.45 GiB
loss  1.5477 to 4
###
######::...
################++++++:::::::::::::.............................................
tokens/s  0 to 11.91, predicted 11.9

::::::::::::::::::::::::   ::::::::::::::::::::::::   ::::::::::::::::::::::::
########################+++########################+++########################++
limits  link to the device (88 % of the step), compute (50 % of the step)
)");
}

TEST(DrawFrame, NeverExceedsTheWindow) {
  const RunView view = SmallView();
  for (const int columns : {1, 20, 39, 40, 41, 79, 200}) {
    for (const int rows : {1, 5, 23, 24, 60}) {
      const std::vector<std::string> lines =
          DrawFrame(view, "", {.columns = columns, .rows = rows}, {});
      EXPECT_LE(lines.size(), static_cast<size_t>(rows));
      for (const std::string& line : lines) EXPECT_LE(line.size(), static_cast<size_t>(columns));
    }
  }
}

// No figure is cut in its middle, where it would read as another one.
TEST(DrawFrame, ANarrowWindowShowsWholeFigures) {
  RunView view = SmallView();
  view.folder = "a/rather/long/way/to/the/folder/of/the/first/run/of/all";
  const std::string narrow = Drawn(view, {.columns = 60, .rows = 24}, {});
  EXPECT_THAT(narrow,
              AllOf(HasSubstr("\nloss 1.5477, first 4.0000; evaluated 1.7500 at step 20\n"),
                    HasSubstr(" 1 GiB, predicted 1.60 GiB\n"),
                    HasSubstr("\nlimits  link to the device (88 % of the step)\n"),
                    HasSubstr("horizon top  .../the/folder/of/the/first/run/of/all  running\n")))
      << narrow;
  EXPECT_THAT(Drawn(view, {.columns = 62, .rows = 24}, {}),
              HasSubstr("\n5.36 tokens/s, predicted 11.9 (-55 %)   11.9 s a step (+122 %)\n"));
  EXPECT_THAT(Drawn(view, {.columns = 61, .rows = 24}, {}),
              HasSubstr("\n5.36 tokens/s (-55 %)   11.9 s a step (+122 %)\n"));
  EXPECT_THAT(Drawn(view, {.columns = 40, .rows = 24}, {}),
              HasSubstr("\n5.36 tokens/s   11.9 s a step\n"));
}

TEST(DrawFrame, ATallWindowHasHigherCurves) {
  const RunView view = SmallView();
  const size_t low = DrawFrame(view, "", {.columns = 80, .rows = 30}, {}).size();
  const size_t high = DrawFrame(view, "", {.columns = 80, .rows = 44}, {}).size();
  EXPECT_LE(low, 30u);
  EXPECT_GT(high, 40u);
  EXPECT_LE(high, 44u);
}

TEST(DrawFrame, ARunThatHasJustBegunShowsWhatIsPredicted) {
  RunView view = SmallView();
  view.metrics.Clear();
  view.evaluations.Clear();
  view.timelines.reset();
  view.steps_done = 0;
  EXPECT_THAT(
      Drawn(view, {.columns = 100}, {}),
      AllOf(HasSubstr("step 0 of 40"), HasSubstr("predicted: "), HasSubstr("no timeline yet"),
            HasSubstr("no step has ended yet"), Not(HasSubstr("evaluated"))));
}

TEST(DrawFrame, OfExpertsOneLineTellsHowEvenlyTheyAreChosen) {
  EXPECT_THAT(Drawn(SmallView(), {.columns = 100}, {}), Not(HasSubstr("expert")));
  RunView view = SmallView();
  view.spec.experts = {.experts = 128, .experts_per_token = 8};
  EXPECT_THAT(Drawn(view, {.columns = 100}, {}), Not(HasSubstr("expert")));
  // Before the first line of routing.jsonl, the last step tells.
  StepMetrics line = view.metrics.lines().back();
  ++line.step;
  line.routing = {.aux_loss = 9, .busiest = 0.25, .idlest = 0.005};
  view.metrics.Add(line);
  EXPECT_THAT(Drawn(view, {.columns = 100}, {}),
              HasSubstr("\nexperts: busiest 25 % of tokens, idlest 0.5 %, evenly 6.25 %\n"));
  view.routing = MadeRouting(1, 50);
  EXPECT_THAT(Drawn(view, {.columns = 100}, {}),
              HasSubstr("\nexperts: busiest 50.9 % of tokens (layer 3, expert 7), idlest 0 %, "
                        "evenly 6.25 %\n"));
  EXPECT_THAT(Drawn(view, {.columns = 70}, {}),
              HasSubstr("\nexperts: busiest 50.9 % of tokens (layer 3, expert 7), idlest 0 %\n"));
  EXPECT_THAT(Drawn(view, {.columns = 50}, {}),
              HasSubstr("\nexperts: busiest 50.9 % of tokens, idlest 0 %\n"));
  for (const int columns : {1, 40, 41, 60, 79, 200}) {
    for (const std::string& text : DrawFrame(view, "", {.columns = columns, .rows = 24}, {})) {
      EXPECT_LE(text.size(), static_cast<size_t>(columns));
    }
  }
}

// Runs of older versions do not say it.
TEST(DrawFrame, TheEpochIsShownWhereTheRunSaysIt) {
  RunView view = SmallView();
  EXPECT_THAT(Drawn(view, {.columns = 100}, {}), Not(HasSubstr("epoch")));
  StepMetrics line = view.metrics.lines().back();
  ++line.step;
  line.epoch = 1.25;
  view.metrics.Add(line);
  EXPECT_THAT(Drawn(view, {.columns = 100}, {}), HasSubstr("step 30 of 40, epoch 1.25  "));
}

TEST(DrawFrame, LossesThatAreNotFiniteAreSaidAndLeftOut) {
  RunView view = SmallView();
  const std::vector<StepMetrics> lines = view.metrics.lines();
  view.metrics.Clear();
  for (StepMetrics line : lines) {
    line.loss = std::numeric_limits<double>::quiet_NaN();
    view.metrics.Add(line);
  }
  EXPECT_THAT(Drawn(view, {.columns = 100}, {}),
              AllOf(HasSubstr("loss not finite, first not finite"),
                    HasSubstr("loss  no finite value yet")));
}

TEST(DrawFrame, AProblemIsShownWithWhatWasReadBefore) {
  EXPECT_THAT(Drawn(SmallView(), {.columns = 100}, {}, "cannot examine 'runs/first'"),
              AllOf(HasSubstr("\ncannot examine 'runs/first'\n"), HasSubstr("step 30 of 40")));
}

TEST(DrawFrame, ColoursAreThereOnlyWhereAskedFor) {
  EXPECT_THAT(DrawFrame(SmallView(), "", {}, {.utf8 = true}), Each(Not(HasSubstr("\x1b"))));
  EXPECT_THAT(Drawn(SmallView(), {}, {.colour = true}), HasSubstr("\x1b[32mrunning\x1b[0m"));
}

TEST(DrawFrame, NamesOfOthersCannotMoveTheCursor) {
  RunView view = SmallView();
  view.folder = "a\x1b[2Jb\r\nc";
  view.spec.name = "m\x07";
  EXPECT_THAT(DrawFrame(view, "x\ny", {.columns = 100}, {.utf8 = true}),
              Each(AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\n")), Not(HasSubstr("\x07")))));
}

}  // namespace
}  // namespace horizon
