// What an exported folder holds where tensors on disk are not ours one by one: fused tensors and
// multimodal models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "model/files/carried_tensors.h"
#include "model/files/convert.h"
#include "model/files/disk_tensors.h"
#include "model/files/match_tensors.h"
#include "model/files/model_files.h"
#include "model/files/model_folder_writer.h"
#include "model/files/tensor_entry.h"
#include "model/load_model_spec.h"
#include "model/stages.h"
#include "runtime/export/export_model.h"
#include "runtime/parameters/model_source.h"
#include "tests/model/model_specs.h"
#include "tests/model/quantized_folder.h"
#include "tests/model/recording_io.h"
#include "tests/model/test_files.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A finite bf16 that differs from tensor to tensor and from element to element.
uint16_t HighHalf(const std::string& tensor, uint64_t element) {
  uint64_t hash = 1469598103934665603u;
  for (const char letter : tensor)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211u;
  hash = (hash ^ element) * 1099511628211u;
  return static_cast<uint16_t>(0x3F00 | ((hash >> 20) & 0x80FF));
}

float Master(const std::string& tensor, uint64_t element) {
  const uint32_t bits = uint32_t{HighHalf(tensor, element)} << 16 | (element * 40503 & 0x7FFF);
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

class KnownValues : public ModelValues {
 public:
  explicit KnownValues(const ModelSpec& spec) {
    for (const Stage& stage : ListStages(spec)) {
      for (const TensorSpec& tensor : stage.tensors) {
        tensors.push_back({.name = tensor.name, .shape = tensor.shape});
      }
    }
  }
  std::vector<Tensor> Tensors() const override { return tensors; }
  absl::Status ReadHi(const std::string& tensor, uint64_t first,
                      std::span<uint16_t> into) override {
    for (size_t i = 0; i < into.size(); ++i) into[i] = HighHalf(tensor, first + i);
    return absl::OkStatus();
  }
  absl::Status ReadMaster(const std::string& tensor, uint64_t first,
                          std::span<float> into) override {
    for (size_t i = 0; i < into.size(); ++i) into[i] = Master(tensor, first + i);
    return absl::OkStatus();
  }

  std::vector<Tensor> tensors;
};

class GoldenValues : public ModelValues {
 public:
  explicit GoldenValues(const Golden& golden) : golden_(golden) {}
  std::vector<Tensor> Tensors() const override { return KnownValues(golden_.spec).tensors; }
  absl::Status ReadHi(const std::string&, uint64_t, std::span<uint16_t>) override {
    return absl::InternalError("only fp32");
  }
  absl::Status ReadMaster(const std::string& tensor, uint64_t first,
                          std::span<float> into) override {
    const auto& values = golden_.tensors.at(tensor);
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), into.size(), into.begin());
    return absl::OkStatus();
  }

 private:
  const Golden& golden_;
};

std::string Phi3(int64_t intermediate) {
  return StrCat(R"({"model_type": "phi3", "hidden_size": 12, "num_attention_heads": 3,
      "num_key_value_heads": 1, "intermediate_size": )",
                intermediate, R"(, "vocab_size": 11, "num_hidden_layers": 1, "pad_token_id": 0})");
}

std::string Wrapper(bool tied, const std::string& dtype = "float16") {
  return StrCat(R"({"model_type": "mistral3", "dtype": ")", dtype, R"(", "tie_word_embeddings": )",
                tied ? "true" : "false",
                R"(, "text_config": {"model_type": "mistral", "hidden_size": 8,
      "num_attention_heads": 2, "head_dim": 4, "num_key_value_heads": 1, "intermediate_size": 6,
      "vocab_size": 10, "num_hidden_layers": 2, "sliding_window": null, "dtype": ")",
                dtype, R"("}, "vision_config": {"dtype": "float16"}})");
}

class ExportedTensors : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return JoinPath(folder_, name); }

  std::vector<std::string> NamesIn(const std::string& folder) {
    absl::StatusOr<std::vector<std::string>> names = io_->List(Path(folder));
    EXPECT_TRUE(names.ok()) << names.status();
    return names.value_or(std::vector<std::string>{});
  }

  ModelSpec SpecOf(const std::string& config) {
    absl::StatusOr<ModelConfig> read = ReadConfigText(config);
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? read->spec : ModelSpec{};
  }

  // A multimodal model whose text part is all zeros.
  void WriteSource(const ModelSpec& spec, DiskNaming naming) {
    const std::string prefix = naming == DiskNaming::kNested ? "model." : "";
    others_ = {{prefix + "multi_modal_projector.linear_1.weight", Dtype::kF16, {5, 3}},
               {prefix + "vision_tower.large", Dtype::kBF16, {900, 701}},
               {prefix + "vision_tower.mask", Dtype::kBool, {3, 3}},
               {prefix + "vision_tower.positions", Dtype::kI64, {1, 5}}};
    std::vector<TensorDeclaration> tensors = others_;
    const std::vector<Stage> stages = ListStages(spec);
    for (const DiskTensor& tensor : ListDiskTensors(stages, naming)) {
      tensors.push_back({tensor.name, Dtype::kF32, tensor.shape});
    }
    if (spec.tied) {
      const std::string head = DiskName("lm_head.weight", naming);
      tensors.push_back({head, Dtype::kF32, {spec.vocab, spec.hidden}});
    }
    ASSERT_TRUE(io_->MakeDirectory(Path("source")).ok());
    const absl::Status written = WriteModelFolder(
        *io_, Path("source"), tensors,
        [&](const TensorDeclaration& tensor, uint64_t offset, std::span<std::byte> into) {
          if (IsTextPartName(tensor.name)) {
            std::fill(into.begin(), into.end(), std::byte{0});
            return absl::OkStatus();
          }
          const std::vector<std::byte> bytes = BytesOf(tensor);
          std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(),
                      into.begin());
          return absl::OkStatus();
        },
        {.max_shard = 700_KiB});
    ASSERT_TRUE(written.ok()) << written;
  }

  static std::vector<std::byte> BytesOf(const TensorDeclaration& tensor) {
    return PatternBytes((*TensorBytes(tensor.dtype, tensor.shape)).value(),
                        static_cast<unsigned>(tensor.name.size()));
  }

  CarriedTensors Carried(Io& io, const ModelSpec& spec) {
    absl::StatusOr<CarriedTensors> carried = OpenCarriedTensors(io, Path("source"), spec);
    EXPECT_TRUE(carried.ok()) << carried.status();
    return carried.value_or(CarriedTensors{});
  }

  // The folder holds the known values of `spec` and, byte for byte, `others`.
  void ExpectWhole(const std::string& folder, const ModelSpec& spec, DiskNaming naming,
                   NumberType dtype, const std::vector<TensorDeclaration>& others) {
    const absl::StatusOr<ModelFiles> files = ModelFiles::Open(*io_, folder, SymlinkPolicy::kRefuse);
    ASSERT_TRUE(files.ok()) << files.status();
    const std::vector<Stage> stages = ListStages(spec);
    const absl::StatusOr<MatchedTensors> matched = MatchTensors(spec, stages, *files);
    ASSERT_TRUE(matched.ok()) << matched.status();
    EXPECT_EQ(matched->naming, naming);
    EXPECT_EQ(matched->others.size(), others.size());
    for (const TensorDeclaration& other : others) {
      const ModelFiles::Location* found = files->Find(other.name);
      ASSERT_NE(found, nullptr) << other.name;
      EXPECT_EQ(found->tensor->dtype, other.dtype);
      EXPECT_EQ(found->tensor->shape, other.shape);
      std::vector<std::byte> bytes(found->tensor->bytes().value());
      ASSERT_TRUE(files->ReadTensor(other.name, bytes).ok());
      EXPECT_EQ(bytes, BytesOf(other)) << other.name;
    }
    EXPECT_EQ(files->Find(DiskName("lm_head.weight", naming)) == nullptr, spec.tied);

    std::map<std::string, std::string> on_disk;  // by our names
    for (const DiskTensor& tensor : matched->tensors) {
      for (const DiskPart& part : tensor.parts) on_disk[part.tensor->name] = tensor.name;
    }
    const absl::StatusOr<ParameterStore::Source> source = OpenModelSource(*io_, folder, spec);
    ASSERT_TRUE(source.ok()) << source.status();
    for (const Stage& stage : stages) {
      for (const TensorSpec& tensor : stage.tensors) {
        const Dtype wanted = dtype == NumberType::kFp32 ? Dtype::kF32 : Dtype::kBF16;
        EXPECT_EQ(files->Find(on_disk.at(tensor.name))->tensor->dtype, wanted);
        std::vector<float> got(tensor.parameters);
        ASSERT_EQ((*source)(tensor, 0, got), absl::OkStatus());
        for (uint64_t i = 0; i < got.size(); ++i) {
          const uint32_t high = uint32_t{HighHalf(tensor.name, i)} << 16;
          float value = Master(tensor.name, i);
          if (dtype == NumberType::kBf16) std::memcpy(&value, &high, sizeof(value));
          ASSERT_EQ(got[i], value) << tensor.name << " " << i;
        }
      }
    }
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
  std::vector<TensorDeclaration> others_;
};

TEST_F(ExportedTensors, FusedTensorsAreMadeOfTheirParts) {
  const ModelSpec spec = SpecOf(Phi3(7));
  KnownValues values(spec);
  ASSERT_EQ(ExportModel(*io_, spec, values,
                        {.folder = Path("m"), .dtype = NumberType::kFp32, .config_text = Phi3(7)}),
            absl::OkStatus());
  const absl::StatusOr<ModelFiles> files = ModelFiles::Open(*io_, Path("m"));
  ASSERT_TRUE(files.ok()) << files.status();
  std::vector<float> qkv(20 * 12);
  const std::string prefix = "model.layers.0.self_attn.";
  const ModelFiles::Location* found = files->Find(prefix + "qkv_proj.weight");
  ASSERT_NE(found, nullptr);
  EXPECT_THAT(found->tensor->shape, ElementsAre(20, 12));
  ASSERT_TRUE(
      files->ReadTensor(prefix + "qkv_proj.weight", std::as_writable_bytes(std::span(qkv))).ok());
  for (uint64_t i = 0; i < qkv.size(); ++i) {
    const float wanted = i < 144   ? Master(prefix + "q_proj.weight", i)
                         : i < 192 ? Master(prefix + "k_proj.weight", i - 144)
                                   : Master(prefix + "v_proj.weight", i - 192);
    ASSERT_EQ(qkv[i], wanted) << i;
  }
  EXPECT_EQ(files->Find(prefix + "q_proj.weight"), nullptr);
  EXPECT_EQ(files->tensors().size(), 9u);
}

// gate ends in the middle of a piece: 60,001 rows of 12 values are 2.7 pieces as fp32.
TEST_F(ExportedTensors, PiecesMaySpanTheirParts) {
  const std::string config = Phi3(60'001);
  const ModelSpec spec = SpecOf(config);
  KnownValues values(spec);
  for (const NumberType dtype : {NumberType::kFp32, NumberType::kBf16}) {
    for (const Bytes shard : {5_MiB, 1_GiB}) {
      const std::string out = Path(StrCat("m", static_cast<int>(dtype), "_", shard.value()));
      RecordingIo recording(*io_);
      ASSERT_EQ(
          ExportModel(recording, spec, values,
                      {.folder = out, .dtype = dtype, .config_text = config, .max_shard = shard}),
          absl::OkStatus());
      for (const Transfer& transfer : recording.transfers) EXPECT_LE(transfer.bytes, 1u << 20);
      ExpectWhole(out, spec, DiskNaming::kPlain, dtype, {});
    }
  }
}

TEST_F(ExportedTensors, AMultimodalModelComesOutWithItsOtherPartsByteForByte) {
  for (const DiskNaming naming : {DiskNaming::kLanguageModel, DiskNaming::kNested}) {
    for (const bool tied : {false, true}) {
      folder_ = MakeTestFolder(*io_);
      const ModelSpec spec = SpecOf(Wrapper(tied));
      ASSERT_EQ(spec.wrapper, "mistral3");
      WriteSource(spec, naming);
      KnownValues values(spec);
      for (const NumberType dtype : {NumberType::kFp32, NumberType::kBf16}) {
        for (const Bytes shard : {600_B, 1_GiB}) {
          const std::string out = Path(StrCat("m", static_cast<int>(dtype), "_", shard.value()));
          ASSERT_EQ(ExportModel(*io_, spec, values,
                                {.folder = out,
                                 .dtype = dtype,
                                 .config_text = Wrapper(tied),
                                 .carried = Carried(*io_, spec),
                                 .max_shard = shard}),
                    absl::OkStatus());
          ExpectWhole(out, spec, naming, dtype, others_);
          EXPECT_EQ(FileExists(*io_, out + "/model.safetensors"), shard == 1_GiB);
          // The type of what was trained is set, that of the images' part stays.
          EXPECT_EQ(ReadBytes(*io_, out + "/config.json"),
                    Wrapper(tied, dtype == NumberType::kFp32 ? "float32" : "bfloat16"));
        }
      }
    }
  }
}

TEST_F(ExportedTensors, TheTextPartAloneIsATextModel) {
  for (const bool tied : {false, true}) {
    const ModelSpec spec = SpecOf(Wrapper(tied));
    KnownValues values(spec);
    const std::string out = Path(tied ? "tied" : "untied");
    ASSERT_EQ(ExportModel(*io_, spec, values, {.folder = out, .config_text = Wrapper(tied)}),
              absl::OkStatus());
    const absl::StatusOr<ModelConfig> read = LoadModelSpec(*io_, out);
    ASSERT_TRUE(read.ok()) << read.status();
    ModelSpec wanted = spec;
    wanted.wrapper.clear();
    wanted.name = read->spec.name;
    EXPECT_TRUE(read->spec == wanted);
    ExpectWhole(out, wanted, DiskNaming::kPlain, NumberType::kBf16, {});
    EXPECT_THAT(ReadBytes(*io_, out + "/config.json"),
                AllOf(HasSubstr("MistralForCausalLM"), HasSubstr("\"dtype\": \"bfloat16\"")));
  }
}

constexpr char kQwen3Moe[] = R"({"model_type": "qwen3_moe", "dtype": "bfloat16",
    "hidden_size": 20, "head_dim": 6, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 24, "vocab_size": 11, "moe_intermediate_size": 7, "num_hidden_layers": 2,
    "num_experts": 3, "num_experts_per_tok": 2, "mlp_only_layers": [0]})";
constexpr char kGptOss[] = R"({"model_type": "gpt_oss", "dtype": "bfloat16", "hidden_size": 64,
    "head_dim": 8, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 32,
    "vocab_size": 11, "num_hidden_layers": 2, "num_local_experts": 3, "num_experts_per_tok": 2,
    "layer_types": ["full_attention", "full_attention"]})";

TEST_F(ExportedTensors, ExpertsComeOutInTheLayoutThatIsAskedFor) {
  const ModelSpec spec = SpecOf(kQwen3Moe);
  KnownValues values(spec);
  for (const ExpertLayout layout : {ExpertLayout::kUsual, ExpertLayout::kFused}) {
    for (const NumberType dtype : {NumberType::kFp32, NumberType::kBf16}) {
      for (const Bytes shard : {300_B, 1_GiB}) {
        folder_ = MakeTestFolder(*io_);
        ASSERT_EQ(ExportModel(*io_, spec, values,
                              {.folder = Path("m"),
                               .dtype = dtype,
                               .config_text = kQwen3Moe,
                               .experts = layout,
                               .max_shard = shard}),
                  absl::OkStatus());
        ExpectWhole(Path("m"), spec, DiskNaming::kPlain, dtype, {});
        const absl::StatusOr<ModelFiles> files = ModelFiles::Open(*io_, Path("m"));
        ASSERT_TRUE(files.ok()) << files.status();
        const bool is_fused = layout == ExpertLayout::kFused;
        EXPECT_EQ(files->Find("model.layers.1.mlp.experts.gate_up_proj") != nullptr, is_fused);
        EXPECT_EQ(files->Find("model.layers.1.mlp.experts.2.up_proj.weight") == nullptr, is_fused);
      }
    }
  }
}

// Trains the norms alone; everything else comes from the folder that the run began with.
class TrainedNorms : public ModelValues {
 public:
  explicit TrainedNorms(const TestFolder& content) : content_(content) {
    for (const auto& [name, numbers] : content.values) {
      if (!name.ends_with("norm.weight")) continue;
      tensors_.push_back({.name = name, .shape = {static_cast<int64_t>(numbers.size())}});
    }
  }
  std::vector<Tensor> Tensors() const override { return tensors_; }
  absl::Status ReadHi(const std::string& tensor, uint64_t first,
                      std::span<uint16_t> into) override {
    std::vector<float> numbers(into.size());
    EXPECT_EQ(ReadMaster(tensor, first, numbers), absl::OkStatus());
    for (size_t i = 0; i < into.size(); ++i) into[i] = Bf16FromFloat(numbers[i]);
    return absl::OkStatus();
  }
  absl::Status ReadMaster(const std::string& tensor, uint64_t first,
                          std::span<float> into) override {
    std::copy_n(content_.values.at(tensor).begin() + static_cast<std::ptrdiff_t>(first),
                into.size(), into.begin());
    return absl::OkStatus();
  }

 private:
  const TestFolder& content_;
  std::vector<Tensor> tensors_;
};

TEST_F(ExportedTensors, AQuantisedModelComesOutPlainAndInTheLayoutOfItsFolder) {
  struct Case {
    std::string config;
    TestStorage storage;
  };
  const Quantization fp8{.method = QuantMethod::kFp8, .block_rows = 4, .block_columns = 5};
  const std::vector<Case> cases = {
      {kGptOss, {.quantization = {.method = QuantMethod::kMxfp4}}},
      {kQwen3Moe, {.quantization = fp8}},
      {kQwen3Moe, {.quantization = fp8, .experts = ExpertLayout::kFused}},
      {kQwen3Moe, {.experts = ExpertLayout::kFused}}};
  for (const auto& [config, storage] : cases) {
    for (const NumberType dtype : {NumberType::kFp32, NumberType::kBf16}) {
      folder_ = MakeTestFolder(*io_);
      const TestFolder content = MakeTestFolderOf(config, storage);
      ASSERT_TRUE(io_->MakeDirectory(Path("source")).ok());
      WriteTestFolder(*io_, Path("source"), content, 700_B);
      const ModelSpec spec = SpecOf(config);
      const absl::StatusOr<WeightFiles> frozen = WeightFiles::Open(*io_, Path("source"), spec);
      ASSERT_TRUE(frozen.ok()) << frozen.status();
      TrainedNorms values(content);
      ASSERT_EQ(
          ExportModel(*io_, spec, values,
                      {.folder = Path("m"),
                       .dtype = dtype,
                       .config_text = content.config_text,
                       .experts = storage.experts,
                       .frozen = FrozenWeights{.values = frozen->values(), .files = *frozen}}),
          absl::OkStatus());
      // The config is that of the plain model.
      const std::string word = dtype == NumberType::kFp32 ? "float32" : "bfloat16";
      std::string wanted = config;
      wanted.replace(wanted.find("bfloat16"), 8, word);
      EXPECT_EQ(ReadBytes(*io_, Path("m/config.json")), wanted);
      const absl::StatusOr<ParameterStore::Source> source = OpenModelSource(*io_, Path("m"), spec);
      ASSERT_TRUE(source.ok()) << source.status();
      for (const auto& [name, numbers] : content.values) {
        std::vector<float> got(numbers.size());
        for (const Stage& stage : ListStages(spec)) {
          for (const TensorSpec& tensor : stage.tensors) {
            if (tensor.name != name) continue;
            ASSERT_EQ((*source)(tensor, 0, got), absl::OkStatus());
          }
        }
        for (size_t i = 0; i < got.size(); ++i) {
          // The high half rounds to nearest, ties away from zero (split_master.h).
          const uint32_t bits = std::bit_cast<uint32_t>(numbers[i]);
          const float rounded = std::bit_cast<float>((bits + 0x8000) & 0xFFFF0000);
          ASSERT_EQ(got[i], dtype == NumberType::kFp32 ? numbers[i] : rounded) << name << " " << i;
        }
      }
    }
  }
}

TEST_F(ExportedTensors, GoldensComeOutAsTheyWentIn) {
  for (const std::string name :
       {"phi3", "gemma3_wrapper", "mistral3_wrapper", "mixtral", "qwen3_moe", "gpt_oss"}) {
    const std::string source = StrCat("tests/goldens/", name);
    const Golden golden = LoadGolden(name);
    GoldenValues values(golden);
    ExportOptions options{.folder = Path(name),
                          .dtype = NumberType::kFp32,
                          .config_text = ReadBytes(*io_, source + "/config.json")};
    if (!golden.spec.wrapper.empty()) {
      absl::StatusOr<CarriedTensors> carried = OpenCarriedTensors(*io_, source, golden.spec);
      ASSERT_TRUE(carried.ok()) << carried.status();
      options.carried = *std::move(carried);
    }
    ASSERT_EQ(ExportModel(*io_, golden.spec, values, options), absl::OkStatus());
    EXPECT_EQ(ReadBytes(*io_, Path(name) + "/config.json"), options.config_text);
    const absl::StatusOr<ModelFiles> before = ModelFiles::Open(*io_, source);
    const absl::StatusOr<ModelFiles> after = ModelFiles::Open(*io_, Path(name));
    ASSERT_TRUE(before.ok() && after.ok());
    ASSERT_EQ(after->tensors().size(), before->tensors().size());
    for (const ModelFiles::Location& location : before->tensors()) {
      const std::string& tensor = location.tensor->name;
      const ModelFiles::Location* found = after->Find(tensor);
      ASSERT_NE(found, nullptr) << tensor;
      EXPECT_EQ(found->tensor->shape, location.tensor->shape);
      std::vector<std::byte> wanted(location.tensor->bytes().value());
      std::vector<std::byte> got(found->tensor->bytes().value());
      ASSERT_TRUE(before->ReadTensor(tensor, wanted).ok() && after->ReadTensor(tensor, got).ok());
      EXPECT_EQ(got, wanted) << tensor;
    }
  }
}

TEST_F(ExportedTensors, ValuesOfAnotherModelAreRefused) {
  const ModelSpec spec = SpecOf(Phi3(7));
  const auto error_with = [&](const std::function<void(KnownValues&)>& change) {
    KnownValues values(spec);
    change(values);
    const absl::Status status =
        ExportModel(*io_, spec, values, {.folder = Path("m"), .config_text = Phi3(7)});
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_FALSE(FileExists(*io_, Path("m")));
    return std::string(status.message());
  };
  EXPECT_THAT(error_with([](KnownValues& values) { values.tensors.pop_back(); }),
              AllOf(HasSubstr("\"lm_head.weight\""), HasSubstr("no trained values")));
  EXPECT_THAT(error_with([](KnownValues& values) { values.tensors[0].shape[0] = 12; }),
              AllOf(HasSubstr("\"model.embed_tokens.weight\""), HasSubstr("[12, 12]"),
                    HasSubstr("[11, 12]")));
  EXPECT_THAT(error_with([](KnownValues& values) {
                values.tensors.push_back({.name = "model.more", .shape = {1}});
              }),
              HasSubstr("\"model.more\""));
}

class SmallDisk : public RecordingIo {
 public:
  using RecordingIo::RecordingIo;
  absl::StatusOr<Bytes> FreeSpace(const std::string&) override { return free; }
  Bytes free;
};

TEST_F(ExportedTensors, TheDiskMustHoldTheOtherPartsToo) {
  const ModelSpec spec = SpecOf(Wrapper(false));
  WriteSource(spec, DiskNaming::kLanguageModel);
  uint64_t needed = 2 * CountParameters(ListStages(spec)).total;
  for (const TensorDeclaration& other : others_) needed += BytesOf(other).size();
  KnownValues values(spec);
  SmallDisk disk(*io_);
  const ExportOptions options{
      .folder = Path("m"), .config_text = Wrapper(false), .carried = Carried(*io_, spec)};
  disk.free = Bytes(CheckedU64(needed - 1));
  const absl::Status status = ExportModel(disk, spec, values, options);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_FALSE(FileExists(*io_, Path("m")));
  disk.free = Bytes(CheckedU64(needed));
  EXPECT_EQ(ExportModel(disk, spec, values, options), absl::OkStatus());
}

TEST_F(ExportedTensors, AFailureWhileTheOtherPartsAreCopiedLeavesNothing) {
  const ModelSpec spec = SpecOf(Wrapper(false));
  WriteSource(spec, DiskNaming::kNested);
  KnownValues values(spec);
  uint64_t reads_hit = 0;
  for (const auto kind : {FaultPlan::Kind::kFail, FaultPlan::Kind::kShort}) {
    for (uint64_t call = 1;; ++call) {
      FaultingIo io(*io_, {.kind = kind, .at_call = call});
      const absl::StatusOr<CarriedTensors> carried = OpenCarriedTensors(io, Path("source"), spec);
      const absl::Status status = carried.ok() ? ExportModel(io, spec, values,
                                                             {.folder = Path("m"),
                                                              .config_text = Wrapper(false),
                                                              .carried = *carried,
                                                              .max_shard = 1_MiB})
                                               : carried.status();
      if (!io.reached()) {
        ASSERT_EQ(status, absl::OkStatus());
        break;
      }
      ASSERT_FALSE(status.ok()) << io.history()[call - 1];
      ASSERT_FALSE(FileExists(*io_, Path("m"))) << io.history()[call - 1];
      reads_hit += carried.ok() && io.history()[call - 1].starts_with("ReadAt") ? 1 : 0;
    }
    ExpectWhole(Path("m"), spec, DiskNaming::kNested, NumberType::kBf16, others_);
    for (const std::string& name : NamesIn("m")) {
      ASSERT_TRUE(io_->Unlink(JoinPath(Path("m"), name)).ok());
    }
    ASSERT_TRUE(io_->RemoveDirectory(Path("m")).ok());
  }
  EXPECT_GE(reads_hit, 2 * others_.size());
}

TEST_F(ExportedTensors, ASourceThatHasBecomeShorterIsNamed) {
  const ModelSpec spec = SpecOf(Wrapper(false));
  WriteSource(spec, DiskNaming::kLanguageModel);
  KnownValues values(spec);
  const CarriedTensors carried = Carried(*io_, spec);
  std::string large;
  for (const std::string& name : NamesIn("source")) {
    const std::string path = JoinPath(Path("source"), name);
    if (ReadBytes(*io_, path).size() > 1'000'000) large = path;
  }
  ASSERT_NE(large, "");
  WriteBytes(*io_, large, ReadBytes(*io_, large).substr(0, 900'000));
  const absl::Status status = ExportModel(
      *io_, spec, values, {.folder = Path("m"), .config_text = Wrapper(false), .carried = carried});
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(large));
  EXPECT_FALSE(FileExists(*io_, Path("m")));
}

}  // namespace
}  // namespace horizon
