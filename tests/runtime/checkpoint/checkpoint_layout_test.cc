#include "runtime/checkpoint/checkpoint_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "model/files/safetensors_header.h"
#include "runtime/checkpoint/checkpoint_names.h"
#include "tests/common/files/memory_io.h"
#include "tests/runtime/checkpoint/saved_run.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> FileNames(const CheckpointLayout& layout) {
  std::vector<std::string> names;
  for (const CheckpointFile& file : layout.files) names.push_back(file.name);
  return names;
}

// 61 x 47 + 257 + 0 + 1 parameters; scales: 12 + 2 + 0 + 1 blocks of 256.
constexpr uint64_t kParameters = 3125;
constexpr uint64_t kBlocks = 15;

uint64_t PayloadBytes(const CheckpointLayout& layout) {
  uint64_t bytes = 0;
  for (const CheckpointEntry& entry : layout.entries) bytes += entry.bytes.value();
  return bytes;
}

TEST(CheckpointLayout, EveryFormatHasItsPartsTypesAndBytes) {
  struct Case {
    StateFormat format;
    uint64_t bytes;  // solved by hand: of a parameter, and of a block
    std::string parts;
  };
  const Case cases[] = {
      {StateFormat::kFp32, 12 * kParameters, "hi BF16, lo I16, m F32, v F32, "},
      {StateFormat::kBf16Moments, 8 * kParameters, "hi BF16, lo I16, m BF16, v BF16, "},
      {StateFormat::k8BitMoments, 6 * kParameters + 8 * kBlocks,
       "hi BF16, lo I16, m U8, v U8, m_scale F32, v_scale F32, "},
      {StateFormat::kBf16Weights, 10 * kParameters, "hi BF16, m F32, v F32, "}};
  for (const Case& c : cases) {
    const CheckpointLayout layout = SmallLayout(c.format);
    EXPECT_EQ(PayloadBytes(layout), c.bytes);
    std::string parts;
    for (size_t i = 0; i < layout.entries_per_tensor(); ++i) {
      const CheckpointEntry& entry = layout.entries[i];
      parts += std::string(ToString(entry.part)) + " " + std::string(ToString(entry.dtype)) + ", ";
      EXPECT_EQ(layout.Find(0, entry.part), &entry);
    }
    EXPECT_EQ(parts, c.parts);
    EXPECT_EQ(layout.Find(4, StatePart::kHi), nullptr);

    const CheckpointLayout weights = SmallLayout(c.format, SaveMode::kWeights);
    EXPECT_EQ(PayloadBytes(weights), 2 * kParameters);
    EXPECT_THAT(FileNames(weights), ElementsAre("model.safetensors"));
    EXPECT_EQ(weights.Find(0, StatePart::kLo), nullptr);
    EXPECT_EQ(weights.total_bytes, layout.weights_bytes);
  }
}

// The place of every part, read from the headers as others read them.
TEST(CheckpointLayout, HeadersSayWhatTheEntriesSay) {
  for (const Bytes max_shard : {1_B, 8_KiB, kMaxCheckpointShard}) {
    const CheckpointLayout layout =
        SmallLayout(StateFormat::k8BitMoments, SaveMode::kFull, max_shard);
    std::map<std::string, size_t> places;
    uint64_t total = 0;
    std::vector<SafetensorsHeader> headers(layout.files.size());
    for (size_t i = 0; i < layout.files.size(); ++i) {
      const CheckpointFile& file = layout.files[i];
      total += file.bytes.value();
      EXPECT_TRUE(CheckFileName(file.name).ok());
      if (!file.name.ends_with(".safetensors")) continue;
      EXPECT_EQ(file.start.size() % 8, 0u);
      absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeader(
          file.name, std::string_view(file.start).substr(8), file.bytes - Bytes(file.start.size()));
      ASSERT_TRUE(header.ok()) << header.status();
      EXPECT_EQ(header->metadata(), (SafetensorsMetadata{{"format", "pt"}}));
      headers[i] = *header;
    }
    EXPECT_EQ(layout.total_bytes.value(), total);
    for (const CheckpointEntry& entry : layout.entries) {
      const std::string name = SavedName(layout.tensors[entry.tensor].name, entry.part);
      const TensorEntry* tensor = headers[entry.file].Find(name);
      ASSERT_NE(tensor, nullptr) << name;
      EXPECT_EQ(layout.files[entry.file].start.size() + tensor->begin, entry.offset);
      EXPECT_EQ(tensor->bytes(), entry.bytes);
      EXPECT_EQ(tensor->dtype, entry.dtype);
      EXPECT_EQ(tensor->shape, entry.shape);
      EXPECT_EQ(entry.bytes == 0_B ? 0 : entry.offset % (BitsOf(entry.dtype) / 8), 0u);
    }
  }
}

TEST(CheckpointLayout, NamesAreTheModelsOwnAndOnesMadeFromThem) {
  EXPECT_EQ(SavedName("a.b", StatePart::kHi), "a.b");
  EXPECT_EQ(SavedName("a.b", StatePart::kLo), "a.b.lo");
  EXPECT_EQ(SavedName("a.b", StatePart::kFirstMoment), "a.b.m");
  EXPECT_EQ(SavedName("a.b", StatePart::kSecondMoment), "a.b.v");
  EXPECT_EQ(SavedName("a.b", StatePart::kFirstScale), "a.b.m.scale");
  EXPECT_EQ(SavedName("a.b", StatePart::kSecondScale), "a.b.v.scale");
  // Tensors named like parts of each other.
  const absl::StatusOr<CheckpointLayout> layout =
      LayOutCheckpoint({{"a", {1}}, {"a.m", {1}}, {"a.m.scale", {1}}, {"a.lo", {1}}},
                       StateFormat::k8BitMoments, SaveMode::kFull);
  EXPECT_TRUE(layout.ok()) << layout.status();
}

// The empty tensor's parts go where there is room: beside each other, or to any file.
TEST(CheckpointLayout, SeveralShardsAreNumberedAndTheWeightsIndexed) {
  const CheckpointLayout layout = SmallLayout(StateFormat::kFp32, SaveMode::kFull, 1_B);
  EXPECT_THAT(
      FileNames(layout),
      ElementsAre("model-00001-of-00004.safetensors", "model-00002-of-00004.safetensors",
                  "model-00003-of-00004.safetensors", "model-00004-of-00004.safetensors",
                  "model.safetensors.index.json", "low-00001-of-00004.safetensors",
                  "low-00002-of-00004.safetensors", "low-00003-of-00004.safetensors",
                  "low-00004-of-00004.safetensors", "moments-00001-of-00007.safetensors",
                  "moments-00002-of-00007.safetensors", "moments-00003-of-00007.safetensors",
                  "moments-00004-of-00007.safetensors", "moments-00005-of-00007.safetensors",
                  "moments-00006-of-00007.safetensors", "moments-00007-of-00007.safetensors"));
  EXPECT_THAT(layout.files[4].start,
              AllOf(HasSubstr("\"model.norm.weight\": \"model-00004-of-00004.safetensors\""),
                    Not(HasSubstr(".lo")), Not(HasSubstr("moments"))));
}

TEST(CheckpointLayout, RefusesTensorsThatMakeNoFiles) {
  const auto refused = [](std::vector<SavedTensor> tensors) {
    return LayOutCheckpoint(std::move(tensors), StateFormat::k8BitMoments, SaveMode::kFull)
        .status();
  };
  EXPECT_TRUE(absl::IsInvalidArgument(refused({{"a", {1}}, {"a", {2}}})));
  EXPECT_TRUE(absl::IsInvalidArgument(refused({{"a", {-1}}})));
  EXPECT_TRUE(absl::IsInvalidArgument(refused({{"a", {int64_t{1} << 40, int64_t{1} << 40}}})));
  EXPECT_TRUE(absl::IsInvalidArgument(refused({{"a\xFF", {1}}})));
  // Every file below 2^64, their sum not.
  EXPECT_TRUE(absl::IsInvalidArgument(
      refused({{"a", {int64_t{1} << 62}}, {"b", {int64_t{1} << 62}}, {"c", {int64_t{1} << 62}}})));
  EXPECT_TRUE(absl::IsInvalidArgument(refused(std::vector<SavedTensor>(90'000, {"a", {1}}))));
}

TEST(CheckpointLayout, AModelWithoutTensorsIsAFileWithoutTensors) {
  const absl::StatusOr<CheckpointLayout> layout =
      LayOutCheckpoint({}, StateFormat::kFp32, SaveMode::kFull);
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_THAT(FileNames(*layout), ElementsAre("model.safetensors"));
  EXPECT_EQ(layout->entries_per_tensor(), 0u);
}

TEST(FreeSpace, TooLittleNamesTheBytesAndTheModeThatFits) {
  MemoryIo io;
  const CheckpointLayout layout = SmallLayout();
  const CheckpointLayout weights = SmallLayout(StateFormat::kFp32, SaveMode::kWeights);
  const Bytes needed = DiskBytes(layout);
  EXPECT_GT(needed, layout.total_bytes);
  EXPECT_LT(DiskBytes(weights), needed);
  io.free_space = needed;
  EXPECT_TRUE(CheckFreeSpace(io, "/", layout).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(CheckFreeSpace(io, "/", layout, 2)));

  io.free_space = needed - 1_B;
  const absl::Status full = CheckFreeSpace(io, "/", layout);
  EXPECT_TRUE(absl::IsResourceExhausted(full));
  EXPECT_EQ(IoErrno(full), 0);  // a question of capacity, not of a failing disk
  EXPECT_THAT(std::string(full.message()),
              AllOf(HasSubstr(std::to_string(needed.value())),
                    HasSubstr(std::to_string(needed.value() - 1)), HasSubstr("--save weights")));
  io.free_space = 10_B;
  EXPECT_THAT(std::string(CheckFreeSpace(io, "/", layout).message()),
              AllOf(HasSubstr("--save none"), Not(HasSubstr("--save weights"))));
  EXPECT_THAT(std::string(CheckFreeSpace(io, "/", weights).message()),
              Not(HasSubstr("--save weights")));
}

TEST(CheckpointNames, StepsAreReadBackAndNothingElseIs) {
  for (const int64_t step :
       {int64_t{0}, int64_t{12}, int64_t{99'999'999}, int64_t{100'000'000}, kMaxStep - 1}) {
    EXPECT_EQ(StepOfName(StepName(step)), step);
    EXPECT_TRUE(IsTemporaryName(TemporaryName(step, 3)));
    EXPECT_FALSE(IsTemporaryName(StepName(step)));
    EXPECT_FALSE(StepOfName(TemporaryName(step, 3)).has_value());
  }
  EXPECT_EQ(StepName(12), "step-00000012");
  for (const char* name :
       {"", "step-", "step-12", "step-000000012", "step-0000001x", "step-+0000012", "step--0000012",
        "step- 0000012", "Step-00000012", "step-00000012 ", "xstep-00000012", "latest",
        "step-1000000000000000000", "step-99999999999999999999"}) {
    EXPECT_FALSE(StepOfName(name).has_value()) << name;
  }
  for (const char* name : {"step-00000012.tmp-", "step-12.tmp-1", ".tmp-1", "step-00000012.tmp"}) {
    EXPECT_FALSE(IsTemporaryName(name)) << name;
  }
  EXPECT_EQ(BaseName("/a/b/"), "b");
  EXPECT_EQ(BaseName("b"), "b");
  EXPECT_EQ(BaseName("/"), "");
}

TEST(CheckpointNames, FilesHavePlainNames) {
  for (const char* name : {"config.json", "a", "tokenizer.json", "model-1.safetensors"}) {
    EXPECT_TRUE(CheckFileName(name).ok()) << name;
  }
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../a"), std::string("a/b"),
        std::string("/a"), std::string("a\0b", 3), std::string("a\nb"), std::string("caf\xC3\xA9"),
        std::string("manifest.json"), std::string(256, 'a'), std::string(".hidden")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckFileName(name))) << name;
  }
}

}  // namespace
}  // namespace horizon
