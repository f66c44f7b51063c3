#include "planner/set_plan_field.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/documents/json.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// The plan after one assignment that must be right.
StreamPlan Set(const std::string& assignment, const std::string& field) {
  StreamPlan plan;
  std::vector<std::string> fields;
  const absl::Status status = SetPlanField(assignment, plan, fields);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(fields, ElementsAre(field));
  return plan;
}

// The message of one that must be refused, which leaves everything as it was.
std::string Refusal(const std::string& assignment) {
  StreamPlan plan{.buffer_depth = 5};
  const StreamPlan before = plan;
  std::vector<std::string> fields{"gradient_slabs"};
  const absl::Status status = SetPlanField(assignment, plan, fields);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << assignment << ": " << status;
  EXPECT_EQ(plan, before) << assignment;
  EXPECT_THAT(fields, ElementsAre("gradient_slabs")) << assignment;
  return std::string(status.message());
}

TEST(SetPlanField, ShortNamesStandForTheirFields) {
  EXPECT_EQ(Set("K=4", "anchor_interval"), (StreamPlan{.anchor_interval = 4}));
  EXPECT_EQ(Set("depth=3", "buffer_depth"), (StreamPlan{.buffer_depth = 3}));
  EXPECT_EQ(Set("slabs=7", "gradient_slabs"), (StreamPlan{.gradient_slabs = 7}));
}

TEST(SetPlanField, EveryFieldCanBeSet) {
  EXPECT_EQ(Set("chunk_bytes=256MiB", "chunk_bytes"), (StreamPlan{.chunk_bytes = 256_MiB}));
  EXPECT_EQ(Set("chunk_bytes=1048576B", "chunk_bytes"), (StreamPlan{.chunk_bytes = 1_MiB}));
  EXPECT_EQ(Set("buffer_depth=3", "buffer_depth"), (StreamPlan{.buffer_depth = 3}));
  EXPECT_EQ(Set("resident_chunks=0", "resident_chunks"), StreamPlan{});
  EXPECT_EQ(Set("resident_chunks=2", "resident_chunks"), (StreamPlan{.resident_chunks = 2}));
  EXPECT_EQ(Set("anchor_interval=8", "anchor_interval"), (StreamPlan{.anchor_interval = 8}));
  EXPECT_EQ(Set("anchor_home=host", "anchor_home"), (StreamPlan{.anchor_home = AnchorHome::kHost}));
  EXPECT_EQ(Set("recompute=false", "recompute"), (StreamPlan{.recompute = false}));
  EXPECT_EQ(Set("backward_prefetch=false", "backward_prefetch"),
            (StreamPlan{.backward_prefetch = false}));
  EXPECT_EQ(Set("keep_feed_forward=false", "keep_feed_forward"),
            (StreamPlan{.keep_feed_forward = false}));
  EXPECT_EQ(Set("gradient_slabs=1", "gradient_slabs"), (StreamPlan{.gradient_slabs = 1}));
  EXPECT_EQ(Set("accumulation_order=chunk_major", "accumulation_order"),
            (StreamPlan{.accumulation_order = AccumulationOrder::kChunkMajor}));
  EXPECT_EQ(Set("loss_chunk_tokens=256", "loss_chunk_tokens"),
            (StreamPlan{.loss_chunk_tokens = 256}));
  EXPECT_EQ(Set("embedding_home=streamed", "embedding_home"),
            (StreamPlan{.embedding_home = EmbeddingHome::kStreamed}));
  EXPECT_EQ(Set("h2d_threads=2", "h2d_threads"), (StreamPlan{.h2d_threads = 2}));
  EXPECT_EQ(Set("compute_threads=2", "compute_threads"), (StreamPlan{.compute_threads = 2}));
  EXPECT_EQ(Set("d2h_threads=2", "d2h_threads"), (StreamPlan{.d2h_threads = 2}));
  EXPECT_EQ(Set("host_threads=2", "host_threads"), (StreamPlan{.host_threads = 2}));
  EXPECT_EQ(Set("optimizer_threads=4096", "optimizer_threads"),
            (StreamPlan{.optimizer_threads = 4096}));
}

// So that a field added to the plan is not forgotten above.
TEST(SetPlanField, KnowsTheFieldsOfThePlanFile) {
  const absl::StatusOr<Document> whole = ParseJson("plan", WritePlan(StreamPlan{}));
  ASSERT_TRUE(whole.ok());
  const std::string message = Refusal("zzzzzzzzzzzzzzzz=1");
  int settable = 0;
  for (const auto& [name, value] : *whole->root.As<Value::Object>()) {
    if (name == "version" || name == "model" || name == "model_fingerprint" || name == "strategy") {
      continue;
    }
    EXPECT_THAT(message, HasSubstr(name));
    ++settable;
  }
  EXPECT_EQ(settable, 17);
}

TEST(SetPlanField, SeveralFieldsAddUp) {
  StreamPlan plan{.strategy = Strategy::kReference};
  std::vector<std::string> fields;
  for (const char* const assignment : {"K=4", "depth=1", "anchor_home=host"}) {
    ASSERT_TRUE(SetPlanField(assignment, plan, fields).ok());
  }
  EXPECT_THAT(fields, ElementsAre("anchor_interval", "buffer_depth", "anchor_home"));
  EXPECT_EQ(plan, (StreamPlan{.strategy = Strategy::kReference,
                              .buffer_depth = 1,
                              .anchor_interval = 4,
                              .anchor_home = AnchorHome::kHost}));
}

TEST(SetPlanField, AnUnknownFieldIsRefusedWithTheNearest) {
  EXPECT_THAT(Refusal("bufer_depth=2"),
              AllOf(StartsWith("--set bufer_depth=2: the plan has no field"),
                    HasSubstr("did you mean 'buffer_depth'?")));
  EXPECT_THAT(Refusal("k=4"), HasSubstr("there are chunk_bytes, buffer_depth"));
  // Part of the file, but not a choice.
  EXPECT_THAT(Refusal("version=1"), HasSubstr("no field"));
  EXPECT_THAT(Refusal("model=other"), HasSubstr("no field"));
}

TEST(SetPlanField, TheStrategyHasAnOptionOfItsOwn) {
  EXPECT_EQ(Refusal("strategy=resident"),
            "--set strategy=resident: the strategy is chosen with --strategy resident, not with "
            "--set");
}

TEST(SetPlanField, ABadValueIsRefusedWithWhatWouldBeRight) {
  EXPECT_EQ(Refusal("anchor_home=moon"),
            "--set anchor_home=moon: anchor_home: needs one of device|host, found 'moon'");
  EXPECT_THAT(Refusal("buffer_depth=two"),
              AllOf(HasSubstr("--set buffer_depth=two"), HasSubstr("buffer_depth: ")));
  EXPECT_THAT(Refusal("buffer_depth=2.5"), HasSubstr("integer"));
  EXPECT_THAT(Refusal("recompute=1"), HasSubstr("true or false"));
  EXPECT_THAT(Refusal("recompute=\"true\""), HasSubstr("recompute"));
  EXPECT_THAT(Refusal("chunk_bytes=256Mib"), HasSubstr("chunk_bytes"));
  EXPECT_EQ(Refusal("chunk_bytes=256"),
            "--set chunk_bytes=256: chunk_bytes: \"256\" is a number without a unit; write 256GiB, "
            "256MiB or 256B (bytes)");
  EXPECT_THAT(Refusal("buffer_depth=[2]"), HasSubstr("buffer_depth"));
  EXPECT_THAT(Refusal("buffer_depth=null"), HasSubstr("buffer_depth"));
}

TEST(SetPlanField, AValueOutOfRangeIsRefused) {
  EXPECT_THAT(Refusal("buffer_depth=0"), HasSubstr("buffer_depth"));
  EXPECT_THAT(Refusal("K=-1"), HasSubstr("anchor_interval"));
  EXPECT_THAT(Refusal("resident_chunks=-1"), HasSubstr("resident_chunks"));
  EXPECT_THAT(Refusal("host_threads=4097"), HasSubstr("host_threads"));
  EXPECT_THAT(Refusal("chunk_bytes=0B"), HasSubstr("chunk_bytes"));
  EXPECT_THAT(Refusal("depth=99999999999999999999"), HasSubstr("buffer_depth"));
}

TEST(SetPlanField, AFieldIsSetOnce) {
  EXPECT_THAT(Refusal("gradient_slabs=2"), HasSubstr("gradient_slabs is set twice"));
  EXPECT_THAT(Refusal("slabs=2"), HasSubstr("gradient_slabs is set twice"));
}

TEST(SetPlanField, FieldAndValueAreNeeded) {
  for (const char* const assignment : {"", "K", "=4", "K=", "="}) {
    EXPECT_THAT(Refusal(assignment), HasSubstr("--set needs field=value, found")) << assignment;
  }
}

}  // namespace
}  // namespace horizon
