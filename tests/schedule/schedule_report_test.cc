// What people and programs are told of a schedule agrees with the schedule.
#include "schedule/schedule_report.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "schedule/build/build_schedule.h"
#include "tests/schedule/random_plans.h"

namespace horizon {
namespace {

TrainingJob SmallJob() {
  TrainingJob job;
  job.sequence = 40;
  job.accumulation = 2;
  return job;
}

Schedule Build(const StreamPlan& plan = {}, PassKind kind = PassKind::kTrain, int64_t layers = 4) {
  absl::StatusOr<Schedule> schedule = BuildSchedule(TinyModel(layers), SmallJob(), plan, kind);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return *std::move(schedule);
}

// An integer of a JSON answer by the keys that lead to it; -1 if it is not there.
int64_t At(const Document& document, const std::vector<std::string>& keys) {
  const Value* value = &document.root;
  for (const std::string& key : keys) {
    value = value == nullptr ? nullptr : value->Find(key);
  }
  return value == nullptr || value->As<int64_t>() == nullptr ? -1 : *value->As<int64_t>();
}

Document Json(const Schedule& schedule) {
  absl::StatusOr<Document> document =
      ParseJson("report", ScheduleReportJson(TinyModel(4), schedule));
  EXPECT_TRUE(document.ok()) << document.status();
  return *std::move(document);
}

const Phase& Shown(const Schedule& schedule) {
  return schedule.steady.operations.empty() ? schedule.first : schedule.steady;
}

class EveryPass : public testing::TestWithParam<PassKind> {};

TEST_P(EveryPass, JsonSumsAgreeWithTheSchedule) {
  const Schedule schedule = Build({}, GetParam());
  const Document json = Json(schedule);
  EXPECT_EQ(*json.root.Find("model")->As<std::string>(), "tiny");
  EXPECT_EQ(*json.root.Find("pass")->As<std::string>(), ToString(GetParam()));
  EXPECT_EQ(*json.root.Find("strategy")->As<std::string>(), "horizon");
  EXPECT_EQ(At(json, {"parameters"}), static_cast<int64_t>(schedule.chunks.parameters));
  EXPECT_EQ(At(json, {"chunks"}), static_cast<int64_t>(schedule.chunks.chunks.size()));
  EXPECT_EQ(At(json, {"blocks"}), static_cast<int64_t>(schedule.chunks.recompute_blocks.size()));
  EXPECT_EQ(At(json, {"operations", "first"}),
            static_cast<int64_t>(schedule.first.operations.size()));
  EXPECT_EQ(At(json, {"operations", "steady"}),
            static_cast<int64_t>(schedule.steady.operations.size()));
  EXPECT_EQ(At(json, {"operations", "drain"}),
            static_cast<int64_t>(schedule.drain.operations.size()));
  for (const EnumWord<Lane>& lane : WordsOf(Lane{})) {
    int64_t operations = 0, bytes = 0, flops = 0;
    for (const Operation& operation : Shown(schedule).operations) {
      if (operation.lane != lane.value) continue;
      ++operations;
      bytes += static_cast<int64_t>(operation.bytes.value());
      flops += static_cast<int64_t>(operation.flops);
    }
    const std::string name(lane.word);
    EXPECT_EQ(At(json, {"lanes", name, "operations"}), operations) << name;
    EXPECT_EQ(At(json, {"lanes", name, "bytes"}), bytes) << name;
    EXPECT_EQ(At(json, {"lanes", name, "flops"}), flops) << name;
  }
}

TEST_P(EveryPass, JsonBuffersAddUpToTheMemoriesExceptForGaps) {
  const Schedule schedule = Build({}, GetParam());
  const Document json = Json(schedule);
  for (const EnumWord<Memory>& memory : WordsOf(Memory{})) {
    const std::string name(memory.word);
    const Bytes total = schedule.memory.totals[static_cast<size_t>(memory.value)];
    EXPECT_EQ(At(json, {"memory", name, "bytes"}), static_cast<int64_t>(total.value())) << name;
    int64_t count = 0, bytes = 0;
    for (const std::string& kind : AllWords<BufferKind>()) {
      if (At(json, {"memory", name, "buffers", kind, "count"}) < 0) continue;
      count += At(json, {"memory", name, "buffers", kind, "count"});
      bytes += At(json, {"memory", name, "buffers", kind, "bytes"});
    }
    int64_t expected = 0;
    for (const Buffer& buffer : schedule.memory.buffers) expected += buffer.memory == memory.value;
    EXPECT_EQ(count, expected) << name;
    EXPECT_LE(bytes, static_cast<int64_t>(total.value()));
    EXPECT_GT(bytes + count * static_cast<int64_t>(kBufferAlignment),
              static_cast<int64_t>(total.value()) - 1);
  }
}

TEST_P(EveryPass, TextNamesModelPassAndMemories) {
  const Schedule schedule = Build({}, GetParam());
  const std::string text = ScheduleReportText(TinyModel(4), schedule);
  // Only a pass with backward has recompute blocks.
  const std::string blocks = GetParam() == PassKind::kTrain ? " and 4 recompute blocks" : "";
  EXPECT_EQ(text.rfind(StrCat("tiny: 3,144 parameters in 6 chunks", blocks, "; pass "), 0), 0u)
      << text;
  EXPECT_NE(text.find(StrCat("pass ", ToString(GetParam()))), std::string::npos);
  for (const char* word : {"device", "pinned", "host", "peak"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(text.back(), '\n');
}

INSTANTIATE_TEST_SUITE_P(All, EveryPass,
                         testing::Values(PassKind::kTrain, PassKind::kEvaluate, PassKind::kPrefill,
                                         PassKind::kDecode),
                         [](const auto& test) { return std::string(ToString(test.param)); });

// Four layer chunks, two micro-batches: each pass takes every chunk forward and back, and of the
// ring's two slots both survive each turn.
TEST(CountTraffic, CountsLoadsByHand) {
  const LinkTraffic traffic = CountTraffic(Build());
  EXPECT_EQ(traffic.layers.chunks, 4);
  EXPECT_EQ(traffic.head.chunks, 1);
  EXPECT_EQ(traffic.head.loads, 2);  // once a micro-batch
  EXPECT_EQ(traffic.head.bytes, Bytes(2u * 2 * 256));
  EXPECT_EQ(traffic.embedding.chunks, 1);  // stays on the host
  EXPECT_EQ(traffic.embedding.loads, 0);
  EXPECT_EQ(traffic.resident.chunks, 0);
  EXPECT_LE(traffic.layers.loads, 2 * 2 * 4);
  EXPECT_GE(traffic.layers.loads, 2 * 4);
  uint64_t h2d = 0, d2h = 0;
  for (const Operation& operation : Build().steady.operations) {
    if (operation.lane == Lane::kH2d) h2d += operation.bytes.value();
    if (operation.lane == Lane::kD2h) d2h += operation.bytes.value();
  }
  EXPECT_EQ(traffic.h2d_bytes, Bytes(h2d));
  EXPECT_EQ(traffic.d2h_bytes, Bytes(d2h));
}

TEST(CountTraffic, ResidentChunksCrossOnceAfterTheirUpdate) {
  StreamPlan plan;
  plan.resident_chunks = 5;  // the head and all four layers
  const LinkTraffic traffic = CountTraffic(Build(plan));
  EXPECT_EQ(traffic.layers.chunks, 0);
  EXPECT_EQ(traffic.resident.chunks, 5);
  EXPECT_EQ(traffic.resident.loads, 5);
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(DrawLanes, KeepsToTheWidth) {
  for (const int64_t layers : {1, 4, 40}) {
    const Schedule schedule = Build({}, PassKind::kTrain, layers);
    for (const int columns : {0, 1, 20, 80, 100, 200}) {
      const std::vector<std::string> lines = Lines(DrawLanes(schedule, columns).lanes);
      EXPECT_GE(lines.size(), 1u);
      EXPECT_LE(lines.size(), 5u);  // all lanes but the disk's; idle ones are left out
      for (const std::string& line : lines) {
        EXPECT_LE(line.size(), static_cast<size_t>(std::max(columns, 16))) << line;
        EXPECT_NE(line.back(), ' ');
      }
    }
  }
}

TEST(DrawLanes, ShowsTheFirstOperationsOfEachLane) {
  const std::vector<std::string> lines = Lines(DrawLanes(Build(), 100).lanes);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0].rfind("h2d        ", 0), 0u) << lines[0];
  EXPECT_EQ(lines[1].rfind("compute    ", 0), 0u) << lines[1];
  EXPECT_NE(lines[0].find("L1"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("F1"), std::string::npos) << lines[1];
  EXPECT_NE(lines[4].find("U0"), std::string::npos) << lines[4];  // Adam behind forward
  EXPECT_LT(lines[4].find("U1"), lines[0].find("L1"));  // a chunk is updated before it is loaded
}

TEST(ScheduleReport, NotesAreTold) {
  StreamPlan plan;
  plan.anchor_interval = 2;
  plan.chunk_bytes = 1400_B;
  plan.buffer_depth = 1;
  const Schedule schedule = Build(plan);
  ASSERT_FALSE(schedule.notes.empty());
  EXPECT_NE(ScheduleReportText(TinyModel(4), schedule).find(StrCat("note: ", schedule.notes[0])),
            std::string::npos);
  const Document json = Json(schedule);
  const auto* notes = json.root.Find("notes")->As<Value::Array>();
  ASSERT_EQ(notes->size(), schedule.notes.size());
  EXPECT_EQ(*(*notes)[0].As<std::string>(), schedule.notes[0]);
}

TEST(DrawLanes, TheLegendExplainsEveryLetterDrawnAndFits) {
  const LanePicture picture = DrawLanes(Build(), 100);
  for (const std::string& line : Lines(picture.legend)) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_NE(picture.legend.find("F forward"), std::string::npos) << picture.legend;
  EXPECT_NE(picture.legend.find("L load chunk"), std::string::npos) << picture.legend;
  EXPECT_EQ(picture.legend.find("commit"), std::string::npos) << picture.legend;
}

}  // namespace
}  // namespace horizon
