#include "model/tokenizer/load_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/io.h"
#include "common/str_cat.h"
#include "tests/model/test_files.h"
#include "tests/model/tokenizer/golden_tokenizers.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

class LoadTokenizerTest : public testing::Test {
 protected:
  void Write(const std::string& name, std::string_view text) {
    WriteBytes(*io_, JoinPath(folder_, name), text);
  }
  void WriteTokenizer() { Write("tokenizer.json", ReadBytes(*io_, GoldenTokenizerPath("llama3"))); }
  ModelTokenizer Load() {
    absl::StatusOr<ModelTokenizer> result = LoadTokenizer(*io_, folder_);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : ModelTokenizer{};
  }

  const std::unique_ptr<Io> io_ = MakePosixIo();
  const std::string folder_ = MakeTestFolder(*io_);
};

TEST_F(LoadTokenizerTest, TakesAFolderWithNothingElse) {
  WriteTokenizer();
  const ModelTokenizer model = Load();
  ASSERT_NE(model.tokenizer, nullptr);
  EXPECT_EQ(model.tokenizer->IdOf("</s>"), 1);
  EXPECT_EQ(model.begin_id, std::nullopt);
  EXPECT_EQ(model.end_id, std::nullopt);
  EXPECT_EQ(model.pad_id, std::nullopt);
  EXPECT_EQ(model.chat_template, "");
}

TEST_F(LoadTokenizerTest, ReadsTheTokensOfTheFilesBesideIt) {
  WriteTokenizer();
  Write("config.json", R"({"bos_token_id": 5, "eos_token_id": [7, 8], "pad_token_id": 9})");
  EXPECT_EQ(Load().begin_id, 5);
  EXPECT_EQ(Load().end_id, 7);
  EXPECT_EQ(Load().pad_id, 9);
  Write("special_tokens_map.json", R"({"bos_token": "</s>", "pad_token": {"content": "<s>"}})");
  EXPECT_EQ(Load().begin_id, 1);
  EXPECT_EQ(Load().end_id, 7);
  EXPECT_EQ(Load().pad_id, 0);
  Write("tokenizer_config.json",
        R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}, "pad_token": null,
            "chat_template": "{{ x }}"})");
  const ModelTokenizer model = Load();
  EXPECT_EQ(model.begin_id, 0);
  EXPECT_EQ(model.end_id, 1);
  EXPECT_EQ(model.pad_id, 0);
  EXPECT_EQ(model.chat_template, "{{ x }}");
}

TEST_F(LoadTokenizerTest, TakesNoIdsThatTheTokenizerDoesNotHave) {
  WriteTokenizer();
  Write("config.json", R"({"bos_token_id": 1000000, "eos_token_id": null, "pad_token_id": -1})");
  const ModelTokenizer model = Load();
  EXPECT_EQ(model.begin_id, std::nullopt);
  EXPECT_EQ(model.end_id, std::nullopt);
  EXPECT_EQ(model.pad_id, std::nullopt);
  Write("tokenizer_config.json", R"({"bos_token": "<nobody>"})");
  const absl::Status status = LoadTokenizer(*io_, folder_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("tokenizer_config.json: bos_token"));
}

TEST_F(LoadTokenizerTest, FindsTheChatTemplateWhereverItIs) {
  WriteTokenizer();
  Write("chat_template.jinja", "from jinja");
  EXPECT_EQ(Load().chat_template, "from jinja");
  Write("tokenizer_config.json", R"({"chat_template": [{"name": "tool", "template": "no"},
      {"name": "default", "template": "yes"}]})");
  EXPECT_EQ(Load().chat_template, "yes");
  Write("tokenizer_config.json", R"({"chat_template": null})");
  EXPECT_EQ(Load().chat_template, "from jinja");
}

TEST_F(LoadTokenizerTest, SaysWhatToDoWithoutATokenizer) {
  absl::Status status = LoadTokenizer(*io_, folder_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("there is no tokenizer.json"));
  Write("tokenizer.model", "x");
  status = LoadTokenizer(*io_, folder_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("must be converted"));
}

TEST_F(LoadTokenizerTest, NamesTheFileThatIsBroken) {
  for (const std::string name :
       {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "config.json"}) {
    WriteTokenizer();
    Write(name, "{");
    const absl::Status status = LoadTokenizer(*io_, folder_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(StrCat(name, ":1:")));
    Write(name, "{}");
  }
}

}  // namespace
}  // namespace horizon
