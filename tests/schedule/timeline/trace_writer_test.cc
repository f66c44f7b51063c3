// The trace as a viewer reads it, and what is left on the disk when writing it fails.
#include "schedule/timeline/trace_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/documents/json.h"
#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "schedule/build/build_schedule.h"
#include "tests/model/test_files.h"
#include "tests/schedule/random_plans.h"

namespace horizon {
namespace {

Schedule SmallSchedule(int64_t layers = 3) {
  TrainingJob job;
  job.sequence = 40;
  job.accumulation = 2;
  StreamPlan plan;
  plan.anchor_home = AnchorHome::kHost;
  absl::StatusOr<Schedule> schedule = BuildSchedule(TinyModel(layers), job, plan);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return *std::move(schedule);
}

Timeline TimelineOf(const Schedule& schedule) {
  return EarliestTimeline(schedule, StepsOf(schedule, 3), NominalNanoseconds);
}

// One event of the file.
struct Event {
  std::string phase, name, category;
  int64_t row = 0;
  int64_t id = -1;
  double time = 0;
  double duration = 0;
  Value args;
};

double NumberOf(const Value* value) {
  if (value == nullptr) return 0;
  if (const auto* integer = value->As<int64_t>()) return static_cast<double>(*integer);
  return value->As<double>() == nullptr ? 0 : *value->As<double>();
}

std::string TextOf(const Value* value) {
  return value == nullptr || value->As<std::string>() == nullptr ? "" : *value->As<std::string>();
}

std::vector<Event> EventsIn(const std::string& text) {
  std::vector<Event> events;
  const absl::StatusOr<Document> document =
      ParseJson("trace.json", text, {.text = 256_MiB, .values = 10'000'000});
  EXPECT_TRUE(document.ok()) << document.status();
  if (!document.ok()) return events;
  const Value* list = document->root.Find("traceEvents");
  EXPECT_TRUE(list != nullptr && list->As<Value::Array>() != nullptr);
  for (const Value& value : *list->As<Value::Array>()) {
    for (const char* key : {"ph", "name", "pid", "tid", "ts"}) {
      EXPECT_NE(value.Find(key), nullptr) << key << " on line " << value.line();
    }
    Event event{.phase = TextOf(value.Find("ph")),
                .name = TextOf(value.Find("name")),
                .category = TextOf(value.Find("cat")),
                .row = static_cast<int64_t>(NumberOf(value.Find("tid"))),
                .time = NumberOf(value.Find("ts")),
                .duration = NumberOf(value.Find("dur"))};
    if (value.Find("id") != nullptr) event.id = static_cast<int64_t>(NumberOf(value.Find("id")));
    if (const Value* args = value.Find("args")) event.args = *args;
    events.push_back(std::move(event));
  }
  return events;
}

class TraceWriterTest : public testing::Test {
 protected:
  TraceWriterTest() : io_(MakePosixIo()) {}
  void SetUp() override {
    folder_ = MakeTestFolder(*io_);
    path_ = JoinPath(folder_, "trace.json");
  }
  std::vector<Event> Written(const Schedule& schedule, const std::string& title = "a title") {
    const absl::Status status = WriteTrace(schedule, TimelineOf(schedule), title, *io_, path_);
    EXPECT_TRUE(status.ok()) << status;
    return EventsIn(ReadBytes(*io_, path_));
  }
  void EmptyFolder() {
    const absl::StatusOr<std::vector<std::string>> names = io_->List(folder_);
    ASSERT_TRUE(names.ok()) << names.status();
    for (const std::string& name : *names) {
      ASSERT_TRUE(io_->Unlink(JoinPath(folder_, name)).ok());
    }
  }
  std::unique_ptr<Io> io_;
  std::string folder_;
  std::string path_;
};

TEST_F(TraceWriterTest, OneNamedRowForEachLane) {
  std::vector<std::string> rows;
  std::set<int64_t> numbers;
  for (const Event& event : Written(SmallSchedule())) {
    if (event.name != "thread_name") continue;
    EXPECT_EQ(event.phase, "M");
    rows.push_back(TextOf(event.args.Find("name")));
    EXPECT_TRUE(numbers.insert(event.row).second) << event.row;
  }
  EXPECT_EQ(rows, AllWords<Lane>());
}

TEST_F(TraceWriterTest, TheProcessIsNamedByTheTitle) {
  const std::string title = "quotes \" and \\ and \n lines";
  const std::vector<Event> events = Written(SmallSchedule(), title);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events[0].name, "process_name");
  EXPECT_EQ(TextOf(events[0].args.Find("name")), title);
}

TEST_F(TraceWriterTest, OneBarForEachOperationInItsTime) {
  const Schedule schedule = SmallSchedule();
  const Timeline timeline = TimelineOf(schedule);
  std::vector<Event> bars;
  std::map<int64_t, std::string> lane_of_row;
  for (Event& event : Written(schedule)) {
    if (event.name == "thread_name") lane_of_row[event.row] = TextOf(event.args.Find("name"));
    if (event.phase == "X") bars.push_back(std::move(event));
  }
  ASSERT_EQ(bars.size(), timeline.entries.size());
  for (size_t i = 0; i < bars.size(); ++i) {
    const TimelineEntry& entry = timeline.entries[i];
    const Operation& operation =
        PhaseOf(schedule, timeline.steps[entry.step]).operations[entry.operation];
    EXPECT_EQ(bars[i].name, schedule.NameOf(operation));
    EXPECT_EQ(bars[i].category, ToString(operation.kind));
    EXPECT_EQ(lane_of_row[bars[i].row], ToString(entry.lane));
    EXPECT_DOUBLE_EQ(bars[i].time, static_cast<double>(entry.start_ns) / 1000);
    EXPECT_DOUBLE_EQ(bars[i].duration, static_cast<double>(entry.end_ns - entry.start_ns) / 1000);
    EXPECT_EQ(NumberOf(bars[i].args.Find("step")), entry.step);
    EXPECT_EQ(NumberOf(bars[i].args.Find("bytes")), static_cast<double>(operation.bytes));
    EXPECT_EQ(NumberOf(bars[i].args.Find("flops")), static_cast<double>(operation.flops));
  }
}

TEST_F(TraceWriterTest, ArrowsPairUpAndPointForward) {
  const Schedule schedule = SmallSchedule();
  std::map<int64_t, std::vector<Event>> arrows;
  for (const Event& event : Written(schedule)) {
    if (event.phase == "s" || event.phase == "f") arrows[event.id].push_back(event);
  }
  size_t waits = 0;
  for (const StepKind kind : StepsOf(schedule, 3))
    waits += PhaseOf(schedule, kind).wait_pool.size();
  ASSERT_GT(waits, 0u);
  EXPECT_EQ(arrows.size(), waits);
  for (const auto& [id, ends] : arrows) {
    ASSERT_EQ(ends.size(), 2u) << id;
    EXPECT_EQ(ends[0].phase, "s");
    EXPECT_EQ(ends[1].phase, "f");
    EXPECT_EQ(ends[0].category, ends[1].category);
    EXPECT_LE(ends[0].time, ends[1].time) << id;
    EXPECT_NE(ends[0].row, ends[1].row) << "a lane does not wait for itself";
  }
}

// One after another, in the order of operations and their waits.
TEST_F(TraceWriterTest, ArrowsLeadFromTheEndOfTheAwaitedToTheStartOfTheWaiting) {
  const Schedule schedule = SmallSchedule();
  const Timeline timeline = TimelineOf(schedule);
  ASSERT_GT(schedule.steady.body_begin, 0) << "a wait one step back must have a prologue to skip";
  std::vector<std::pair<double, double>> expected;
  std::map<std::pair<int32_t, OperationId>, const TimelineEntry*> entry_of;
  for (const TimelineEntry& entry : timeline.entries) {
    entry_of[{entry.step, entry.operation}] = &entry;
    const Phase& phase = PhaseOf(schedule, timeline.steps[entry.step]);
    for (const Wait& wait : phase.WaitsOf(phase.operations[entry.operation])) {
      const int32_t step = entry.step - (wait.previous_step ? 1 : 0);
      const OperationId skipped =
          wait.previous_step ? PhaseOf(schedule, timeline.steps[step]).body_begin : 0;
      const TimelineEntry& awaited = *entry_of.at({step, wait.operation + skipped});
      // A nanosecond before the end, so that it lies on the awaited bar.
      const int64_t leaves = std::max(awaited.start_ns, awaited.end_ns - 1);
      expected.push_back(
          {static_cast<double>(leaves) / 1000, static_cast<double>(entry.start_ns) / 1000});
    }
  }
  std::vector<std::pair<double, double>> found;
  for (const Event& event : Written(schedule)) {
    if (event.phase == "s") found.push_back({event.time, -1});
    if (event.phase == "f") found.back().second = event.time;
  }
  EXPECT_EQ(found, expected);
}

TEST_F(TraceWriterTest, ACounterForEachMemoryStaysWithinTheLayout) {
  const Schedule schedule = SmallSchedule();
  std::map<std::string, std::vector<Event>> counters;
  for (const Event& event : Written(schedule)) {
    if (event.phase == "C") counters[event.name].push_back(event);
  }
  ASSERT_EQ(counters.size(), 3u);
  for (const EnumWord<Memory>& memory : WordsOf(Memory{})) {
    const std::vector<Event>& values = counters[StrCat(memory.word, " memory")];
    ASSERT_FALSE(values.empty()) << memory.word;
    EXPECT_EQ(values.front().time, 0);
    double most = 0;
    for (const Event& value : values) most = std::max(most, NumberOf(value.args.Find("bytes")));
    EXPECT_GT(most, 0);
    EXPECT_LE(most, static_cast<double>(schedule.memory.totals[static_cast<size_t>(memory.value)]));
  }
}

// Several pieces of 1 MiB join without a seam.
TEST_F(TraceWriterTest, ALongTraceIsWrittenInPieces) {
  const Schedule schedule = SmallSchedule(120);
  FaultingIo counting(*io_, {});
  const Timeline timeline = TimelineOf(schedule);
  ASSERT_TRUE(WriteTrace(schedule, timeline, "long", counting, path_).ok());
  size_t writes = 0;
  for (const std::string& call : counting.history()) writes += call.rfind("WriteAt", 0) == 0;
  const std::string text = ReadBytes(*io_, path_);
  EXPECT_GE(writes, 2u);
  EXPECT_GE(writes, text.size() >> 20);
  size_t bars = 0;
  for (const Event& event : EventsIn(text)) bars += event.phase == "X";
  EXPECT_EQ(bars, timeline.entries.size());
}

TEST_F(TraceWriterTest, AnEmptyTimelineIsAValidTrace) {
  const absl::Status status = WriteTrace(SmallSchedule(), {}, "empty", *io_, path_);
  ASSERT_TRUE(status.ok()) << status;
  for (const Event& event : EventsIn(ReadBytes(*io_, path_))) EXPECT_NE(event.phase, "X");
}

// Whatever call fails, once or from there on, the file holds the old text or the whole trace.
TEST_F(TraceWriterTest, AFailureLeavesTheOldFileOrTheWholeNewOne) {
  const Schedule schedule = SmallSchedule();
  const Timeline timeline = TimelineOf(schedule);
  ASSERT_TRUE(WriteTrace(schedule, timeline, "t", *io_, path_).ok());
  const std::string whole = ReadBytes(*io_, path_);
  for (const FaultPlan::Kind kind : {FaultPlan::Kind::kFail, FaultPlan::Kind::kShort}) {
    const FaultPlan fault{.kind = kind, .error_number = ENOSPC};
    const uint64_t hits = ForEachFault(*io_, fault, [&](FaultingIo& io) {
      EmptyFolder();  // of what could not be unlinked either
      WriteBytes(*io_, path_, "old");
      const absl::Status status = WriteTrace(schedule, timeline, "t", io, path_);
      EXPECT_EQ(status.ok(), !io.reached()) << status;
      const std::string now = ReadBytes(*io_, path_);
      EXPECT_TRUE(now == whole || now == "old") << now.substr(0, 100);
      if (status.ok()) {
        EXPECT_EQ(now, whole);
        return;
      }
      EXPECT_EQ(IoErrno(status), ENOSPC) << status;
    });
    EXPECT_GE(hits, 8u);  // open, write, sync, close, rename: once, and from there on
  }
}

// A single failure is always cleaned up.
TEST_F(TraceWriterTest, AFailureThatPassesLeavesNoTemporaryFile) {
  const Schedule schedule = SmallSchedule();
  const Timeline timeline = TimelineOf(schedule);
  for (uint64_t call = 1; call < 100; ++call) {
    EmptyFolder();
    FaultingIo io(*io_, {.at_call = call});
    const absl::Status status = WriteTrace(schedule, timeline, "t", io, path_);
    if (!io.reached()) return;
    EXPECT_FALSE(status.ok()) << "call " << call;
    const absl::StatusOr<std::vector<std::string>> names = io_->List(folder_);
    ASSERT_TRUE(names.ok());
    for (const std::string& name : *names) EXPECT_EQ(name, "trace.json") << "call " << call;
  }
  FAIL() << "never ends";
}

TEST_F(TraceWriterTest, AMissingFolderIsAnError) {
  const Schedule schedule = SmallSchedule();
  const absl::Status status = WriteTrace(schedule, TimelineOf(schedule), "t", *io_,
                                         JoinPath(JoinPath(folder_, "none"), "trace.json"));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
}

}  // namespace
}  // namespace horizon
