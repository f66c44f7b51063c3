#include "model/files/stored_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "model/files/match_tensors.h"
#include "model/stages.h"
#include "tests/model/model_specs.h"
#include "tests/model/quantized_folder.h"
#include "tests/model/recording_io.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Quantization kMxfp4{.method = QuantMethod::kMxfp4};

Quantization Fp8(int64_t rows, int64_t columns) {
  return {.method = QuantMethod::kFp8, .block_rows = rows, .block_columns = columns};
}

// Experts of 64 x 96 and 32 x 96; rows of gate and up are no multiple of the tile that is
// dequantised at once.
constexpr char kGptOss[] = R"({"model_type": "gpt_oss", "hidden_size": 96, "head_dim": 8,
    "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 32, "vocab_size": 11,
    "num_hidden_layers": 2, "num_local_experts": 3, "num_experts_per_tok": 2,
    "layer_types": ["full_attention", "full_attention"]})";
constexpr char kQwen3Moe[] = R"({"model_type": "qwen3_moe", "hidden_size": 20, "head_dim": 6,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24, "vocab_size": 11,
    "moe_intermediate_size": 7, "num_hidden_layers": 2, "num_experts": 3, "num_experts_per_tok": 2,
    "mlp_only_layers": [0]})";
constexpr char kPhi3[] = R"({"model_type": "phi3", "hidden_size": 12, "num_attention_heads": 3,
    "num_key_value_heads": 1, "intermediate_size": 7, "vocab_size": 11, "num_hidden_layers": 1,
    "pad_token_id": 0})";

class StoredValuesTest : public testing::Test {
 protected:
  // Writes the folder and opens it; a failure fails the test.
  void Open(const TestFolder& content, Io* io = nullptr) {
    folder_ = MakeTestFolder(*io_);
    WriteTestFolder(*io_, folder_, content);
    const absl::StatusOr<ModelConfig> config = ReadConfigText(content.config_text);
    ASSERT_TRUE(config.ok()) << config.status();
    stages_ = ListStages(config->spec);
    absl::StatusOr<ModelFiles> files = ModelFiles::Open(io == nullptr ? *io_ : *io, folder_);
    ASSERT_TRUE(files.ok()) << files.status();
    files_ = std::make_unique<ModelFiles>(*std::move(files));
    absl::StatusOr<MatchedTensors> matched =
        MatchTensors(config->spec, stages_, *files_, {.quantization = config->quantization});
    ASSERT_TRUE(matched.ok()) << matched.status();
    matched_ = *std::move(matched);
    values_ = std::make_unique<StoredValues>(*files_);
  }

  size_t Position(std::string_view name) const {
    for (size_t i = 0; i < matched_.tensors.size(); ++i) {
      if (matched_.tensors[i].name == name) return i;
    }
    ADD_FAILURE() << name;
    return 0;
  }

  // All values of a tensor on disk, from those of its parts.
  static std::vector<float> ValuesOf(const TestFolder& content, const DiskTensor& tensor) {
    std::vector<float> values;
    for (const DiskPart& part : tensor.parts) {
      const std::vector<float>& more = content.values.at(part.tensor->name);
      values.insert(values.end(), more.begin(), more.end());
    }
    return values;
  }

  void ExpectValues(const TestFolder& content) {
    for (size_t i = 0; i < matched_.tensors.size(); ++i) {
      const std::vector<float> wanted = ValuesOf(content, matched_.tensors[i]);
      for (const uint64_t piece : {uint64_t{13}, uint64_t{700}, uint64_t{wanted.size()}}) {
        std::vector<float> got(wanted.size(), 77.0F);
        for (uint64_t first = 0; first < got.size(); first += piece) {
          const uint64_t count = std::min<uint64_t>(piece, got.size() - first);
          ASSERT_EQ(values_->Read(matched_.stored[i], first, std::span(got).subspan(first, count)),
                    absl::OkStatus());
        }
        ASSERT_EQ(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(float)), 0)
            << matched_.tensors[i].name << " in pieces of " << piece;
      }
    }
  }

  absl::Status ReadAll(std::string_view name) {
    const size_t i = Position(name);
    uint64_t elements = 0;
    for (const DiskPart& part : matched_.tensors[i].parts) elements += part.tensor->parameters;
    std::vector<float> values(elements);
    return values_->Read(matched_.stored[i], 0, values);
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_;
  std::vector<Stage> stages_;
  std::unique_ptr<ModelFiles> files_;
  MatchedTensors matched_;
  std::unique_ptr<StoredValues> values_;
};

TEST_F(StoredValuesTest, Mxfp4IsDequantisedRangeByRange) {
  const TestFolder content = MakeTestFolderOf(kGptOss, {.quantization = kMxfp4});
  Open(content);
  ExpectValues(content);
  const StoredTensor& down = matched_.stored[Position("model.layers.1.mlp.experts.down_proj")];
  EXPECT_EQ(down.format, StoredFormat::kMxfp4);
  EXPECT_EQ(down.FormatName(), "MXFP4");
  EXPECT_EQ(down.bytes(), 3_B * 96 * 17);
}

TEST_F(StoredValuesTest, Fp8IsDequantisedInBlocksOfAnySize) {
  for (const std::string config : {kQwen3Moe, kPhi3}) {
    for (const Quantization blocks : {Fp8(128, 128), Fp8(4, 5), Fp8(3, 8), Fp8(1, 1), Fp8(7, 20)}) {
      for (const Dtype scales : {Dtype::kF32, Dtype::kBF16}) {
        const TestFolder content =
            MakeTestFolderOf(config, {.quantization = blocks, .scale_dtype = scales});
        Open(content);
        ExpectValues(content);
      }
    }
  }
  EXPECT_EQ(matched_.stored[Position("model.layers.0.mlp.down_proj.weight")].FormatName(),
            "FP8 7x20");
}

TEST_F(StoredValuesTest, FusedExpertsAreReadPlainAndAsFp8) {
  for (const Quantization& quantization : {Quantization{}, Fp8(4, 5), Fp8(128, 128)}) {
    const TestFolder content = MakeTestFolderOf(
        kQwen3Moe, {.quantization = quantization, .experts = ExpertLayout::kFused});
    Open(content);
    EXPECT_EQ(matched_.experts, ExpertLayout::kFused);
    EXPECT_EQ(matched_.tensors[Position("model.layers.1.mlp.experts.gate_up_proj")].shape,
              (std::vector<int64_t>{3, 14, 20}));
    ExpectValues(content);
  }
}

// The packed matrix of an expert is read once for all ranges of it, and once more when another
// tensor was read meanwhile.
TEST_F(StoredValuesTest, AnExpertInMxfp4IsReadOnce) {
  RecordingIo recording(*io_);
  Open(MakeTestFolderOf(kGptOss, {.quantization = kMxfp4}), &recording);
  const StoredTensor& gate_up =
      matched_.stored[Position("model.layers.0.mlp.experts.gate_up_proj")];
  const StoredTensor& down = matched_.stored[Position("model.layers.0.mlp.experts.down_proj")];
  const auto read = [&](const StoredTensor& tensor, uint64_t first, uint64_t count) {
    recording.transfers.clear();
    std::vector<float> values(count);
    EXPECT_EQ(values_->Read(tensor, first, values), absl::OkStatus());
    return recording.transfers.size();
  };
  EXPECT_EQ(read(gate_up, 0, 100), 2u);
  EXPECT_EQ(read(gate_up, 100, 6044), 0u);
  EXPECT_EQ(read(gate_up, 6143, 2), 2u);  // the last of the first expert is still there
  EXPECT_EQ(read(down, 0, 1), 2u);
  EXPECT_EQ(read(gate_up, 6144, 1), 2u);
}

TEST_F(StoredValuesTest, AScaleThatIsNoneIsNamedWithItsPlace) {
  {
    TestFolder content = MakeTestFolderOf(kGptOss, {.quantization = kMxfp4});
    const std::string name = "model.layers.1.mlp.experts.gate_up_proj_scales";
    // Expert 2, row 5, block 1 of 3.
    content.Tensor(name).bytes[2 * 64 * 3 + 5 * 3 + 1] = std::byte{255};
    Open(content);
    EXPECT_EQ(ReadAll("model.layers.0.mlp.experts.gate_up_proj"), absl::OkStatus());
    const absl::Status status = ReadAll("model.layers.1.mlp.experts.gate_up_proj");
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(folder_), HasSubstr(name), HasSubstr("expert 2"),
                      HasSubstr("block 1 in row 5"), HasSubstr("255")));
    // What was refused is not taken for read.
    EXPECT_EQ(ReadAll("model.layers.1.mlp.experts.gate_up_proj"), status);
  }
  const std::string weight = "model.layers.1.mlp.experts.gate_up_proj";
  for (const float bad :
       {-1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    TestFolder content =
        MakeTestFolderOf(kQwen3Moe, {.quantization = Fp8(4, 5), .experts = ExpertLayout::kFused});
    // [3, 4, 4]: expert 1, row 3, column 2.
    std::memcpy(content.Tensor(weight + "_scale_inv").bytes.data() + size_t{4} * (16 + 3 * 4 + 2),
                &bad, 4);
    Open(content);
    const absl::Status status = ReadAll(weight);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(folder_), HasSubstr(weight + "_scale_inv"), HasSubstr("expert 1"),
                      HasSubstr("row 3 and column 2"), HasSubstr(StrCat(" is ", bad))));
  }
}

TEST_F(StoredValuesTest, EveryFailedReadIsAnErrorAndNeverOtherValues) {
  for (const std::string config : {kGptOss, kQwen3Moe}) {
    const Quantization quantization = config == kGptOss ? kMxfp4 : Fp8(4, 5);
    const TestFolder content = MakeTestFolderOf(config, {.quantization = quantization});
    Open(content);
    const std::vector<DiskTensor> tensors = matched_.tensors;
    const auto run = [&](FaultingIo& io) {
      const absl::StatusOr<ModelFiles> files = ModelFiles::Open(io, folder_);
      if (!files.ok()) return;
      const absl::StatusOr<MatchedTensors> matched =
          MatchTensors(ReadConfigText(content.config_text)->spec, stages_, *files,
                       {.quantization = quantization});
      ASSERT_TRUE(matched.ok()) << matched.status();
      StoredValues values(*files);
      absl::Status status;
      for (size_t i = 0; i < tensors.size() && status.ok(); ++i) {
        const std::vector<float> wanted = ValuesOf(content, tensors[i]);
        // Twice, so that what an error left behind would be used.
        for (int repeat = 0; repeat < 2; ++repeat) {
          std::vector<float> got(wanted.size());
          const absl::Status read = values.Read(matched->stored[i], 0, got);
          ASSERT_TRUE(!read.ok() || got == wanted) << tensors[i].name;
          if (status.ok()) status = read;
        }
      }
      EXPECT_EQ(status.ok(), !io.reached()) << status;
    };
    for (const auto kind : {FaultPlan::Kind::kFail, FaultPlan::Kind::kShort}) {
      EXPECT_GT(ForEachFault(*io_, {.kind = kind}, run), 10u);
    }
  }
}

TEST_F(StoredValuesTest, ALargeFp8RangeIsReadInPiecesOfAMebibyte) {
  RecordingIo recording(*io_);
  const std::string config = R"({"model_type": "llama", "hidden_size": 16,
      "num_attention_heads": 2, "intermediate_size": 80001, "vocab_size": 5,
      "num_hidden_layers": 1})";
  const TestFolder content = MakeTestFolderOf(config, {.quantization = Fp8(128, 128)});
  Open(content, &recording);
  recording.transfers.clear();
  const size_t i = Position("model.layers.0.mlp.up_proj.weight");
  const std::vector<float> wanted = ValuesOf(content, matched_.tensors[i]);
  std::vector<float> got(wanted.size() - 5);
  ASSERT_EQ(values_->Read(matched_.stored[i], 3, got), absl::OkStatus());
  EXPECT_TRUE(std::equal(got.begin(), got.end(), wanted.begin() + 3));
  EXPECT_EQ(recording.transfers.size(), 4u);  // codes and scales, twice
  for (const Transfer& transfer : recording.transfers) EXPECT_LE(transfer.bytes, 1u << 20);
}

}  // namespace
}  // namespace horizon
