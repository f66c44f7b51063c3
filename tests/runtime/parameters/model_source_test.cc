#include "runtime/parameters/model_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "model/files/convert.h"
#include "model/files/disk_tensors.h"
#include "model/files/model_folder_writer.h"
#include "model/load_model_spec.h"
#include "model/stages.h"
#include "tests/model/model_specs.h"
#include "tests/model/quantized_folder.h"
#include "tests/model/recording_io.h"
#include "tests/model/test_files.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<TensorSpec> TensorsOf(const ModelSpec& spec) {
  std::vector<TensorSpec> tensors;
  for (const Stage& stage : ListStages(spec)) {
    tensors.insert(tensors.end(), stage.tensors.begin(), stage.tensors.end());
  }
  return tensors;
}

std::vector<uint32_t> BitsOfValues(std::span<const float> values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

// A value that differs from place to place and that F16 and BF16 hold exactly.
float Exact(const std::string& name, uint64_t element) {
  const auto number = static_cast<int>((element * 37 + name.size() * 11 + element / 1000) % 255);
  return static_cast<float>(number - 127) / 64.0f;
}

class ModelSource : public ::testing::Test {
 protected:
  ModelSource() : io_(MakePosixIo()), folder_(MakeTestFolder(*io_)) {
    const absl::StatusOr<ModelConfig> config = LoadModelSpec(*io_, "tests/goldens/llama");
    EXPECT_TRUE(config.ok()) << config.status();
    spec_ = config->spec;
  }

  struct Folder {
    Dtype dtype = Dtype::kF32;
    // Changes a value on its way into the files.
    std::function<float(const std::string& name, uint64_t element)> value = Exact;
    std::function<void(std::vector<TensorDeclaration>&)> change = [](auto&) {};
    Bytes max_shard = 1_GiB;
    DiskNaming naming = DiskNaming::kPlain;
  };
  void Write(const Folder& what) {
    std::vector<TensorDeclaration> tensors;
    const std::vector<Stage> stages = ListStages(spec_);
    for (const DiskTensor& tensor : ListDiskTensors(stages, what.naming)) {
      tensors.push_back({.name = tensor.name, .dtype = what.dtype, .shape = tensor.shape});
    }
    what.change(tensors);
    const absl::Status written = WriteModelFolder(
        *io_, folder_, tensors,
        [&](const TensorDeclaration& tensor, uint64_t offset, std::span<std::byte> into) {
          const uint64_t width = BitsOf(tensor.dtype) / 8;
          std::vector<float> values(into.size() / width);
          for (size_t i = 0; i < values.size(); ++i) {
            values[i] = what.value(tensor.name, offset / width + i);
          }
          return ConvertFromFloat(values, IsModelDtype(tensor.dtype) ? tensor.dtype : Dtype::kF32,
                                  into);
        },
        {.max_shard = what.max_shard});
    ASSERT_TRUE(written.ok()) << written;
  }

  absl::StatusOr<ParameterStore::Source> Open() { return OpenModelSource(*io_, folder_, spec_); }

  // The error of reading everything into a store.
  absl::Status FillStore(const ParameterStore::Source& source) {
    TrainingJob job;
    job.sequence = 8;
    return RunTrainingCase({.spec = spec_, .job = job, .plan = {}, .source = source, .steps = 0})
        .status();
  }

  std::unique_ptr<Io> io_;
  std::string folder_;
  ModelSpec spec_;
};

TEST_F(ModelSource, EveryGoldenFolderGivesItsValuesWhateverRangesAreAsked) {
  for (const std::string family :
       {"llama", "qwen2", "qwen3", "mistral_window", "mixtral", "qwen3_moe", "gpt_oss", "gemma3",
        "olmo2", "phi3", "gemma3_wrapper", "mistral3_wrapper"}) {
    const Golden golden = LoadGolden(family);
    const absl::StatusOr<ParameterStore::Source> source =
        OpenModelSource(*io_, StrCat("tests/goldens/", family), golden.spec);
    ASSERT_TRUE(source.ok()) << source.status();
    for (const TensorSpec& tensor : TensorsOf(golden.spec)) {
      const std::vector<float>& wanted = golden.tensors.at(tensor.name);
      for (const uint64_t piece : {uint64_t{1009}, tensor.parameters}) {
        std::vector<float> got(wanted.size());
        for (uint64_t first = 0; first < got.size(); first += piece) {
          const auto part =
              std::span(got).subspan(first, std::min<uint64_t>(piece, got.size() - first));
          ASSERT_EQ((*source)(tensor, first, part), absl::OkStatus());
        }
        ASSERT_EQ(BitsOfValues(got), BitsOfValues(wanted)) << tensor.name;
      }
      EXPECT_EQ((*source)(tensor, 0, {}), absl::OkStatus());
    }
  }
}

TEST_F(ModelSource, AStoreFilledFromAFolderIsTheOneFilledFromMemory) {
  for (const std::string family : {"llama", "qwen2"}) {
    const Golden golden = LoadGolden(family);
    const absl::StatusOr<ParameterStore::Source> source =
        OpenModelSource(*io_, StrCat("tests/goldens/", family), golden.spec);
    ASSERT_TRUE(source.ok()) << source.status();
    const auto digest = [&](const ParameterStore::Source& from) {
      const absl::StatusOr<TrainingCaseOutcome> outcome = RunTrainingCase(
          {.spec = golden.spec, .job = golden.job, .plan = {}, .source = from, .steps = 0});
      EXPECT_TRUE(outcome.ok()) << outcome.status();
      return outcome.ok() ? outcome->digest : 0;
    };
    EXPECT_EQ(digest(*source), digest(SourceOf(golden)));
  }
}

TEST_F(ModelSource, HalfTypesInSeveralFilesBecomeTheSameValues) {
  for (const Dtype dtype : {Dtype::kF16, Dtype::kBF16, Dtype::kF32}) {
    folder_ = MakeTestFolder(*io_);
    Write({.dtype = dtype, .max_shard = 64_KiB});
    const absl::StatusOr<ParameterStore::Source> source = Open();
    ASSERT_TRUE(source.ok()) << source.status();
    for (const TensorSpec& tensor : TensorsOf(spec_)) {
      std::vector<float> got(tensor.parameters);
      ASSERT_EQ((*source)(tensor, 0, got), absl::OkStatus());
      for (uint64_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i], Exact(tensor.name, i)) << tensor.name << " " << i;
      }
    }
  }
}

TEST_F(ModelSource, TensorsMayDifferInType) {
  Write({.change = [](std::vector<TensorDeclaration>& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      tensors[i].dtype = std::vector{Dtype::kF32, Dtype::kF16, Dtype::kBF16}[i % 3];
    }
  }});
  const absl::StatusOr<ParameterStore::Source> source = Open();
  ASSERT_TRUE(source.ok()) << source.status();
  for (const TensorSpec& tensor : TensorsOf(spec_)) {
    std::vector<float> got(1);
    ASSERT_EQ((*source)(tensor, tensor.parameters - 1, got), absl::OkStatus());
    EXPECT_EQ(got[0], Exact(tensor.name, tensor.parameters - 1)) << tensor.name;
  }
}

// q has 12 rows of 12, k and v have 4 each; gate and up have 7 each.
constexpr char kOddPhi3[] = R"({"model_type": "phi3", "hidden_size": 12,
    "num_attention_heads": 3, "num_key_value_heads": 1, "intermediate_size": 7, "vocab_size": 11,
    "num_hidden_layers": 2, "pad_token_id": 0})";

TEST_F(ModelSource, PartsOfAFusedTensorAreReadFromTheirPlaces) {
  spec_ = ReadConfigText(kOddPhi3)->spec;
  const std::string prefix = "model.layers.1.";
  struct Part {
    std::string name;
    std::string whole;
    uint64_t first;
    uint64_t count;
  };
  const std::vector<Part> parts = {
      {"self_attn.q_proj.weight", "self_attn.qkv_proj.weight", 0, 144},
      {"self_attn.k_proj.weight", "self_attn.qkv_proj.weight", 144, 48},
      {"self_attn.v_proj.weight", "self_attn.qkv_proj.weight", 192, 48},
      {"mlp.gate_proj.weight", "mlp.gate_up_proj.weight", 0, 84},
      {"mlp.up_proj.weight", "mlp.gate_up_proj.weight", 84, 84},
      {"mlp.down_proj.weight", "mlp.down_proj.weight", 0, 84}};
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF16, Dtype::kBF16}) {
    folder_ = MakeTestFolder(*io_);
    Write({.dtype = dtype, .max_shard = 300_B});
    const absl::StatusOr<ParameterStore::Source> source = Open();
    ASSERT_TRUE(source.ok()) << source.status();
    size_t found = 0;
    for (const TensorSpec& tensor : TensorsOf(spec_)) {
      for (const Part& part : parts) {
        if (tensor.name != prefix + part.name) continue;
        ++found;
        ASSERT_EQ(tensor.parameters, part.count);
        for (uint64_t first = 0; first <= part.count; first += 5) {
          for (uint64_t count = 0; count <= part.count - first; count += 7) {
            std::vector<float> got(count);
            ASSERT_EQ((*source)(tensor, first, got), absl::OkStatus());
            for (uint64_t i = 0; i < count; ++i) {
              ASSERT_EQ(got[i], Exact(prefix + part.whole, part.first + first + i)) << part.name;
            }
          }
        }
      }
    }
    EXPECT_EQ(found, parts.size());
  }
}

TEST_F(ModelSource, ABadValueInAFusedTensorIsNamedAsItIsOnDisk) {
  spec_ = ReadConfigText(kOddPhi3)->spec;
  const std::string whole = "model.layers.0.self_attn.qkv_proj.weight";
  Write({.value = [&](const std::string& name, uint64_t at) {
    return name == whole && at == 200 ? kNan : Exact(name, at);
  }});
  const absl::StatusOr<ParameterStore::Source> source = Open();
  ASSERT_TRUE(source.ok()) << source.status();
  for (const TensorSpec& tensor : TensorsOf(spec_)) {
    std::vector<float> got(tensor.parameters);
    const absl::Status status = (*source)(tensor, 0, got);
    const bool is_value = tensor.name == "model.layers.0.self_attn.v_proj.weight";
    EXPECT_EQ(status.ok(), !is_value) << tensor.name;
    if (!is_value) continue;
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(StrCat("element 200 of tensor \"", whole, "\"")));
  }
}

TEST_F(ModelSource, TheTextPartOfAMultimodalModelIsReadInBothNamings) {
  spec_.wrapper = "mistral3";
  for (const DiskNaming naming : {DiskNaming::kLanguageModel, DiskNaming::kNested}) {
    folder_ = MakeTestFolder(*io_);
    Write({.dtype = Dtype::kBF16,
           .change =
               [](std::vector<TensorDeclaration>& tensors) {
                 tensors.insert(tensors.begin() + 4, {"vision_tower.patch", Dtype::kF16, {3, 5}});
               },
           .max_shard = 64_KiB,
           .naming = naming});
    const absl::StatusOr<ParameterStore::Source> source = Open();
    ASSERT_TRUE(source.ok()) << source.status();
    for (const TensorSpec& tensor : TensorsOf(spec_)) {
      const std::string on_disk =
          tensor.name == "lm_head.weight"
              ? (naming == DiskNaming::kNested ? "lm_head.weight" : "language_model.lm_head.weight")
              : (naming == DiskNaming::kNested ? "model.language_model."
                                               : "language_model.model.") +
                    tensor.name.substr(6);
      std::vector<float> got(tensor.parameters);
      ASSERT_EQ((*source)(tensor, 0, got), absl::OkStatus());
      for (uint64_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], Exact(on_disk, i)) << on_disk;
    }
  }
}

// A table of 1,280,064 values is 2.4 MiB as BF16 and 4.9 MiB as F32.
TEST_F(ModelSource, ALargeRangeIsReadInPiecesOfAMebibyte) {
  spec_.vocab = 20001;
  for (const Dtype dtype : {Dtype::kBF16, Dtype::kF32}) {
    folder_ = MakeTestFolder(*io_);
    Write({.dtype = dtype});
    RecordingIo recording(*io_);
    const absl::StatusOr<ParameterStore::Source> source =
        OpenModelSource(recording, folder_, spec_);
    ASSERT_TRUE(source.ok()) << source.status();
    const TensorSpec table = TensorsOf(spec_).front();
    ASSERT_EQ(table.parameters, 20001u * 64);
    recording.transfers.clear();
    std::vector<float> got(table.parameters - 5);
    ASSERT_EQ((*source)(table, 3, got), absl::OkStatus());
    for (uint64_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], Exact(table.name, i + 3)) << i;
    for (const Transfer& transfer : recording.transfers) EXPECT_LE(transfer.bytes, 1u << 20);
    EXPECT_EQ(recording.transfers.size(), dtype == Dtype::kBF16 ? 3u : 5u);
  }
}

TEST_F(ModelSource, AValueThatIsNotFiniteIsNamedWithFileTensorAndElement) {
  const TensorSpec tensor = TensorsOf(spec_)[5];
  for (const float value : {kNan, kInfinity, -kInfinity}) {
    const std::string text = StrCat(" is ", value, ";");
    for (const uint64_t element : {uint64_t{0}, uint64_t{17}, tensor.parameters - 1}) {
      for (const Dtype dtype : {Dtype::kF32, Dtype::kF16, Dtype::kBF16}) {
        folder_ = MakeTestFolder(*io_);
        Write({.dtype = dtype, .value = [&](const std::string& name, uint64_t at) {
                 return name == tensor.name && at == element ? value : Exact(name, at);
               }});
        const absl::StatusOr<ParameterStore::Source> source = Open();
        ASSERT_TRUE(source.ok()) << source.status();
        const absl::Status status = FillStore(*source);
        EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
        EXPECT_THAT(std::string(status.message()),
                    AllOf(HasSubstr(StrCat("'", folder_, "/model.safetensors': element ", element,
                                           " of tensor \"", tensor.name, "\"")),
                          HasSubstr(text)));
      }
    }
  }
}

TEST_F(ModelSource, TheElementIsCountedFromTheBeginOfTheTensor) {
  spec_.vocab = 20001;
  const TensorSpec table = TensorsOf(spec_).front();
  const uint64_t element = 700'001;  // in the third piece of an F32 file, of the store too
  Write({.value = [&](const std::string& name, uint64_t at) {
    return name == table.name && at == element ? kNan : Exact(name, at);
  }});
  const absl::StatusOr<ParameterStore::Source> source = Open();
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(std::string(FillStore(*source).message()), HasSubstr("element 700001 of tensor"));
  std::vector<float> got(table.parameters - 100);
  EXPECT_THAT(std::string((*source)(table, 100, got).message()),
              HasSubstr("element 700001 of tensor"));
}

TEST_F(ModelSource, WhatBf16CannotHoldIsRefusedAndTheNextBelowIsNot) {
  const TensorSpec tensor = TensorsOf(spec_)[3];
  for (const uint32_t sign : {0u, 0x80000000u}) {
    const float refused = std::bit_cast<float>(sign | 0x7F7F8000u);
    const float taken = std::bit_cast<float>(sign | 0x7F7F7FFFu);
    for (const float value : {refused, taken}) {
      folder_ = MakeTestFolder(*io_);
      Write({.value = [&](const std::string& name, uint64_t at) {
        return name == tensor.name && at == 9 ? value : Exact(name, at);
      }});
      const absl::StatusOr<ParameterStore::Source> source = Open();
      ASSERT_TRUE(source.ok()) << source.status();
      const absl::Status status = FillStore(*source);
      if (value == taken) {
        EXPECT_EQ(status, absl::OkStatus());
        continue;
      }
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr(StrCat("element 9 of tensor \"", tensor.name, "\"")),
                        HasSubstr("infinite as bf16"), HasSubstr("model.safetensors")));
    }
  }
}

TEST_F(ModelSource, ATruncatedFileIsRefusedWhenOpenedOrWhenRead) {
  Write({});
  const std::string path = JoinPath(folder_, "model.safetensors");
  const std::string whole = ReadBytes(*io_, path);
  const absl::StatusOr<ParameterStore::Source> source = Open();
  ASSERT_TRUE(source.ok()) << source.status();
  WriteBytes(*io_, path, whole.substr(0, whole.size() - 1));  // the same file, shorter now
  const absl::Status read = FillStore(*source);
  EXPECT_EQ(read.code(), absl::StatusCode::kDataLoss) << read;
  EXPECT_THAT(std::string(read.message()), HasSubstr(path));
  for (const size_t size : {whole.size() - 1, whole.size() / 2, size_t{100}, size_t{7}}) {
    WriteBytes(*io_, path, whole.substr(0, size));
    const absl::Status opened = Open().status();
    EXPECT_EQ(opened.code(), absl::StatusCode::kDataLoss) << opened;
    EXPECT_THAT(std::string(opened.message()), HasSubstr(path));
  }
}

TEST_F(ModelSource, FilesOfAnotherModelAreRefusedBeforeAnythingIsRead) {
  const std::string name = TensorsOf(spec_)[2].name;
  const auto error_with = [&](std::function<void(std::vector<TensorDeclaration>&)> change) {
    folder_ = MakeTestFolder(*io_);
    Write({.change = std::move(change)});
    return Open().status();
  };
  const absl::Status shape = error_with([&](auto& tensors) { tensors[2].shape[0] += 1; });
  EXPECT_EQ(shape.code(), absl::StatusCode::kDataLoss) << shape;
  EXPECT_THAT(std::string(shape.message()), HasSubstr(name));
  const absl::Status missing =
      error_with([&](auto& tensors) { tensors.erase(tensors.begin() + 2); });
  EXPECT_EQ(missing.code(), absl::StatusCode::kDataLoss) << missing;
  EXPECT_THAT(std::string(missing.message()), HasSubstr(name));
  const absl::Status dtype = error_with([&](auto& tensors) { tensors[2].dtype = Dtype::kI32; });
  EXPECT_EQ(dtype.code(), absl::StatusCode::kInvalidArgument) << dtype;
  EXPECT_THAT(std::string(dtype.message()), HasSubstr(name));
}

// hidden 64, 3 experts of 32.
constexpr char kGptOss[] = R"({"model_type": "gpt_oss", "hidden_size": 64, "head_dim": 8,
    "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 32, "vocab_size": 11,
    "num_hidden_layers": 2, "num_local_experts": 3, "num_experts_per_tok": 2,
    "layer_types": ["full_attention", "full_attention"]})";
constexpr char kQwen3Moe[] = R"({"model_type": "qwen3_moe", "hidden_size": 20, "head_dim": 6,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24, "vocab_size": 11,
    "moe_intermediate_size": 7, "num_hidden_layers": 2, "num_experts": 3, "num_experts_per_tok": 2,
    "mlp_only_layers": [0]})";
constexpr Quantization kMxfp4{.method = QuantMethod::kMxfp4};
constexpr Quantization kFp8{.method = QuantMethod::kFp8, .block_rows = 4, .block_columns = 5};

TEST_F(ModelSource, QuantisedAndFusedFoldersGiveTheirValuesWhateverRangesAreAsked) {
  struct Case {
    std::string config;
    TestStorage storage;
  };
  const std::vector<Case> cases = {
      {kGptOss, {.quantization = kMxfp4}},
      {kQwen3Moe, {.quantization = kFp8}},
      {kQwen3Moe, {.quantization = kFp8, .experts = ExpertLayout::kFused}},
      {kQwen3Moe, {.experts = ExpertLayout::kFused}}};
  for (const auto& [config, storage] : cases) {
    folder_ = MakeTestFolder(*io_);
    const TestFolder content = MakeTestFolderOf(config, storage);
    WriteTestFolder(*io_, folder_, content, 700_B);
    // Of the spec, nothing says how the folder is stored.
    spec_ = ReadConfigText(config)->spec;
    const absl::StatusOr<ParameterStore::Source> source = Open();
    ASSERT_TRUE(source.ok()) << source.status();
    for (const TensorSpec& tensor : TensorsOf(spec_)) {
      const std::vector<float>& wanted = content.values.at(tensor.name);
      for (const uint64_t piece : {uint64_t{61}, tensor.parameters}) {
        std::vector<float> got(wanted.size());
        for (uint64_t first = 0; first < got.size(); first += piece) {
          const auto part =
              std::span(got).subspan(first, std::min<uint64_t>(piece, got.size() - first));
          ASSERT_EQ((*source)(tensor, first, part), absl::OkStatus());
        }
        ASSERT_EQ(BitsOfValues(got), BitsOfValues(wanted)) << tensor.name;
      }
    }
  }
}

TEST_F(ModelSource, AQuantisedValueThatIsNotFiniteIsNamedWithTheExpert) {
  {
    TestFolder content = MakeTestFolderOf(kGptOss, {.quantization = kMxfp4});
    const std::string name = "model.layers.1.mlp.experts.down_proj";
    // Expert 1, output 5, inputs 0 to 31: 6 x 2^126 is no fp32.
    content.Tensor(name + "_scales").bytes[64 + 5] = std::byte{253};
    auto& blocks = content.Tensor(name + "_blocks").bytes;
    std::fill_n(blocks.begin() + std::ptrdiff_t{64 + 5} * 16, 16, std::byte{0x11});
    blocks[size_t{64 + 5} * 16 + 3] = std::byte{0xF1};  // inputs 6 and 7: 0.5 and -6
    WriteTestFolder(*io_, folder_, content);
    spec_ = ReadConfigText(kGptOss)->spec;
    const absl::StatusOr<ParameterStore::Source> source = Open();
    ASSERT_TRUE(source.ok()) << source.status();
    for (const TensorSpec& tensor : TensorsOf(spec_)) {
      std::vector<float> got(tensor.parameters);
      const absl::Status status = (*source)(tensor, 0, got);
      EXPECT_EQ(status.ok(), tensor.name != name) << tensor.name << status;
      if (tensor.name != name) continue;
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr(StrCat("model.safetensors': element ", 2048 + 7 * 64 + 5,
                                         " of tensor \"", name, "_blocks\", of expert 1, is -inf")),
                        HasSubstr("only finite weights can be trained")));
    }
  }
  folder_ = MakeTestFolder(*io_);
  TestFolder content =
      MakeTestFolderOf(kQwen3Moe, {.quantization = kFp8, .experts = ExpertLayout::kFused});
  const std::string name = "model.layers.1.mlp.experts.gate_up_proj";
  content.Tensor(name).bytes[280 + 33] = std::byte{0xFF};
  WriteTestFolder(*io_, folder_, content);
  spec_ = ReadConfigText(kQwen3Moe)->spec;
  const absl::StatusOr<ParameterStore::Source> source = Open();
  ASSERT_TRUE(source.ok()) << source.status();
  for (const TensorSpec& tensor : TensorsOf(spec_)) {
    std::vector<float> got(tensor.parameters);
    const absl::Status status = (*source)(tensor, 0, got);
    const bool is_bad = tensor.name == "model.layers.1.mlp.experts.1.gate_proj.weight";
    EXPECT_EQ(status.ok(), !is_bad) << tensor.name;
    if (!is_bad) continue;
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(StrCat("element 313 of tensor \"", name, "\", of expert 1, is ")));
  }
}

TEST_F(ModelSource, TheConfigBesideTheWeightsSaysHowTheyAreStored) {
  TestFolder content = MakeTestFolderOf(kGptOss, {.quantization = kMxfp4});
  spec_ = ReadConfigText(kGptOss)->spec;
  content.config_text = kGptOss;
  WriteTestFolder(*io_, folder_, content);
  EXPECT_THAT(std::string(Open().status().message()), HasSubstr("no quantization_config"));
  WriteBytes(*io_, JoinPath(folder_, "config.json"),
             R"({"model_type": "gpt_oss", "quantization_config": {"quant_method": "awq"}})");
  EXPECT_THAT(std::string(Open().status().message()),
              AllOf(HasSubstr(JoinPath(folder_, "config.json:1: quantization_config.quant_method")),
                    HasSubstr("\"awq\" is not supported")));
  ASSERT_TRUE(io_->Unlink(JoinPath(folder_, "config.json")).ok());
  EXPECT_THAT(std::string(Open().status().message()), HasSubstr("no quantization_config"));
}

TEST_F(ModelSource, ATensorIsFoundAsItLiesOnlyWhereItIsPlain) {
  const TestFolder content = MakeTestFolderOf(kQwen3Moe, {.quantization = kFp8});
  WriteTestFolder(*io_, folder_, content);
  spec_ = ReadConfigText(kQwen3Moe)->spec;
  const absl::StatusOr<WeightFiles> files = WeightFiles::Open(*io_, folder_, spec_);
  ASSERT_TRUE(files.ok()) << files.status();
  const std::vector<Stage> stages = ListStages(spec_);
  for (const DiskTensor& tensor : ListDiskTensors(stages, DiskNaming::kPlain)) {
    const TensorEntry* found = files->FindPlain(tensor);
    const bool is_plain = tensor.shape.size() == 1 || !tensor.name.starts_with("model.layers") ||
                          tensor.name.ends_with("mlp.gate.weight");
    ASSERT_EQ(found != nullptr, is_plain) << tensor.name;
    if (!is_plain) continue;
    EXPECT_EQ(found->name, tensor.name);
    std::vector<std::byte> bytes(4);
    ASSERT_EQ(files->ReadBytes(*found, 6, bytes), absl::OkStatus());
  }
  // In the other layout, experts are other tensors.
  for (const DiskTensor& tensor :
       ListDiskTensors(stages, DiskNaming::kPlain, ExpertLayout::kFused)) {
    EXPECT_TRUE(tensor.shape.size() != 3 || files->FindPlain(tensor) == nullptr) << tensor.name;
  }
}

TEST_F(ModelSource, AFolderWithoutWeightsIsNotFound) {
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kNotFound);
  folder_ += "/none";
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ModelSource, EveryFailedReadIsAnErrorAndNeverOtherValues) {
  Write({.dtype = Dtype::kBF16, .max_shard = 64_KiB});
  const TensorSpec table = TensorsOf(spec_).front();
  const auto run = [&](FaultingIo& io) {
    const absl::StatusOr<ParameterStore::Source> source = OpenModelSource(io, folder_, spec_);
    std::vector<float> got(table.parameters, 100.0f);
    const absl::Status status = source.ok() ? (*source)(table, 0, got) : source.status();
    EXPECT_EQ(status.ok(), !io.reached()) << status;
    for (uint64_t i = 0; status.ok() && i < got.size(); ++i) {
      ASSERT_EQ(got[i], Exact(table.name, i));
    }
  };
  for (const auto kind : {FaultPlan::Kind::kFail, FaultPlan::Kind::kShort}) {
    EXPECT_GT(ForEachFault(*io_, {.kind = kind}, run), 10u);
  }
}

}  // namespace
}  // namespace horizon
