#include "model/load_model_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "common/files/faulting_io.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

using testing::HasSubstr;

constexpr std::string_view kLlama = R"({"model_type": "llama", "num_hidden_layers": 3})";

class LoadModelSpecTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = StrCat(testing::TempDir(), "/",
                   testing::UnitTest::GetInstance()->current_test_info()->name());
    ASSERT_TRUE(io_->MakeDirectory(root_).ok());
  }

  std::string Folder(std::string_view name, std::string_view config) {
    std::string folder = JoinPath(root_, name);
    EXPECT_TRUE(io_->MakeDirectory(folder).ok());
    EXPECT_TRUE(WriteTextFile(*io_, JoinPath(folder, "config.json"), config).ok());
    return folder;
  }

  std::string MessageOf(const std::string& path, absl::StatusCode code) {
    const absl::StatusOr<ModelConfig> config = LoadModelSpec(*io_, path);
    EXPECT_EQ(config.status().code(), code) << config.status();
    return std::string(config.status().message());
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string root_;
};

TEST_F(LoadModelSpecTest, TakesAFolderOrAFile) {
  const std::string folder = Folder("mine", kLlama);
  for (const std::string& path :
       {folder, folder + "/", folder + "//", folder + "/config.json", folder + "/./config.json"}) {
    const absl::StatusOr<ModelConfig> config = LoadModelSpec(*io_, path);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->spec.layer_count(), 3);
  }
  EXPECT_EQ(LoadModelSpec(*io_, folder)->spec.name, "mine");
  EXPECT_EQ(LoadModelSpec(*io_, folder + "//")->spec.name, "mine");
  EXPECT_EQ(LoadModelSpec(*io_, folder + "/config.json")->spec.name, "mine");
  ASSERT_TRUE(WriteTextFile(*io_, root_ + "/other.json", kLlama).ok());
  EXPECT_EQ(LoadModelSpec(*io_, root_ + "/other.json")->spec.name, "other");
}

constexpr std::string_view kPlainRope = R"({"model_type": "llama", "num_hidden_layers": 3,
 "max_position_embeddings": 1000, "rope_theta": 500000.0, "rope_scaling": null})";

TEST_F(LoadModelSpecTest, RopeScalingStretchesThePositions) {
  const std::string wrapped = StrCat(
      R"({"model_type": "mistral3", "vision_config": {}, "text_config": )",
      R"({"model_type": "mistral", "num_hidden_layers": 3, "max_position_embeddings": 1000,)",
      R"( "rope_theta": 500000.0, "sliding_window": null}})");
  for (const std::string& config :
       {std::string(kPlainRope),
        std::string(R"({"model_type": "llama", "num_hidden_layers": 3, "rope_theta": 500000.0,
                        "max_position_embeddings": 1000})"),
        std::string(R"({"model_type": "llama", "num_hidden_layers": 3,
                        "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0},
                        "max_position_embeddings": 1000})"),
        wrapped}) {
    const std::string folder = Folder(StrCat("m", config.size()), config);
    const absl::StatusOr<ModelConfig> plain = LoadModelSpec(*io_, folder);
    ASSERT_TRUE(plain.ok()) << plain.status();
    const absl::StatusOr<LoadedModel> scaled = LoadModel(*io_, folder, "yarn:2.5");
    ASSERT_TRUE(scaled.ok()) << scaled.status();
    ModelSpec wanted = plain->spec;
    wanted.max_positions = 2500;
    wanted.ropes[0].kind = RopeKind::kYarn;
    wanted.ropes[0].factor = 2.5;
    wanted.ropes[0].original_max_positions = 1000;
    EXPECT_EQ(scaled->config.spec, wanted) << scaled->config_text;
    // What is written for the run says the same by itself.
    const std::string again = Folder(StrCat("again", config.size()), scaled->config_text);
    const absl::StatusOr<ModelConfig> read = LoadModelSpec(*io_, again);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->spec.ropes, wanted.ropes);
    EXPECT_EQ(read->spec.max_positions, 2500);
  }
  EXPECT_EQ(LoadModel(*io_, Folder("text", kPlainRope), "yarn:4")->config_text,
            R"({"model_type": "llama", "num_hidden_layers": 3,
 "max_position_embeddings": 4000, "rope_theta": 500000.0, "rope_scaling": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 1000}})")
      << "all other bytes stay";
}

TEST_F(LoadModelSpecTest, RopeScalingThatIsNotPossibleIsRefused) {
  const std::string folder = Folder("plain", kPlainRope);
  const auto refusal = [&](const std::string& model, const std::string& scaling) {
    const absl::StatusOr<ModelConfig> config = LoadModelSpec(*io_, model, scaling);
    EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << config.status();
    return std::string(config.status().message());
  };
  for (const std::string word : {"", "yarn", "yarn:", "yarn:x", "linear:4", "4"}) {
    EXPECT_THAT(refusal(folder, word), HasSubstr("needs yarn:FACTOR, for example yarn:4"));
  }
  for (const std::string word : {"yarn:1", "yarn:0.5", "yarn:-4", "yarn:nan", "yarn:inf"}) {
    EXPECT_THAT(refusal(folder, word), HasSubstr("the factor must be above 1"));
  }
  const std::string scaled = Folder("scaled", R"({"model_type": "llama", "num_hidden_layers": 3,
      "rope_scaling": {"rope_type": "linear", "factor": 2.0}})");
  EXPECT_THAT(refusal(scaled, "yarn:4"), HasSubstr("scales its rotary positions already (linear)"));
  EXPECT_THAT(refusal("gemma3-1b", "yarn:4"), HasSubstr("several rotary embeddings"));
}

TEST_F(LoadModelSpecTest, ACatalogNameGoesBeforeAFolder) {
  const absl::StatusOr<ModelConfig> known = LoadModelSpec(*io_, "QWEN2.5-7B");
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->spec.name, "qwen2.5-7b");
  EXPECT_EQ(known->spec.layer_count(), 28);
  const std::string folder = Folder("qwen2.5-7b", kLlama);
  EXPECT_EQ(LoadModelSpec(*io_, folder)->spec.layer_count(), 3);
}

TEST_F(LoadModelSpecTest, AFolderGoesBeforeAnId) {
  const absl::StatusOr<ModelConfig> known = LoadModelSpec(*io_, "qwen/QWEN2.5-7B-Instruct");
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->spec.name, "qwen2.5-7b");
  ASSERT_TRUE(CatalogEntryOf(*io_, "Qwen/Qwen2.5-7B") != nullptr);
  EXPECT_EQ(CatalogEntryOf(*io_, "Qwen/Qwen2.5-7B")->name, "qwen2.5-7b");
  // The test's own folder is the current one: its path is relative.
  ASSERT_TRUE(io_->MakeDirectory("Qwen").ok());
  ASSERT_TRUE(io_->MakeDirectory("Qwen/Qwen2.5-7B").ok());
  EXPECT_EQ(CatalogEntryOf(*io_, "Qwen/Qwen2.5-7B"), nullptr);
  EXPECT_THAT(MessageOf("Qwen/Qwen2.5-7B", absl::StatusCode::kNotFound),
              HasSubstr("has no config.json"));
  ASSERT_TRUE(WriteTextFile(*io_, "Qwen/Qwen2.5-7B/config.json", kLlama).ok());
  EXPECT_EQ(LoadModelSpec(*io_, "Qwen/Qwen2.5-7B")->spec.layer_count(), 3);
  // Another case is another path, but the same id.
  EXPECT_EQ(LoadModelSpec(*io_, "qwen/qwen2.5-7b")->spec.layer_count(), 28);
}

TEST_F(LoadModelSpecTest, SaysWhatWasMeant) {
  const std::string message = MessageOf("qwen2.5-7bb", absl::StatusCode::kNotFound);
  EXPECT_THAT(message, HasSubstr("did you mean 'qwen2.5-7b'?"));
  EXPECT_THAT(message, HasSubstr("gpt-oss-120b"));
  EXPECT_THAT(MessageOf("Qwen/Qwen2.5-7B-Instrukt", absl::StatusCode::kNotFound),
              HasSubstr("did you mean 'Qwen/Qwen2.5-7B-Instruct'?"));
  EXPECT_THAT(MessageOf("", absl::StatusCode::kNotFound), HasSubstr("no model \"\""));
  EXPECT_EQ(IoErrno(LoadModelSpec(*io_, "nowhere").status()), 0) << "not an I/O error";
}

TEST_F(LoadModelSpecTest, AFolderWithoutConfigIsNamed) {
  const std::string folder = root_ + "/empty";
  ASSERT_TRUE(io_->MakeDirectory(folder).ok());
  EXPECT_THAT(MessageOf(folder, absl::StatusCode::kNotFound), HasSubstr("has no config.json"));
}

TEST_F(LoadModelSpecTest, RefusesWhatIsNotARegularFile) {
  const std::string folder = root_ + "/odd";
  ASSERT_TRUE(io_->MakeDirectory(folder).ok());
  ASSERT_TRUE(io_->MakeDirectory(folder + "/config.json").ok());
  EXPECT_FALSE(LoadModelSpec(*io_, folder).ok());
  EXPECT_THAT(MessageOf("/dev/null", absl::StatusCode::kInvalidArgument), HasSubstr("/dev/null"));
}

TEST_F(LoadModelSpecTest, BadFilesAreNamedWithLineAndKey) {
  EXPECT_THAT(
      MessageOf(Folder("cut", R"({"model_type": "llama",)"), absl::StatusCode::kInvalidArgument),
      HasSubstr("cut/config.json:1"));
  EXPECT_THAT(MessageOf(Folder("zero", "{\"model_type\": \"llama\",\n\"vocab_size\": 0}"),
                        absl::StatusCode::kInvalidArgument),
              HasSubstr("zero/config.json:2: vocab_size"));
  EXPECT_THAT(MessageOf(Folder("empty", ""), absl::StatusCode::kInvalidArgument),
              HasSubstr("empty/config.json:1"));
  EXPECT_THAT(
      MessageOf(Folder("deep", std::string(1'000'000, '[')), absl::StatusCode::kInvalidArgument),
      HasSubstr("deep/config.json"));
  EXPECT_THAT(MessageOf(Folder("huge", std::string((16 << 20) + 1, ' ')),
                        absl::StatusCode::kInvalidArgument),
              HasSubstr("huge/config.json"));
}

TEST_F(LoadModelSpecTest, EveryFailingCallIsReported) {
  const std::string folder = Folder("faulty", kLlama);
  const uint64_t hits = ForEachFault(*io_, {.error_number = EIO}, [&](FaultingIo& io) {
    const absl::StatusOr<ModelConfig> config = LoadModelSpec(io, folder);
    if (io.reached()) {
      EXPECT_EQ(IoErrno(config.status()), EIO) << config.status();
    } else {
      EXPECT_TRUE(config.ok()) << config.status();
    }
  });
  EXPECT_GE(hits, 4u);
}

TEST_F(LoadModelSpecTest, TheTextIsOfTheFileThatWasReadAndIsReadOnce) {
  const std::string folder = Folder("once", kLlama);
  FaultingIo io(*io_, {.at_call = 1000});
  const absl::StatusOr<LoadedModel> model = LoadModel(io, folder);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->config_text, kLlama);
  EXPECT_EQ(model->config.spec.name, "once");
  int opened = 0;
  for (const std::string& call : io.history()) opened += call.starts_with("Open ") ? 1 : 0;
  EXPECT_EQ(opened, 1);
}

TEST_F(LoadModelSpecTest, TheTextOfACatalogModelIsTheCatalogs) {
  const absl::StatusOr<LoadedModel> model = LoadModel(*io_, "qwen2.5-7b");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->config_text, FindCatalogName("qwen2.5-7b")->config);
}

}  // namespace
}  // namespace horizon
