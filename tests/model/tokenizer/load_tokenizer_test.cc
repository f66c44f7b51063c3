#include "model/tokenizer/load_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "tests/model/test_files.h"
#include "tests/model/tokenizer/golden_tokenizers.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  EXPECT_THAT(model.chat_templates, IsEmpty());
  EXPECT_THAT(model.special_tokens, IsEmpty());
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
  ASSERT_EQ(model.chat_templates.size(), 1u);
  EXPECT_EQ(model.chat_templates[0].name, "default");
  EXPECT_EQ(model.chat_templates[0].text, "{{ x }}");
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

TEST_F(LoadTokenizerTest, TemplatesInFilesWinOverTheConfig) {
  // "name=text", in order.
  const auto templates = [&] {
    std::string all;
    for (const ChatTemplateText& each : Load().chat_templates) {
      all += StrCat(all.empty() ? "" : " ", each.name, "=", each.text);
    }
    return all;
  };
  WriteTokenizer();
  Write("tokenizer_config.json", R"({"chat_template": [{"name": "tool_use", "template": "t"},
      {"name": "default", "template": "d"}]})");
  EXPECT_EQ(templates(), "tool_use=t default=d");
  EXPECT_THAT(Load().chat_templates[0].where, HasSubstr("tokenizer_config.json"));
  Write("chat_template.jinja", "file");
  EXPECT_EQ(templates(), "default=file");
  EXPECT_THAT(Load().chat_templates[0].where, HasSubstr("/chat_template.jinja"));
  ASSERT_TRUE(io_->MakeDirectory(JoinPath(folder_, "additional_chat_templates")).ok());
  Write("additional_chat_templates/tool_use.jinja", "more");
  Write("additional_chat_templates/notes.txt", "none");
  EXPECT_EQ(templates(), "default=file tool_use=more");
  ASSERT_TRUE(io_->Unlink(JoinPath(folder_, "chat_template.jinja")).ok());
  EXPECT_EQ(templates(), "tool_use=more");
  Write("tokenizer_config.json", R"({"chat_template": null})");
  EXPECT_EQ(templates(), "tool_use=more");
}

TEST_F(LoadTokenizerTest, ATemplateOfAnotherTypeIsRefused) {
  WriteTokenizer();
  for (const char* bad : {"3", "{\"default\": \"x\"}", "[\"x\"]", "[{\"name\": \"default\"}]",
                          "[{\"name\": 1, \"template\": \"x\"}]"}) {
    Write("tokenizer_config.json", StrCat("{\"chat_template\": ", bad, "}"));
    const absl::Status status = LoadTokenizer(*io_, folder_).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad;
    EXPECT_THAT(std::string(status.message()), HasSubstr("tokenizer_config.json:1: chat_template"));
  }
}

TEST_F(LoadTokenizerTest, NamedTokensAreThoseThatTransformersGivesToTemplates) {
  const auto tokens = [&] {
    std::string all;
    for (const NamedToken& token : Load().special_tokens) {
      all += StrCat(all.empty() ? "" : " ", token.name, "=", token.text);
    }
    return all;
  };
  WriteTokenizer();
  Write("special_tokens_map.json",
        R"({"eos_token": {"content": "</s>"}, "additional_special_tokens": ["x"]})");
  EXPECT_EQ(tokens(), "eos_token=</s>");
  // The older file is read over the config, unless that lists its added tokens.
  Write("tokenizer_config.json",
        R"({"image_token": "<img>", "eos_token": "<s>", "bos_token": {"content": "<s>"},
            "pad_token": null, "add_bos_token": true,
            "extra_special_tokens": {"boi_token": "<boi>", "eoi": {"content": "<eoi>"}}})");
  EXPECT_EQ(tokens(), "bos_token=<s> eos_token=</s> image_token=<img> boi_token=<boi> eoi=<eoi>");
  Write("tokenizer_config.json", R"({"eos_token": "<s>", "added_tokens_decoder": {}})");
  EXPECT_EQ(tokens(), "eos_token=<s>");
}

TEST_F(LoadTokenizerTest, ListedControlTokensAreRead) {
  WriteTokenizer();
  EXPECT_EQ(Load().chat_control_tokens, std::nullopt);
  Write("tokenizer_config.json", R"({"chat_control_tokens": ["<think>", 3]})");
  EXPECT_EQ(Load().chat_control_tokens, std::vector<std::string>{"<think>"});
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
