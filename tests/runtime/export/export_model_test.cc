#include "runtime/export/export_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "kernels/kernel_table.h"
#include "model/files/model_files.h"
#include "model/load_model_spec.h"
#include "runtime/execution/trainer.h"
#include "runtime/parameters/model_source.h"
#include "schedule/lay_out_memory.h"
#include "tests/model/recording_io.h"
#include "tests/model/test_files.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A golden model in the hands of a trainer.
class Model {
 public:
  explicit Model(Golden golden, const StreamPlan& plan = {}) : golden_(std::move(golden)) {
    const absl::StatusOr<MemoryLayout> layout = LayOutMemory(golden_.spec, golden_.job, plan);
    EXPECT_TRUE(layout.ok()) << layout.status();
    device_ = *OnHostDevice()(layout->totals[static_cast<size_t>(Memory::kDevice)]);
    absl::StatusOr<std::unique_ptr<Trainer>> trainer =
        Trainer::Create(golden_.spec, golden_.job, plan,
                        {.device = *device_, .kernels = HostKernels(), .clock = clock_});
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    trainer_ = *std::move(trainer);
  }

  void Fill(const ParameterStore::Source& source) {
    const absl::Status filled = trainer_->store().Fill(source);
    EXPECT_TRUE(filled.ok()) << filled;
  }
  void TrainSteps(int64_t steps) {
    const absl::Status trained = trainer_->Train(
        1, steps,
        [&](int64_t number) -> absl::StatusOr<StepInput> {
          StepInput input{.learning_rate = golden_.job.learning_rate,
                          .tokens = golden_.batches[static_cast<size_t>(number - 1)]};
          input.counted = std::count_if(input.tokens.begin(), input.tokens.end(),
                                        [](const TokenRecord& token) { return token.label >= 0; });
          return input;
        },
        [](const Trainer::Report&) -> absl::StatusOr<Trainer::Next> {
          return Trainer::Next::kContinue;
        });
    EXPECT_TRUE(trained.ok()) << trained;
  }

  const Golden& golden() const { return golden_; }
  const ParameterStore& store() const { return trainer_->store(); }
  absl::Status Export(Io& io, const ExportOptions& options) const {
    return ExportModel(io, golden_.spec, store(), trainer_->schedule(), options);
  }

 private:
  Golden golden_;
  RealClock clock_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Trainer> trainer_;
};

std::unique_ptr<Model> Trained(const std::string& family, int64_t steps = 2) {
  auto model = std::make_unique<Model>(LoadGolden(family));
  model->Fill(SourceOf(model->golden()));
  model->TrainSteps(steps);
  return model;
}

std::vector<TensorSpec> TensorsOf(const ModelSpec& spec) {
  std::vector<TensorSpec> tensors;
  for (const Stage& stage : ListStages(spec)) {
    tensors.insert(tensors.end(), stage.tensors.begin(), stage.tensors.end());
  }
  return tensors;
}

class ExportedModel : public ::testing::Test {
 protected:
  ExportedModel() : io_(MakePosixIo()), folder_(MakeTestFolder(*io_)) {}

  std::string Path(const std::string& name) const { return JoinPath(folder_, name); }
  std::string ConfigOf(const std::string& family) {
    return ReadBytes(*io_, StrCat("tests/goldens/", family, "/config.json"));
  }
  std::vector<std::string> FilesOf(const std::string& folder) {
    absl::StatusOr<std::vector<std::string>> names = io_->List(folder);
    EXPECT_TRUE(names.ok()) << names.status();
    return names.value_or(std::vector<std::string>{});
  }

  // Every tensor in the folder has the bits of the store, and there is no other.
  void ExpectEqual(const std::string& folder, const Model& model, NumberType dtype) {
    const absl::StatusOr<ModelFiles> files = ModelFiles::Open(*io_, folder, SymlinkPolicy::kRefuse);
    ASSERT_TRUE(files.ok()) << files.status();
    const std::vector<TensorSpec> tensors = TensorsOf(model.golden().spec);
    ASSERT_EQ(files->tensors().size(), tensors.size());
    for (const TensorSpec& tensor : tensors) {
      const ModelFiles::Location* location = files->Find(tensor.name);
      ASSERT_NE(location, nullptr) << tensor.name;
      EXPECT_EQ(location->tensor->shape, tensor.shape);
      const auto expect_values = [&](Dtype type, auto wanted, const absl::Status& read) {
        ASSERT_TRUE(read.ok()) << read;
        EXPECT_EQ(location->tensor->dtype, type);
        auto got = wanted;
        const auto bytes = std::as_writable_bytes(std::span(got));
        std::fill(bytes.begin(), bytes.end(), std::byte{0xA5});
        ASSERT_EQ(files->ReadTensor(tensor.name, bytes), absl::OkStatus());
        ASSERT_TRUE(std::ranges::equal(bytes, std::as_bytes(std::span(wanted)))) << tensor.name;
      };
      if (dtype == NumberType::kFp32) {
        std::vector<float> wanted(tensor.parameters);
        const absl::Status read = model.store().ReadMaster(tensor, 0, wanted);
        expect_values(Dtype::kF32, wanted, read);
      } else {
        std::vector<uint16_t> wanted(tensor.parameters);
        const absl::Status read = model.store().ReadHi(tensor, 0, wanted);
        expect_values(Dtype::kBF16, wanted, read);
      }
    }
  }

  std::unique_ptr<Io> io_;
  std::string folder_;
};

TEST_F(ExportedModel, AGoldenThatWasNotTrainedComesOutAsItWentIn) {
  for (const std::string family : {"llama", "qwen2", "qwen3", "mistral_window"}) {
    const auto model = Trained(family, 0);
    const std::string out = Path(family);
    ASSERT_EQ(
        model->Export(*io_,
                      {.folder = out, .dtype = NumberType::kFp32, .config_text = ConfigOf(family)}),
        absl::OkStatus());
    EXPECT_THAT(FilesOf(out), ElementsAre("config.json", "model.safetensors"));
    EXPECT_EQ(ReadBytes(*io_, out + "/config.json"), ConfigOf(family));
    const absl::StatusOr<ModelFiles> files = ModelFiles::Open(*io_, out);
    ASSERT_TRUE(files.ok()) << files.status();
    ASSERT_EQ(files->tensors().size(), model->golden().tensors.size());
    for (const auto& [name, wanted] : model->golden().tensors) {
      std::vector<float> got(wanted.size());
      ASSERT_EQ(files->ReadTensor(name, std::as_writable_bytes(std::span(got))), absl::OkStatus());
      ASSERT_EQ(got, wanted) << name;
    }
  }
}

TEST_F(ExportedModel, TrainedTensorsHaveTheBitsOfTheStoreInBothTypes) {
  for (const std::string family : {"llama", "qwen2"}) {
    const auto model = Trained(family);
    for (const NumberType dtype : {NumberType::kFp32, NumberType::kBf16}) {
      const bool fp32 = dtype == NumberType::kFp32;
      const std::string out = Path(StrCat(family, fp32 ? "_fp32" : "_bf16"));
      ASSERT_EQ(
          model->Export(*io_, {.folder = out, .dtype = dtype, .config_text = ConfigOf(family)}),
          absl::OkStatus());
      ExpectEqual(out, *model, dtype);
      std::string config = ConfigOf(family);
      if (!fp32) config.replace(config.find("float32"), 7, "bfloat16");
      EXPECT_EQ(ReadBytes(*io_, out + "/config.json"), config);
    }
  }
}

TEST_F(ExportedModel, ATiedModelHasNoHeadOfItsOwn) {
  const auto model = Trained("qwen2", 1);
  ASSERT_EQ(model->Export(*io_, {.folder = Path("m"), .config_text = ConfigOf("qwen2")}),
            absl::OkStatus());
  const absl::StatusOr<ModelFiles> files = ModelFiles::Open(*io_, Path("m"));
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->Find("lm_head.weight"), nullptr);
  EXPECT_NE(files->Find("model.embed_tokens.weight"), nullptr);
}

TEST_F(ExportedModel, AnExportedModelIsLoadedAndTrainedOnTheSame) {
  const auto model = Trained("llama");
  ASSERT_EQ(model->Export(*io_, {.folder = Path("m"),
                                 .dtype = NumberType::kFp32,
                                 .config_text = ConfigOf("llama"),
                                 .max_shard = 100_KiB}),
            absl::OkStatus());
  EXPECT_GT(FilesOf(Path("m")).size(), 4u);  // in several shards
  ExpectEqual(Path("m"), *model, NumberType::kFp32);
  const absl::StatusOr<ModelConfig> config = LoadModelSpec(*io_, Path("m"));
  ASSERT_TRUE(config.ok()) << config.status();
  const absl::StatusOr<ParameterStore::Source> source =
      OpenModelSource(*io_, Path("m"), config->spec);
  ASSERT_TRUE(source.ok()) << source.status();
  Model again(LoadGolden("llama"));
  again.Fill(*source);
  for (const TensorSpec& tensor : TensorsOf(config->spec)) {
    std::vector<float> wanted(tensor.parameters);
    std::vector<float> got(tensor.parameters);
    ASSERT_TRUE(model->store().ReadMaster(tensor, 0, wanted).ok());
    ASSERT_TRUE(again.store().ReadMaster(tensor, 0, got).ok());
    EXPECT_EQ(got, wanted) << tensor.name;
  }
}

// Tables of 1,280,064 values, cut into shards of vocabulary rows; 4.9 MiB each as fp32.
TEST_F(ExportedModel, LargeTablesInShardsAreWrittenInPiecesOfAMebibyte) {
  Golden golden = LoadGolden("llama");
  golden.spec.vocab = 20001;
  StreamPlan plan;
  plan.chunk_bytes = 512_KiB;
  Model model(golden, plan);
  model.Fill(RandomSource(golden.spec, 3));
  ASSERT_GT(model.store().places().size(), TensorsOf(golden.spec).size() + 4);
  for (const NumberType dtype : {NumberType::kFp32, NumberType::kBf16}) {
    const std::string out = Path(dtype == NumberType::kFp32 ? "fp32" : "bf16");
    RecordingIo recording(*io_);
    ASSERT_EQ(model.Export(recording, {.folder = out, .dtype = dtype, .config_text = "{}"}),
              absl::OkStatus());
    for (const Transfer& transfer : recording.transfers) EXPECT_LE(transfer.bytes, 1u << 20);
    ExpectEqual(out, model, dtype);
  }
}

TEST_F(ExportedModel, AStateWithoutLowHalvesIsExportedAsItIs) {
  Golden golden = LoadGolden("llama");
  golden.job.state_format = StateFormat::kBf16Weights;
  golden.job.compute_type = NumberType::kBf16;
  Model model(golden);
  model.Fill(SourceOf(model.golden()));
  for (const NumberType dtype : {NumberType::kFp32, NumberType::kBf16}) {
    const std::string out = Path(dtype == NumberType::kFp32 ? "fp32" : "bf16");
    ASSERT_EQ(model.Export(*io_, {.folder = out, .dtype = dtype, .config_text = "{}"}),
              absl::OkStatus());
    ExpectEqual(out, model, dtype);
  }
}

TEST_F(ExportedModel, CompanionsAreFoundAndCarriedOverByteForByte) {
  const std::string source = Path("source");
  ASSERT_TRUE(io_->MakeDirectory(source).ok());
  std::string large(2'500'000, 'x');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7 + i / 4096);
  WriteBytes(*io_, source + "/tokenizer.json", large);
  WriteBytes(*io_, source + "/chat_template.jinja", "{{ x }}\n");
  WriteBytes(*io_, source + "/generation_config.json", "");
  WriteBytes(*io_, source + "/preprocessor_config.json", "{}");
  WriteBytes(*io_, source + "/processor_config.json", "[]");
  WriteBytes(*io_, source + "/video_preprocessor_config.json", "1");
  for (const std::string other :
       {"config.json", "model.safetensors", "README.md", "tokenizer.py"}) {
    WriteBytes(*io_, JoinPath(source, other), "?");
  }
  ASSERT_TRUE(io_->MakeDirectory(source + "/vocab.json").ok());  // no file
  const absl::StatusOr<std::vector<std::string>> companions = CompanionFiles(*io_, source);
  ASSERT_TRUE(companions.ok()) << companions.status();
  EXPECT_THAT(*companions,
              ElementsAre(source + "/chat_template.jinja", source + "/generation_config.json",
                          source + "/preprocessor_config.json", source + "/processor_config.json",
                          source + "/tokenizer.json", source + "/video_preprocessor_config.json"));
  for (const std::string& path : *companions) {
    EXPECT_EQ(IsProcessorFile(path), path.find("processor_config") != std::string::npos) << path;
  }
  const auto model = Trained("llama", 0);
  ASSERT_EQ(
      model->Export(*io_,
                    {.folder = Path("m"), .config_text = ConfigOf("llama"), .copies = *companions}),
      absl::OkStatus());
  EXPECT_THAT(FilesOf(Path("m")),
              ElementsAre("chat_template.jinja", "config.json", "generation_config.json",
                          "model.safetensors", "preprocessor_config.json", "processor_config.json",
                          "tokenizer.json", "video_preprocessor_config.json"));
  EXPECT_EQ(ReadBytes(*io_, Path("m/tokenizer.json")), large);
  EXPECT_EQ(ReadBytes(*io_, Path("m/chat_template.jinja")), "{{ x }}\n");
  EXPECT_EQ(ReadBytes(*io_, Path("m/generation_config.json")), "");
  EXPECT_EQ(CompanionFiles(*io_, Path("none")).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ExportedModel, BadRequestsAreRefusedAndLeaveNothing) {
  const auto model = Trained("llama", 0);
  WriteBytes(*io_, Path("tokenizer.json"), "t");
  const std::string out = Path("m");
  struct Case {
    std::string config = "{}";
    std::vector<std::string> copies;
    absl::StatusCode code = absl::StatusCode::kInvalidArgument;
  };
  for (const auto& [config, copies, code] :
       std::vector<Case>{{.config = "[]"},
                         {.config = ""},
                         {.copies = {Path("config.json")}},
                         {.copies = {Path("model.safetensors")}},
                         {.copies = {Path("model-00001-of-00002.safetensors")}},
                         {.copies = {Path("model.safetensors.index.json")}},
                         {.copies = {Path("folder/")}},
                         {.copies = {Path("tokenizer.json"), Path("other/tokenizer.json")}},
                         {.copies = {Path("tokenizer.json"), Path("none.json")},
                         .code = absl::StatusCode::kNotFound}}) {
    const absl::Status status =
        model->Export(*io_, {.folder = out, .config_text = config, .copies = copies});
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_FALSE(FileExists(*io_, out));
  }
}

TEST_F(ExportedModel, GoesIntoANewOrEmptyFolderOnly) {
  const auto model = Trained("llama", 0);
  const auto export_to = [&](const std::string& folder) {
    const absl::Status asked = CheckExportFolder(*io_, folder);
    absl::Status status = model->Export(*io_, {.folder = folder, .config_text = "{}"});
    EXPECT_EQ(asked, status);
    return status;
  };
  EXPECT_EQ(export_to(Path("new///")), absl::OkStatus());
  EXPECT_TRUE(FileExists(*io_, Path("new/config.json")));
  ASSERT_TRUE(io_->MakeDirectory(Path("empty")).ok());
  EXPECT_EQ(export_to(Path("empty/")), absl::OkStatus());
  EXPECT_TRUE(FileExists(*io_, Path("empty/config.json")));

  const absl::Status again = export_to(Path("empty"));
  EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists) << again;
  EXPECT_THAT(std::string(again.message()), HasSubstr("config.json"));
  EXPECT_THAT(FilesOf(Path("empty")), ElementsAre("config.json", "model.safetensors"));

  WriteBytes(*io_, Path("file"), "precious");
  EXPECT_EQ(export_to(Path("file")).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ReadBytes(*io_, Path("file")), "precious");
  EXPECT_EQ(export_to(Path("missing/m")).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(export_to(Path("file/m")).code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(FileExists(*io_, Path("missing")));
}

class FullDisk : public RecordingIo {
 public:
  using RecordingIo::RecordingIo;
  absl::StatusOr<Bytes> FreeSpace(const std::string&) override { return free; }
  Bytes free;
};

TEST_F(ExportedModel, ADiskThatIsTooSmallIsNamedBeforeAnythingIsWritten) {
  const auto model = Trained("llama", 0);
  uint64_t parameters = 0;
  for (const TensorSpec& tensor : TensorsOf(model->golden().spec)) parameters += tensor.parameters;
  FullDisk disk(*io_);
  const ExportOptions options{.folder = Path("m"), .config_text = "{}"};
  disk.free = Bytes(CheckedU64(2 * parameters - 1));
  const absl::Status status = model->Export(disk, options);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(WithCommas(2 * parameters)));
  EXPECT_TRUE(disk.transfers.empty());
  EXPECT_FALSE(FileExists(*io_, Path("m")));
  disk.free = Bytes(CheckedU64(2 * parameters));
  EXPECT_EQ(model->Export(disk, options), absl::OkStatus());
}

// One failed call anywhere: an error, and the place looks as it did before.
TEST_F(ExportedModel, AFailedCallLeavesNothingHalfWritten) {
  const auto model = Trained("llama", 0);
  WriteBytes(*io_, Path("tokenizer.json"), "t");
  for (const bool exists : {false, true}) {
    const ExportOptions options{.folder = Path(exists ? "there" : "new"),
                                .config_text = "{}",
                                .copies = {Path("tokenizer.json")},
                                .max_shard = 150_KiB};
    ASSERT_TRUE(!exists || io_->MakeDirectory(options.folder).ok());
    for (uint64_t call = 1;; ++call) {
      FaultingIo io(*io_, {.kind = FaultPlan::Kind::kShort, .at_call = call});
      const absl::Status status = model->Export(io, options);
      if (!io.reached()) {
        EXPECT_EQ(status, absl::OkStatus());
        EXPECT_GT(call, 20u);
        break;
      }
      ASSERT_FALSE(status.ok()) << io.history().back();
      if (exists) {
        ASSERT_THAT(FilesOf(options.folder), ElementsAre()) << io.history()[call - 1];
      } else {
        ASSERT_FALSE(FileExists(*io_, options.folder)) << io.history()[call - 1];
      }
    }
    ExpectEqual(options.folder, *model, NumberType::kBf16);
  }
}

// When nothing works any more there is no cleaning up either; but no config.json says it is whole.
TEST_F(ExportedModel, TheConfigComesLast) {
  const auto model = Trained("llama", 0);
  FaultingIo io(*io_, {});
  ASSERT_EQ(model->Export(io, {.folder = Path("m"), .config_text = "{}", .max_shard = 150_KiB}),
            absl::OkStatus());
  const std::vector<std::string> history = io.history();
  const auto touches = [&](std::string_view what) {
    return [what](const std::string& call) { return call.find(what) != std::string::npos; };
  };
  const auto config = std::find_if(history.begin(), history.end(), touches("config.json"));
  ASSERT_NE(config, history.end());
  EXPECT_TRUE(std::none_of(config, history.end(), touches("safetensors")));
}

}  // namespace
}  // namespace horizon
