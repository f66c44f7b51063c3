#include "runtime/export/text_part_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/documents/json.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "tests/model/model_specs.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

// The text config has to describe the same model by itself.
std::string TextPart(const std::string& config) {
  const absl::StatusOr<ModelConfig> whole = ReadConfigText(config);
  EXPECT_TRUE(whole.ok()) << whole.status();
  const absl::StatusOr<std::string> text = TextPartConfig(config, whole->spec);
  EXPECT_TRUE(text.ok()) << text.status();
  const absl::StatusOr<ModelConfig> part = ReadConfigText(text.value_or(""));
  EXPECT_TRUE(part.ok()) << part.status() << "\n" << *text;
  ModelSpec wanted = whole->spec;
  wanted.wrapper.clear();
  EXPECT_TRUE(part.ok() && part->spec == wanted) << *text;
  return *text;
}

const Value* Find(const Document& document, std::string_view key) {
  return document.root.Find(key);
}

// As gemma-3-4b-it is published: most keys are left to the defaults of the class.
constexpr char kGemma3[] = R"({
  "architectures": [
    "Gemma3ForConditionalGeneration"
  ],
  "boi_token_index": 255999,
  "eos_token_id": [
    1,
    106
  ],
  "image_token_index": 262144,
  "initializer_range": 0.02,
  "mm_tokens_per_image": 256,
  "model_type": "gemma3",
  "text_config": {
    "hidden_size": 2560,
    "intermediate_size": 10240,
    "model_type": "gemma3_text",
    "num_hidden_layers": 34,
    "rope_scaling": {
      "factor": 8.0,
      "rope_type": "linear"
    },
    "sliding_window": 1024
  },
  "torch_dtype": "bfloat16",
  "transformers_version": "4.50.0.dev0",
  "vision_config": {
    "hidden_size": 1152
  }
}
)";

TEST(TextPartConfig, IsTheTextConfigWithWhatItLeavesToTheWhole) {
  EXPECT_EQ(TextPart(kGemma3), R"({
  "tie_word_embeddings": true,
  "architectures": ["Gemma3ForCausalLM"],
  "eos_token_id": [
    1,
    106
  ],
  "torch_dtype": "bfloat16",
  "transformers_version": "4.50.0.dev0",
  "hidden_size": 2560,
  "intermediate_size": 10240,
  "model_type": "gemma3_text",
  "num_hidden_layers": 34,
  "rope_scaling": {
    "factor": 8.0,
    "rope_type": "linear"
  },
  "sliding_window": 1024
}
)");
}

TEST(TextPartConfig, OfTheGoldensDescribesTheSameModel) {
  const std::unique_ptr<Io> io = MakePosixIo();
  for (const std::string name : {"gemma3_wrapper", "mistral3_wrapper"}) {
    const std::string text =
        TextPart(ReadBytes(*io, StrCat("tests/goldens/", name, "/config.json")));
    EXPECT_THAT(text, HasSubstr("ForCausalLM"));
  }
}

TEST(TextPartConfig, WhatItSaysItselfCounts) {
  const absl::StatusOr<Document> text = ParseJson("t", TextPart(R"({"model_type": "mistral3",
      "eos_token_id": 7, "tie_word_embeddings": true, "dtype": "bfloat16", "text_config": {
      "eos_token_id": 2, "tie_word_embeddings": false, "architectures": ["Other"],
      "sliding_window": null}})"));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*Find(*text, "eos_token_id")->As<int64_t>(), 2);
  EXPECT_EQ(*Find(*text, "tie_word_embeddings")->As<bool>(), true);  // here the whole decides
  EXPECT_EQ(*Find(*text, "model_type")->As<std::string>(), "mistral");
  EXPECT_EQ(*Find(*text, "dtype")->As<std::string>(), "bfloat16");
  EXPECT_EQ((*Find(*text, "architectures")->As<Value::Array>())[0].As<std::string>()->c_str(),
            std::string("Other"));
}

// The whole's would make another row of the embedding the padding.
TEST(TextPartConfig, ThePaddingTokenIsItsOwn) {
  EXPECT_THAT(TextPart(R"({"model_type": "gemma3", "pad_token_id": 5, "text_config": {}})"),
              ::testing::Not(HasSubstr("pad_token_id")));
  EXPECT_THAT(TextPart(R"({"model_type": "mistral3", "pad_token_id": 5, "text_config":
                          {"sliding_window": null, "pad_token_id": 6}})"),
              HasSubstr("\"pad_token_id\": 6"));
}

TEST(TextPartConfig, AnEmptyTextConfigIsTheDefaultModel) {
  TextPart(R"({"model_type": "gemma3", "text_config": {}})");
  TextPart(R"({"model_type": "gemma3", "text_config": {
  }})");
}

TEST(TextPartConfig, IsRefusedWhereThereIsNone) {
  ModelSpec spec;
  spec.wrapper = "gemma3";
  spec.name = "mine";
  for (const std::string text : {R"({})", R"({"text_config": 1})", R"({"text_config": "{}"})"}) {
    const absl::Status status = TextPartConfig(text, spec).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("text_config"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("mine"));
  }
  EXPECT_EQ(TextPartConfig("[", spec).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace horizon
