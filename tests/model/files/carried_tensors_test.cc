#include "model/files/carried_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "model/files/safetensors_writer.h"
#include "model/files/tensor_entry.h"
#include "model/stages.h"
#include "tests/model/model_specs.h"
#include "tests/model/recording_io.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

unsigned SeedOf(const std::string& name) {
  unsigned seed = 7;
  for (const char letter : name) seed = seed * 31 + static_cast<unsigned char>(letter);
  return seed;
}

std::vector<std::byte> BytesOf(const TensorDeclaration& tensor) {
  return PatternBytes((*TensorBytes(tensor.dtype, tensor.shape)).value(), SeedOf(tensor.name));
}

absl::Status ReadPattern(const TensorDeclaration& tensor, uint64_t offset,
                         std::span<std::byte> into) {
  const std::vector<std::byte> all = BytesOf(tensor);
  std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
  return absl::OkStatus();
}

class CarriedTensorsTest : public testing::Test {
 protected:
  CarriedTensorsTest() {
    const absl::StatusOr<ModelConfig> config =
        ReadConfigText(R"({"model_type": "gemma3", "text_config":
            {"model_type": "gemma3_text", "hidden_size": 8, "num_attention_heads": 2,
             "head_dim": 4, "num_key_value_heads": 1, "intermediate_size": 6, "vocab_size": 10,
             "num_hidden_layers": 1, "sliding_window": 4}})");
    EXPECT_TRUE(config.ok()) << config.status();
    spec_ = config->spec;
    // Sorted by name. 3 MB, so that there are several pieces.
    others_ = {{"multi_modal_projector.scale", Dtype::kF64, {}},
               {"vision_tower.large", Dtype::kF16, {1500, 1001}},
               {"vision_tower.mask", Dtype::kBool, {3, 3}},
               {"vision_tower.none", Dtype::kF32, {0, 4}},
               {"vision_tower.positions", Dtype::kI64, {5}},
               {"vision_tower.small_float", Dtype::kF8E4M3, {7}}};
  }

  void WriteFolder(DiskNaming naming, Bytes max_shard = 1_GiB) {
    std::vector<TensorDeclaration> tensors;
    const std::vector<Stage> stages = ListStages(spec_);
    for (const DiskTensor& tensor : ListDiskTensors(stages, naming)) {
      tensors.push_back({tensor.name, Dtype::kBF16, tensor.shape});
    }
    tensors.insert(tensors.begin() + 3, others_.begin(), others_.end());
    tensors.push_back({DiskName("model.rotary_emb.inv_freq", naming), Dtype::kF32, {2}});
    ASSERT_TRUE(io_->MakeDirectory(Path("model")).ok());
    const absl::Status written =
        WriteModelFolder(*io_, Path("model"), tensors, ReadPattern, {.max_shard = max_shard});
    ASSERT_TRUE(written.ok()) << written;
  }

  void ExpectOthers(const absl::StatusOr<CarriedTensors>& carried, DiskNaming naming) {
    ASSERT_TRUE(carried.ok()) << carried.status();
    EXPECT_EQ(carried->naming, naming);
    ASSERT_EQ(carried->tensors.size(), others_.size());
    uint64_t total = 0;
    for (const TensorDeclaration& wanted : others_) {
      const auto found =
          std::find_if(carried->tensors.begin(), carried->tensors.end(),
                       [&](const TensorDeclaration& tensor) { return tensor.name == wanted.name; });
      ASSERT_NE(found, carried->tensors.end()) << wanted.name;
      EXPECT_EQ(found->dtype, wanted.dtype);
      EXPECT_EQ(found->shape, wanted.shape);
      std::vector<std::byte> bytes(BytesOf(wanted).size());
      total += bytes.size();
      ASSERT_EQ(carried->read(*found, 0, bytes), absl::OkStatus());
      EXPECT_EQ(bytes, BytesOf(wanted)) << wanted.name;
    }
    EXPECT_EQ(carried->bytes().value(), total);
  }

  std::string Path(const std::string& name) const { return JoinPath(folder_, name); }
  std::vector<std::string> Files() { return *io_->List(folder_); }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
  ModelSpec spec_;
  std::vector<TensorDeclaration> others_;
};

TEST_F(CarriedTensorsTest, AreThoseOfAFolderThatAreNotOfTheTextPart) {
  WriteFolder(DiskNaming::kLanguageModel);
  ExpectOthers(OpenCarriedTensors(*io_, Path("model"), spec_), DiskNaming::kLanguageModel);
}

TEST_F(CarriedTensorsTest, AreFoundInShardsAndUnderTheOtherNames) {
  for (TensorDeclaration& tensor : others_) tensor.name = "model." + tensor.name;
  WriteFolder(DiskNaming::kNested, 1_KiB);
  ExpectOthers(OpenCarriedTensors(*io_, Path("model"), spec_), DiskNaming::kNested);
}

TEST_F(CarriedTensorsTest, AreKeptInAFileByteForByte) {
  WriteFolder(DiskNaming::kLanguageModel);
  const absl::StatusOr<CarriedTensors> carried = OpenCarriedTensors(*io_, Path("model"), spec_);
  ASSERT_TRUE(carried.ok()) << carried.status();
  RecordingIo recording(*io_);
  ASSERT_EQ(SaveCarriedTensors(recording, Path("kept"), *carried), absl::OkStatus());
  for (const Transfer& transfer : recording.transfers) EXPECT_LE(transfer.bytes, 1u << 20);
  EXPECT_THAT(Files(), ElementsAre("kept", "model"));
  ExpectOthers(LoadCarriedTensors(*io_, Path("kept")), DiskNaming::kLanguageModel);
  // Over an older one, and beside what a killed process left.
  WriteBytes(*io_, Path("kept.tmp"), "half");
  ASSERT_EQ(SaveCarriedTensors(*io_, Path("kept"), *carried), absl::OkStatus());
  EXPECT_THAT(Files(), ElementsAre("kept", "model"));
  ExpectOthers(LoadCarriedTensors(*io_, Path("kept")), DiskNaming::kLanguageModel);
}

TEST_F(CarriedTensorsTest, MayBeNoneAtAllAndStillSayHowTheTextPartIsNamed) {
  others_.clear();
  WriteFolder(DiskNaming::kNested);
  const absl::StatusOr<CarriedTensors> carried = OpenCarriedTensors(*io_, Path("model"), spec_);
  ASSERT_TRUE(carried.ok()) << carried.status();
  ASSERT_EQ(SaveCarriedTensors(*io_, Path("kept"), *carried), absl::OkStatus());
  ExpectOthers(LoadCarriedTensors(*io_, Path("kept")), DiskNaming::kNested);
}

TEST_F(CarriedTensorsTest, AFailedCallLeavesNothingBehind) {
  WriteFolder(DiskNaming::kLanguageModel);
  for (const auto kind : {FaultPlan::Kind::kFail, FaultPlan::Kind::kShort}) {
    for (uint64_t call = 1;; ++call) {
      FaultingIo io(*io_, {.kind = kind, .at_call = call});
      const absl::StatusOr<CarriedTensors> carried = OpenCarriedTensors(io, Path("model"), spec_);
      const absl::Status status =
          carried.ok() ? SaveCarriedTensors(io, Path("kept"), *carried) : carried.status();
      if (!io.reached()) {
        ASSERT_EQ(status, absl::OkStatus());
        EXPECT_GT(call, 15u);
        break;
      }
      ASSERT_FALSE(status.ok()) << io.history()[call - 1];
      ASSERT_FALSE(FileExists(*io_, Path("kept.tmp"))) << io.history()[call - 1];
      // The name may be there when only the sync of the folder failed; then all of it is.
      if (!FileExists(*io_, Path("kept"))) continue;
      EXPECT_THAT(io.history()[call - 1], HasSubstr("SyncDirectory"));
      ExpectOthers(LoadCarriedTensors(*io_, Path("kept")), DiskNaming::kLanguageModel);
      ASSERT_TRUE(io_->Unlink(Path("kept")).ok());
    }
    ExpectOthers(LoadCarriedTensors(*io_, Path("kept")), DiskNaming::kLanguageModel);
    ASSERT_TRUE(io_->Unlink(Path("kept")).ok());
  }
}

class SmallDisk : public RecordingIo {
 public:
  using RecordingIo::RecordingIo;
  absl::StatusOr<Bytes> FreeSpace(const std::string&) override { return free; }
  Bytes free;
};

TEST_F(CarriedTensorsTest, ADiskThatIsTooSmallIsNamedFirst) {
  WriteFolder(DiskNaming::kLanguageModel);
  const absl::StatusOr<CarriedTensors> carried = OpenCarriedTensors(*io_, Path("model"), spec_);
  ASSERT_TRUE(carried.ok());
  SmallDisk disk(*io_);
  disk.free = Bytes(CheckedU64(carried->bytes().value() - 1));
  const absl::Status status = SaveCarriedTensors(disk, Path("kept"), *carried);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("kept"));
  EXPECT_TRUE(disk.transfers.empty());
  disk.free = carried->bytes();
  EXPECT_EQ(SaveCarriedTensors(disk, Path("kept"), *carried), absl::OkStatus());
}

TEST_F(CarriedTensorsTest, AFileThatIsNotOursIsRefused) {
  const auto error_of = [&](const SafetensorsMetadata& metadata, const std::string& name) {
    const std::string path = Path("other");
    io_->Unlink(path).IgnoreError();
    SafetensorsWriterOptions options;
    options.metadata = metadata;
    const auto writer = SafetensorsWriter::Create(*io_, path, {{name, Dtype::kU8, {1}}}, options);
    EXPECT_TRUE(writer.ok()) << writer.status();
    EXPECT_TRUE((*writer)->Append(name, std::vector<std::byte>(1)).ok());
    EXPECT_TRUE((*writer)->Finish().ok());
    const absl::Status status = LoadCarriedTensors(*io_, path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
    return std::string(status.message());
  };
  EXPECT_THAT(error_of({}, "vision_tower.x"), HasSubstr("text_part_naming"));
  EXPECT_THAT(error_of({{"text_part_naming", "plain"}}, "vision_tower.x"), HasSubstr("\"plain\""));
  EXPECT_THAT(error_of({{"text_part_naming", "nested"}}, "model.language_model.x"),
              HasSubstr("\"model.language_model.x\""));
  WriteBytes(*io_, Path("short"), "1234567");
  EXPECT_EQ(LoadCarriedTensors(*io_, Path("short")).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(LoadCarriedTensors(*io_, Path("none")).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CarriedTensorsTest, AFileThatHasBecomeShorterIsAnErrorOfReading) {
  WriteFolder(DiskNaming::kLanguageModel);
  const absl::StatusOr<CarriedTensors> carried = OpenCarriedTensors(*io_, Path("model"), spec_);
  ASSERT_TRUE(carried.ok());
  const std::string path = Path("model/model.safetensors");
  WriteBytes(*io_, path, ReadBytes(*io_, path).substr(0, 20'000));
  const absl::Status status = SaveCarriedTensors(*io_, Path("kept"), *carried);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(Files(), ElementsAre("model"));
}

}  // namespace
}  // namespace horizon
