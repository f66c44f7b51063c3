// K7: a checkpoint of every version that was released is read for ever.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/files/io.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "tests/model/test_files.h"
#include "tests/runtime/checkpoint/golden_state.h"

namespace horizon {
namespace {

TEST(GoldenCheckpoint, OfVersion1IsReadToTheLastByte) {
  const std::unique_ptr<Io> io = MakePosixIo();
  // Bazel gives test data as links, which a run folder may not hold.
  const std::string source = "tests/runtime/checkpoint/golden/version_1/step-00000007";
  const std::string folder = JoinPath(MakeTestFolder(*io), "step-00000007");
  ASSERT_TRUE(io->MakeDirectory(folder).ok());
  const std::vector<std::string> names = *io->List(source);
  ASSERT_EQ(names.size(), 5u);
  for (const std::string& name : names) {
    WriteBytes(*io, JoinPath(folder, name), ReadBytes(*io, JoinPath(source, name)));
  }

  const absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(*io, folder);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  const Manifest& manifest = checkpoint->manifest();
  EXPECT_EQ(manifest.step, kGoldenStep);
  EXPECT_EQ(manifest.mode, SaveMode::kFull);
  CheckpointFacts facts = GoldenFacts();
  facts.counters.trained_tokens.reset();  // nobody counted them then
  EXPECT_EQ(manifest.facts, facts);
  EXPECT_EQ(*checkpoint->ReadText("config.json"), kGoldenConfig);

  const StatePart parts[] = {StatePart::kHi,          StatePart::kLo,
                             StatePart::kFirstMoment, StatePart::kSecondMoment,
                             StatePart::kFirstScale,  StatePart::kSecondScale};
  ASSERT_EQ(manifest.tensors.size(), 12u);
  for (size_t i = 0; i < manifest.tensors.size(); ++i) {
    EXPECT_EQ(manifest.tensors[i].name, GoldenTensors()[i / 6].name);
    EXPECT_EQ(manifest.tensors[i].part, parts[i % 6]);
    size_t count = 0;
    const auto compare = [&](const TensorRecord&, uint64_t offset,
                             std::span<const std::byte> bytes) {
      for (size_t at = 0; at < bytes.size(); ++at, ++count) {
        EXPECT_EQ(bytes[at], GoldenByte(i, offset + at)) << i << " " << at;
      }
      return absl::OkStatus();
    };
    const absl::Status read = checkpoint->ReadTensor(i, compare);
    EXPECT_TRUE(read.ok()) << read;
    EXPECT_EQ(Bytes(count), manifest.tensors[i].bytes);
  }
  // 15 + 3 parameters of 6 bytes, and a block of moments each.
  uint64_t payload = 0;
  for (const TensorRecord& tensor : manifest.tensors) payload += tensor.bytes.value();
  EXPECT_EQ(payload, 18u * 6 + 2 * 8);
}

}  // namespace
}  // namespace horizon
