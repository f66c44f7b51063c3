#include "runtime/checkpoint/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "common/text/str_cat.h"
#include "runtime/checkpoint/manifest_text.h"
#include "tests/runtime/checkpoint/saved_run.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Manifest SmallManifest() {
  Manifest manifest{.step = 12, .facts = SmallFacts(12)};
  manifest.facts.frozen = {{.name = "frozen \"e\"", .crc32c = 7}, {.name = "f"}};
  manifest.files = {{.name = "model.safetensors", .bytes = 150_B, .head_bytes = 100_B, .crc32c = 1},
                    {.name = "config.json", .bytes = 9_B, .head_bytes = 9_B, .crc32c = 0xFFFFFFFF}};
  manifest.tensors = {{.name = "a \"b\" \xC3\xA9",
                       .shape = {3, 5},
                       .offset = 100,
                       .bytes = 30_B,
                       .crc32c = 0xE3069283,
                       .step = 12},
                      {.name = "c", .shape = {10}, .offset = 130, .bytes = 20_B, .step = 12},
                      {.name = "d", .shape = {0}, .offset = 150, .bytes = 0_B, .step = 12}};
  return manifest;
}

// Text with its last line made right again, so that only what was changed is wrong.
std::string Sealed(std::string text) {
  const size_t last = text.rfind("\"crc32c\": \"");
  if (last != text.npos && text.find('\n', last) == text.size() - 1) text.resize(last);
  return StrCat(text, ManifestLastLine(text));
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

absl::Status StatusOf(const std::string& text) { return ParseManifest("m.json", text).status(); }

TEST(Manifest, IsReadBackAsItWasWritten) {
  Manifest manifest = SmallManifest();
  for (int i = 0; i < 2; ++i) {
    const std::string text = WriteManifest(manifest);
    const absl::StatusOr<Manifest> read = ParseManifest("m.json", text);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, manifest);
    EXPECT_EQ(WriteManifest(*read), text);
    EXPECT_EQ(read->total_bytes(), 159_B);
    manifest.facts.counters = {};  // no loss yet
    manifest.mode = SaveMode::kWeights;
  }
}

TEST(Manifest, AMissingLossIsNullAndALossKeepsItsBits) {
  Manifest manifest = SmallManifest();
  manifest.facts.counters.best_loss = std::nextafter(0.1, 1.0);
  manifest.facts.counters.first_loss.reset();
  const absl::StatusOr<Manifest> read = ParseManifest("m.json", WriteManifest(manifest));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->facts.counters.best_loss, std::nextafter(0.1, 1.0));
  EXPECT_FALSE(read->facts.counters.first_loss.has_value());
}

TEST(Manifest, EveryFlippedBitIsFound) {
  std::string text = WriteManifest(SmallManifest());
  for (size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      text[i] = static_cast<char>(text[i] ^ 1 << bit);
      EXPECT_TRUE(absl::IsDataLoss(StatusOf(text))) << "byte " << i << ", bit " << bit;
      text[i] = static_cast<char>(text[i] ^ 1 << bit);
    }
  }
  EXPECT_TRUE(StatusOf(text).ok());
}

TEST(Manifest, EveryCutAndEveryAddedByteIsFound) {
  const std::string text = WriteManifest(SmallManifest());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_TRUE(absl::IsDataLoss(StatusOf(text.substr(0, size)))) << size;
  }
  for (const char c : {'\n', ' ', '\0', '}'}) {
    EXPECT_TRUE(absl::IsDataLoss(StatusOf(text + c)));
    EXPECT_TRUE(absl::IsDataLoss(StatusOf(c + text)));
  }
}

TEST(Manifest, OfVersion1HasNoFrozenTensors) {
  Manifest manifest = SmallManifest();
  manifest.facts.frozen.clear();
  std::string text = Replaced(WriteManifest(manifest), "\"version\": 3,", "\"version\": 1,");
  text = Sealed(Replaced(text, "\"frozen\": [],\n", ""));
  const absl::StatusOr<Manifest> read = ParseManifest("m.json", text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, manifest);
  // And of version 2 it has to say which.
  EXPECT_TRUE(absl::IsDataLoss(
      StatusOf(Sealed(Replaced(WriteManifest(manifest), "\"frozen\": [],\n", "")))));
}

// A run of version 2 knew neither epochs nor new schedules, and did not count what it trained.
TEST(Manifest, OfVersion2HasWhatWasThere) {
  Manifest manifest = SmallManifest();
  std::string text = Replaced(WriteManifest(manifest), "\"version\": 3,", "\"version\": 2,");
  for (const char* added :
       {"\"epochs\": 0, ", "\"schedule_start\": 0, ", ", \"trained_tokens\": 0"}) {
    text = Replaced(text, added, "");
  }
  const absl::StatusOr<Manifest> read = ParseManifest("m.json", Sealed(text));
  ASSERT_TRUE(read.ok()) << read.status();
  manifest.facts.counters.trained_tokens.reset();
  EXPECT_EQ(*read, manifest);
  // It goes on without the number, since nobody knows it.
  EXPECT_EQ(*ParseManifest("m.json", WriteManifest(*read)), manifest);
}

TEST(Manifest, AFrozenTensorThatStandsTwiceIsRefused) {
  Manifest manifest = SmallManifest();
  manifest.facts.frozen[1].name = manifest.facts.frozen[0].name;
  EXPECT_TRUE(absl::IsDataLoss(StatusOf(WriteManifest(manifest))));
}

TEST(Manifest, OfANewerVersionIsRefusedWithoutBeingCalledDamaged) {
  const std::string text = Sealed(
      Replaced(WriteManifest(SmallManifest()), "\"version\": 3,", "\"version\": 4, \"x\": 1,"));
  const absl::Status status = StatusOf(text);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("written by a newer horizon"));
  for (const char* version : {"0", "-1", "1.0", "\"1\"", "null"}) {
    EXPECT_TRUE(
        absl::IsDataLoss(StatusOf(Sealed(Replaced(WriteManifest(SmallManifest()), "\"version\": 3,",
                                                  StrCat("\"version\": ", version, ","))))))
        << version;
  }
}

TEST(Manifest, ImpossibleRecordsAreRefusedByName) {
  struct Case {
    std::function<void(Manifest&)> change;
    std::string message;
  };
  const Case cases[] = {
      {[](Manifest& m) { m.tensors[1].file = 2; }, "there is no file 2"},
      {[](Manifest& m) { m.tensors[1].bytes = 18_B; }, "do not take 18 bytes"},
      {[](Manifest& m) { m.tensors[1].shape = {9}; }, "do not take 20 bytes"},
      {[](Manifest& m) { m.tensors[1].dtype = Dtype::kF32; }, "do not take 20 bytes"},
      {[](Manifest& m) { m.tensors[1].offset = 131; }, "not in the data of 'model.safetensors'"},
      {[](Manifest& m) { m.tensors[0].offset = 99; }, "not in the data"},
      {[](Manifest& m) { m.tensors[0].step = 11; }, "of step 11 in a checkpoint of step 12"},
      {[](Manifest& m) { m.tensors[1].name = m.tensors[0].name; }, "stands twice"},
      {[](Manifest& m) { m.files[1].name = m.files[0].name; }, "stands twice"},
      {[](Manifest& m) { m.files[1].name = "a/../config.json"; }, "leads to another folder"},
      {[](Manifest& m) { m.files[1].name = "manifest.json"; }, "the manifest's"},
      {[](Manifest& m) { m.files[1].head_bytes = 10_B; }, "longer than the file"},
      {[](Manifest& m) { m.step = -1; }, "step"},
      {[](Manifest& m) { m.facts.data_position.index = -1; }, "data.index"},
      {[](Manifest& m) { m.facts.metrics_lines = -1; }, "metrics_lines"},
      {[](Manifest& m) { m.facts.job.sequence = 0; }, "sequence"},
      {[](Manifest& m) { m.facts.plan.buffer_depth = -3; }, "buffer_depth"},
  };
  for (const Case& c : cases) {
    Manifest manifest = SmallManifest();
    c.change(manifest);
    const absl::Status status = StatusOf(WriteManifest(manifest));
    EXPECT_TRUE(absl::IsDataLoss(status)) << c.message;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("m.json"), HasSubstr(c.message)));
  }
}

TEST(Manifest, TextThatIsNoManifestIsRefusedThoughItsCrcIsRight) {
  const std::string text = WriteManifest(SmallManifest());
  const std::pair<const char*, const char*> changes[] = {
      {"\"step\": 12", "\"step\": \"12\""},
      {"\"step\": 12", "\"step\": 12.5"},
      {"\"step\": 12,", ""},
      {"\"step\": 12,", "\"step\": 12, \"step\": 12,"},
      {"\"step\": 12,", "\"step\": 12, \"other\": 1,"},
      {"\"mode\": \"full\"", "\"mode\": \"half\""},
      {"\"files\": [", "\"files\": 3, \"x\": ["},
      {"\"generator_key\": 7", "\"generator_key\": 1e300"},
      {"e3069283", "e306928"},
      {"e3069283", "e306928g"},
      {"e3069283", "-3069283"},
      {"\"BF16\"", "\"bf16\""},
      {"\"BF16\"", "16"},
      {"\"hi\"", "\"high\""},
      {"[3,5]", "[3,-5]"},
      {"[3,5]", "[3,5.0]"},
      {"[3,5]", "15"},
      {"[3,5]", "[4294967296,4294967296,4294967296]"},
      {"\"tensors\": [", "\"tensors\": [[],"},
      {"\"tensors\": [", "\"tensors\": [3,"},
      {"{\n", "[\n"},
  };
  for (const auto& [from, to] : changes) {
    std::string changed = text;
    size_t at = changed.find(from);
    if (at == changed.npos) {  // the writer may put spaces between the elements
      std::string spaced;
      for (const char* c = from; *c != '\0'; ++c) spaced += *c == ',' ? ", " : std::string(1, *c);
      at = changed.find(spaced);
      ASSERT_NE(at, changed.npos) << from;
      changed.replace(at, spaced.size(), to);
    } else {
      changed.replace(at, std::string_view(from).size(), to);
    }
    EXPECT_TRUE(absl::IsDataLoss(StatusOf(Sealed(changed)))) << from << " -> " << to;
  }
  EXPECT_TRUE(absl::IsDataLoss(StatusOf(Sealed(""))));
  EXPECT_TRUE(absl::IsDataLoss(StatusOf(Sealed("{"))));
  EXPECT_TRUE(absl::IsDataLoss(StatusOf(Sealed("{\"version\": 1, "))));
}

}  // namespace
}  // namespace horizon
