#include "report/view_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/documents/json.h"
#include "planner/prediction_basis.h"
#include "report/page.h"
#include "tests/report/made_run.h"

namespace horizon {
namespace {

const Value& At(const Value& root, std::initializer_list<std::string_view> keys) {
  const Value* value = &root;
  for (const std::string_view key : keys) {
    const Value* next = value->Find(key);
    EXPECT_NE(next, nullptr) << key;
    if (next == nullptr) return root;
    value = next;
  }
  return *value;
}

double Number(const Value& value) {
  const auto* integer = value.As<int64_t>();
  if (integer != nullptr) return static_cast<double>(*integer);
  const auto* number = value.As<double>();
  return number == nullptr ? std::nan("") : *number;
}

size_t Length(const Value& value) {
  const auto* array = value.As<Value::Array>();
  return array == nullptr ? 0 : array->size();
}

Document Parse(const RunView& view) {
  const std::string text = ViewJson(view);
  EXPECT_EQ(text.find('\n'), std::string::npos);  // a line of an event stream
  absl::StatusOr<Document> document = ParseJson("view.json", text);
  EXPECT_TRUE(document.ok()) << document.status();
  return *std::move(document);
}

TEST(ViewJson, ARunHasBothTimelinesAndItsFiguresUnrounded) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const absl::StatusOr<RunView> view = ReadRun(*io, MadeRun(*io));
  ASSERT_TRUE(view.ok()) << view.status();
  const Document document = Parse(*view);
  const Value& root = document.root;
  EXPECT_EQ(*At(root, {"state"}).As<std::string>(), "complete");
  EXPECT_EQ(Number(At(root, {"figures", "step_seconds", "measured"})), 0.25);
  EXPECT_EQ(Number(At(root, {"loss", "first"})), 4.0);
  EXPECT_TRUE(At(root, {"loss", "last"}).is_null());
  const size_t operations = view->schedule.steady.operations.size();
  for (const char* key : {"name", "lane", "kind", "bytes"}) {
    EXPECT_EQ(Length(At(root, {"timelines", "operations", key})), operations) << key;
  }
  // A family for each kind, and a name for each family.
  EXPECT_EQ(Length(At(root, {"timelines", "families"})), 6u);
  EXPECT_EQ(Length(At(root, {"timelines", "family_of_kind"})),
            Length(At(root, {"timelines", "kinds"})));
  for (const char* half : {"predicted", "measured"}) {
    for (const char* key : {"start_ns", "end_ns", "awaited"}) {
      EXPECT_EQ(Length(At(root, {"timelines", half, key})), operations) << half << key;
    }
    EXPECT_GT(Length(At(root, {"timelines", half, "memory", "time_ns"})), 2u);
  }
  EXPECT_EQ(Length(At(root, {"metrics", "loss"})), 3u);
  EXPECT_EQ(Length(At(root, {"evaluations"})), 1u);
  EXPECT_EQ(Length(At(root, {"missed_most"})), 1u);
  EXPECT_EQ(*At(root, {"machine", "name"}).As<std::string>(), view->machine.name);
  EXPECT_EQ(*At(root, {"plan", "buffer_depth"}).As<int64_t>(), view->plan.buffer_depth);
}

TEST(ViewJson, SaysWhatThePredictionRestsOn) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const absl::StatusOr<RunView> view = ReadRun(*io, MadeRun(*io));
  ASSERT_TRUE(view.ok()) << view.status();
  const PredictionBasis basis = BasisOf(view->machine, view->plan.strategy);
  const Document document = Parse(*view);
  EXPECT_EQ(*At(document.root, {"basis", "kind"}).As<std::string>(), ToString(basis.kind));
  EXPECT_EQ(*At(document.root, {"basis", "text"}).As<std::string>(), BasisText(basis));
}

TEST(ViewJson, TheEpochIsThereWhereTheLastStepSaysIt) {
  const std::unique_ptr<Io> io = MakePosixIo();
  absl::StatusOr<RunView> view = ReadRun(*io, MadeRun(*io));
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(Parse(*view).root.Find("epoch"), nullptr);
  StepMetrics line = view->metrics.lines().back();
  ++line.step;
  line.epoch = 0.25;
  line.trained_tokens = 170;
  view->metrics.Add(line);
  const Document document = Parse(*view);
  EXPECT_EQ(Number(At(document.root, {"epoch"})), 0.25);
  EXPECT_EQ(Number(At(document.root, {"trained_tokens"})), 170);
}

TEST(ViewJson, ARunOfExpertsHasWhatItsLastLineOfRoutingCounted) {
  const std::unique_ptr<Io> io = MakePosixIo();
  absl::StatusOr<RunView> view = ReadRun(*io, MadeRun(*io, 3, kExpertsModel));
  ASSERT_TRUE(view.ok()) << view.status();
  Document document = Parse(*view);
  const RoutingLine line = MadeRouting(3, 3);
  EXPECT_EQ(Number(At(document.root, {"experts", "experts"})), 128);
  EXPECT_EQ(Number(At(document.root, {"experts", "experts_per_token"})), 8);
  EXPECT_EQ(Length(At(document.root, {"experts", "layers"})), 48u);
  EXPECT_EQ(Number(At(document.root, {"experts", "steps_per_line"})), 50);
  EXPECT_EQ(Number(At(document.root, {"experts", "routing", "first_step"})), 3);
  EXPECT_EQ(Number(At(document.root, {"experts", "routing", "step"})), 3);
  EXPECT_EQ(Number(At(document.root, {"experts", "routing", "tokens"})), 4096);
  const auto& rows = *At(document.root, {"experts", "routing", "counts"}).As<Value::Array>();
  ASSERT_EQ(rows.size(), 48u);
  for (size_t layer = 0; layer < rows.size(); ++layer) {
    ASSERT_EQ(Length(rows[layer]), 128u);
    for (size_t expert = 0; expert < 128; ++expert) {
      EXPECT_EQ(*(*rows[layer].As<Value::Array>())[expert].As<int64_t>(),
                line.counts[layer * 128 + expert]);
    }
  }
  for (const char* key : {"router_aux_loss", "busiest_expert", "idlest_expert"}) {
    EXPECT_EQ(Length(At(document.root, {"metrics", key})), 3u) << key;
  }
  EXPECT_EQ(Number((*At(document.root, {"metrics", "router_aux_loss"}).As<Value::Array>())[1]),
            8.5);
  // Before the first line, and where a line of metrics does not say it.
  view->routing.reset();
  StepMetrics step = view->metrics.lines().back();
  ++step.step;
  step.routing.reset();
  view->metrics.Add(step);
  document = Parse(*view);
  EXPECT_TRUE(At(document.root, {"experts", "routing"}).is_null());
  EXPECT_TRUE(At(document.root, {"metrics", "idlest_expert"}).As<Value::Array>()->back().is_null());
}

TEST(ViewJson, ADenseRunHasNothingAboutExperts) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const absl::StatusOr<RunView> view = ReadRun(*io, MadeRun(*io));
  ASSERT_TRUE(view.ok()) << view.status();
  const std::string text = ViewJson(*view);
  EXPECT_EQ(text.find("\"experts\""), std::string::npos);
  EXPECT_EQ(text.find("_expert\""), std::string::npos);
  EXPECT_EQ(text.find("\"router_aux_loss\": ["), std::string::npos);
}

// What a memory holds never passes what is laid out for it, and something is always there.
TEST(ViewJson, MemoryOverAStepStaysWithinTheLayout) {
  const RunView view = MadeView();
  const Document document = Parse(view);
  for (const EnumWord<Memory>& memory : WordsOf(Memory{})) {
    const Bytes most = view.schedule.memory.totals[static_cast<size_t>(memory.value)];
    int64_t highest = 0;
    for (const Value& bytes :
         *At(document.root, {"timelines", "predicted", "memory", memory.word}).As<Value::Array>()) {
      highest = std::max(highest, *bytes.As<int64_t>());
      EXPECT_LE(*bytes.As<int64_t>(), static_cast<int64_t>(most.value())) << memory.word;
    }
    EXPECT_GT(highest, 0) << memory.word;
  }
}

TEST(ViewJson, APlanHasThePredictedHalfOnly) {
  RunView view = MadeView();
  view.timelines->step = 0;
  view.timelines->measured = {};
  view.timelines->mean_ns.clear();
  const Document document = Parse(view);
  EXPECT_EQ(*At(document.root, {"state"}).As<std::string>(), "planned");
  EXPECT_TRUE(At(document.root, {"timelines", "measured"}).is_null());
  EXPECT_TRUE(At(document.root, {"figures", "step_seconds", "measured"}).is_null());
  EXPECT_EQ(Number(At(document.root, {"figures", "step_seconds", "predicted"})),
            view.prediction.prediction.step_seconds);
}

TEST(ViewJson, ALongRunIsThinnedAndKeepsItsLastStep) {
  RunView view = MadeView();
  for (int64_t step = 1; step <= 10000; ++step) view.metrics.Add({.step = step});
  const Document document = Parse(view);
  const Value::Array& steps = *At(document.root, {"metrics", "step"}).As<Value::Array>();
  EXPECT_LE(steps.size(), 4000u);
  EXPECT_EQ(*steps.back().As<int64_t>(), 10000);
}

TEST(Page, NothingInTheDataCanLeaveItsScript) {
  RunView view = MadeView();
  view.folder = "</script><script>alert(1)</script>";
  view.spec.name = "{{style}}<!--";
  const std::string page = RunPage("a < b & c", ViewJson(view));
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<!--"), std::string::npos);
  EXPECT_NE(page.find("<title>a &lt; b &amp; c</title>"), std::string::npos);
  EXPECT_NE(page.find("{{style}}\\u003c!--"), std::string::npos);
  // It asks for nothing outside.
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);
  EXPECT_EQ(page.find("href=\"http"), std::string::npos);
}

}  // namespace
}  // namespace horizon
