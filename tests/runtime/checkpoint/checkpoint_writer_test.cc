#include "runtime/checkpoint/checkpoint_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/crc32c.h"
#include "common/files/faulting_io.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/written_ranges.h"
#include "tests/common/files/memory_io.h"
#include "tests/runtime/checkpoint/saved_run.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kRun[] = "/run";

class WriterTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(io_.MakeDirectory(kRun).ok());
    absl::StatusOr<RunLock> lock = RunLock::Acquire(io_, kRun);
    ASSERT_TRUE(lock.ok()) << lock.status();
    lock_.emplace(*std::move(lock));
  }

  std::unique_ptr<CheckpointWriter> NewWriter(int64_t step,
                                              std::vector<ExtraFile> extra_files = {}) {
    CheckpointWriter::Options options{.step = step, .extra_files = std::move(extra_files)};
    absl::StatusOr<std::unique_ptr<CheckpointWriter>> writer =
        CheckpointWriter::Create(io_, *lock_, layout_, std::move(options));
    EXPECT_TRUE(writer.ok()) << writer.status();
    return writer.ok() ? *std::move(writer) : nullptr;
  }
  void WriteAll(CheckpointWriter& writer, int64_t step) {
    for (size_t i = 0; i < layout_.entries.size(); ++i) {
      ASSERT_TRUE(writer.Write(i, 0, StateBytes(layout_, i, step), step).ok());
    }
  }
  std::vector<std::string> Names() { return *io_.List("/run/checkpoints"); }

  MemoryIo io_;
  CheckpointLayout layout_ = SmallLayout();
  std::optional<RunLock> lock_;
};

TEST_F(WriterTest, WhatWasWrittenIsReadBackInEveryFormatAndMode) {
  int64_t step = 1;
  for (const StateFormat format : {StateFormat::kFp32, StateFormat::kBf16Moments,
                                   StateFormat::k8BitMoments, StateFormat::kBf16Weights}) {
    for (const SaveMode mode : {SaveMode::kFull, SaveMode::kWeights}) {
      for (const Bytes max_shard : {1_B, 4_KiB, kMaxCheckpointShard}) {
        const CheckpointLayout layout = SmallLayout(format, mode, max_shard);
        const absl::Status saved = SaveStep(io_, *lock_, layout, step);
        ASSERT_TRUE(saved.ok()) << saved;
        const absl::StatusOr<std::vector<FoundCheckpoint>> found = FindCheckpoints(io_, kRun);
        ASSERT_EQ(found->front().step, step);
        const absl::Status same = CheckSaved(io_, found->front().path, layout, step);
        EXPECT_TRUE(same.ok()) << same;
        ++step;
      }
    }
  }
}

TEST_F(WriterTest, ExtraFilesComeBackAsTheyWere) {
  const std::string config = "{\"a\": 1}\n";
  const std::unique_ptr<CheckpointWriter> writer =
      NewWriter(3, {{.name = "config.json", .text = config}, {.name = "empty.txt", .text = ""}});
  WriteAll(*writer, 3);
  ASSERT_TRUE(writer->Commit(SmallFacts(3)).ok());
  const absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(io_, writer->path());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(*checkpoint->ReadText("config.json"), config);
  EXPECT_EQ(*checkpoint->ReadText("empty.txt"), "");
  EXPECT_TRUE(absl::IsNotFound(checkpoint->ReadText("other.txt").status()));
  EXPECT_TRUE(absl::IsNotFound(checkpoint->ReadText("model.safetensors").status()));
}

TEST_F(WriterTest, ExtraFilesCannotTakeThePlaceOfOthers) {
  for (const char* name : {"model.safetensors", "manifest.json", "../x", "x.safetensors", ""}) {
    CheckpointWriter::Options options{.step = 1, .extra_files = {{.name = name, .text = "x"}}};
    EXPECT_TRUE(
        absl::IsInvalidArgument(CheckpointWriter::Create(io_, *lock_, layout_, options).status()))
        << name;
    options.extra_files = {{.name = "a", .text = ""}, {.name = "a", .text = ""}};
    EXPECT_TRUE(
        absl::IsInvalidArgument(CheckpointWriter::Create(io_, *lock_, layout_, options).status()));
  }
}

TEST_F(WriterTest, AMissingByteIsNamedAndNothingIsCommitted) {
  for (size_t missing = 0; missing < layout_.entries.size(); ++missing) {
    const CheckpointEntry& entry = layout_.entries[missing];
    if (entry.bytes == 0_B) continue;
    const std::unique_ptr<CheckpointWriter> writer = NewWriter(5);
    for (size_t i = 0; i < layout_.entries.size(); ++i) {
      const std::vector<std::byte> bytes = StateBytes(layout_, i, 5);
      const auto given = std::span(bytes).first(bytes.size() - (i == missing ? 1 : 0));
      ASSERT_TRUE(writer->Write(i, 0, given, 5).ok());
    }
    const absl::Status status = writer->Commit(SmallFacts(5));
    EXPECT_TRUE(absl::IsFailedPrecondition(status));
    EXPECT_THAT(
        std::string(status.message()),
        AllOf(HasSubstr("\"" + SavedName(layout_.tensors[entry.tensor].name, entry.part) +
                        "\" was not written from byte " + std::to_string(entry.bytes.value() - 1)),
              HasSubstr("step-00000005")));
    EXPECT_THAT(Names(), IsEmpty());
  }
}

TEST_F(WriterTest, BytesOutsideTwiceOrOfAnotherStepAreRefusedForGood) {
  struct Case {
    uint64_t offset;
    size_t bytes;
    int64_t step;
    absl::StatusCode code;
  };
  const uint64_t size = layout_.entries[0].bytes.value();
  const Case cases[] = {{size, 1, 5, absl::StatusCode::kInvalidArgument},
                        {size - 1, 2, 5, absl::StatusCode::kInvalidArgument},
                        {~uint64_t{0}, 2, 5, absl::StatusCode::kInvalidArgument},
                        {0, 1, 5, absl::StatusCode::kFailedPrecondition},   // is there
                        {9, 30, 5, absl::StatusCode::kFailedPrecondition},  // its first byte is
                        {10, 11, 5, absl::StatusCode::kFailedPrecondition},
                        {10, 10, 6, absl::StatusCode::kFailedPrecondition},
                        {10, 10, 4, absl::StatusCode::kFailedPrecondition}};
  for (const Case& c : cases) {
    const std::unique_ptr<CheckpointWriter> writer = NewWriter(5);
    const std::vector<std::byte> bytes(100);
    ASSERT_TRUE(writer->Write(0, 0, std::span(bytes).first(10), 5).ok());
    ASSERT_TRUE(writer->Write(0, 20, std::span(bytes).first(10), 5).ok());
    const absl::Status status = writer->Write(0, c.offset, std::span(bytes).first(c.bytes), c.step);
    EXPECT_EQ(status.code(), c.code) << c.offset << " " << c.bytes;
    EXPECT_THAT(std::string(status.message()), HasSubstr("\"model.embed.weight\""));
    EXPECT_THAT(Names(), IsEmpty());  // dropped at once
    EXPECT_EQ(writer->Write(1, 0, std::span(bytes).first(1), 5), status);
    EXPECT_EQ(writer->Commit(SmallFacts(5)), status);
  }
}

TEST_F(WriterTest, AWriterThatIsGivenUpLeavesNothing) {
  {
    const std::unique_ptr<CheckpointWriter> writer = NewWriter(5);
    WriteAll(*writer, 5);
    EXPECT_THAT(Names(), ElementsAre("step-00000005.tmp-1"));
  }
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(WriterTest, AStepThatIsThereIsNotWrittenAgain) {
  ASSERT_TRUE(SaveStep(io_, *lock_, layout_, 5).ok());
  const absl::Status again = SaveStep(io_, *lock_, layout_, 5);
  EXPECT_TRUE(absl::IsAlreadyExists(again)) << again;
  EXPECT_TRUE(CheckSaved(io_, "/run/checkpoints/step-00000005", layout_, 5).ok());
}

TEST_F(WriterTest, TooLittleSpaceIsSaidBeforeAnythingIsWritten) {
  io_.free_space = DiskBytes(layout_) - 1_B;
  const size_t before = io_.changes().size();
  const absl::Status status = SaveStep(io_, *lock_, layout_, 5);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("--save weights"), HasSubstr("step-00000005")));
  EXPECT_EQ(io_.changes().size(), before + 2);  // `checkpoints` was made and the run synced
}

// The manifest's part of the estimate must not be too small, nor wildly too large.
TEST_F(WriterTest, TheSpaceAskedForIsTheSpaceTaken) {
  for (const Bytes max_shard : {1_B, kMaxCheckpointShard}) {
    const CheckpointLayout layout =
        SmallLayout(StateFormat::k8BitMoments, SaveMode::kFull, max_shard);
    const int64_t step = static_cast<int64_t>(max_shard.value() % 1000) + 1;
    ASSERT_TRUE(SaveStep(io_, *lock_, layout, step).ok());
    const std::string folder = StrCat("/run/checkpoints/", Names().back());
    uint64_t blocks = 0;
    const std::vector<std::string> files = *io_.List(folder);
    for (const std::string& name : files) {
      blocks += io_.Info(JoinPath(folder, name))->size.RoundedUp(4096).value();
    }
    EXPECT_LE(blocks, DiskBytes(layout).value());
    EXPECT_LE(DiskBytes(layout).value(), blocks + (128 << 10));
    ASSERT_TRUE(io_.Unlink(JoinPath(folder, files[0])).ok());
    for (size_t i = 1; i < files.size(); ++i) {
      ASSERT_TRUE(io_.Unlink(JoinPath(folder, files[i])).ok());
    }
    ASSERT_TRUE(io_.RemoveDirectory(folder).ok());
  }
}

TEST_F(WriterTest, NothingIsSyncedAgainAfterAFailedSync) {
  FaultPlan plan{.kind = FaultPlan::Kind::kFail, .extent = FaultPlan::Extent::kOnce};
  int failed_syncs = 0;
  for (plan.at_call = 1;; ++plan.at_call) {
    FaultingIo io(io_, plan);
    const absl::Status saved = SaveStep(io, *lock_, layout_, 9);
    if (!io.reached()) break;
    const std::vector<std::string> calls = io.history();
    const std::string& failed = calls[plan.at_call - 1];
    if (!failed.starts_with("Sync ")) continue;
    ++failed_syncs;
    EXPECT_FALSE(saved.ok());
    EXPECT_EQ(std::count(calls.begin(), calls.end(), failed), 1) << failed;
    EXPECT_THAT(Names(), IsEmpty());
  }
  EXPECT_EQ(failed_syncs, 5);  // three shards, the config, the manifest
}

// Large files do not stay in the system's cache while they are written.
TEST_F(WriterTest, TheCacheIsDroppedEveryThirtyTwoMebibytes) {
  layout_ = *LayOutCheckpoint({{"a", {20 << 20}}}, StateFormat::kFp32, SaveMode::kWeights);
  FaultingIo io(io_, {});
  absl::StatusOr<std::unique_ptr<CheckpointWriter>> writer =
      CheckpointWriter::Create(io, *lock_, layout_, {.step = 1});
  ASSERT_TRUE(writer.ok());
  const std::vector<std::byte> piece(4 << 20);
  for (uint64_t at = 0; at < (40 << 20); at += piece.size()) {
    ASSERT_TRUE((*writer)->Write(0, at, piece, 1).ok());
  }
  const std::vector<std::string> calls = io.history();
  EXPECT_EQ(std::count_if(calls.begin(), calls.end(),
                          [](const std::string& call) { return call.starts_with("DropCache"); }),
            2);  // after 32 MiB, and at the end
}

TEST_F(WriterTest, StaleFoldersOfKilledProcessesAreRemovedFirst) {
  ASSERT_TRUE(SaveStep(io_, *lock_, layout_, 1).ok());
  ASSERT_TRUE(io_.MakeDirectory("/run/checkpoints/step-00000002.tmp-1").ok());
  ASSERT_TRUE(WriteTextFile(io_, "/run/checkpoints/step-00000002.tmp-1/low.safetensors", "x").ok());
  ASSERT_TRUE(io_.MakeDirectory("/run/checkpoints/notes").ok());
  ASSERT_TRUE(SaveStep(io_, *lock_, layout_, 2).ok());
  EXPECT_THAT(Names(), UnorderedElementsAre("notes", "step-00000001", "step-00000002"));
}

// What is put together from pieces is what one piece would give, whatever their order.
RC_GTEST_PROP(WrittenRangesProperty, AnyOrderOfAnyPiecesGivesTheCrcOfTheWhole,
              (std::vector<uint8_t> bytes, std::vector<uint8_t> cuts)) {
  std::vector<size_t> borders = {0, bytes.size()};
  for (const uint8_t cut : cuts) borders.push_back(bytes.empty() ? 0 : cut % bytes.size());
  std::sort(borders.begin(), borders.end());
  std::vector<size_t> order(borders.size() - 1);
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(a * 7919 % 31, a) < std::pair(b * 7919 % 31, b);
  });
  WrittenRanges ranges;
  const auto all = std::as_bytes(std::span(bytes));
  for (const size_t i : order) {
    const size_t begin = borders[i];
    const size_t end = borders[i + 1];
    RC_ASSERT(ranges.IsFree(begin, end));
    if (!bytes.empty() && begin < end) RC_ASSERT(!ranges.IsWhole(Bytes(bytes.size())));
    ranges.Add(begin, end, Crc32c(all.subspan(begin, end - begin)));
    RC_ASSERT(begin == end || !ranges.IsFree(begin, end));
    RC_ASSERT(begin == end || !ranges.IsFree(end - 1, end + 5));
  }
  RC_ASSERT(ranges.IsWhole(Bytes(bytes.size())));
  RC_ASSERT(ranges.crc32c() == Crc32c(all));
  RC_ASSERT(ranges.FirstMissing() == bytes.size());
}

TEST(WrittenRanges, KnowsWhatIsMissing) {
  WrittenRanges ranges;
  EXPECT_TRUE(ranges.IsWhole(0_B));
  EXPECT_FALSE(ranges.IsWhole(1_B));
  ranges.Add(5, 9, 0);
  EXPECT_EQ(ranges.FirstMissing(), 0u);
  EXPECT_FALSE(ranges.IsWhole(9_B));
  ranges.Add(0, 3, 0);
  EXPECT_EQ(ranges.FirstMissing(), 3u);
  EXPECT_TRUE(ranges.IsFree(3, 5));
  EXPECT_FALSE(ranges.IsFree(2, 5));
  EXPECT_FALSE(ranges.IsFree(3, 6));
  EXPECT_FALSE(ranges.IsFree(0, 20));
  EXPECT_TRUE(ranges.IsFree(9, 20));
}

}  // namespace
}  // namespace horizon
