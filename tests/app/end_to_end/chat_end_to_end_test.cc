// Conversations through the program: trained, gone on with, asked for, exported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kOwn[] =
    "{{ bos_token }}{% for m in messages %}{{ m.role }} {{ strftime_now('%d') }}: {{ m.content }}"
    "{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}assistant {{ strftime_now('%d') }}:{% endif %}";

// A model's folder: the shape of a golden one with room for a small tokenizer of Mistral's kind.
void WriteModel() {
  const ProcessResult made = RunShell(
      "rm -rf m run cache && mkdir m && sed 's/\"vocab_size\": 320/\"vocab_size\": 512/' "
      "\"$TEST_SRCDIR/horizon/tests/goldens/llama/config.json\" > m/config.json && "
      "cp \"$TEST_SRCDIR/horizon/tests/model/tokenizer/goldens/chat_mistral1/tokenizer.json\" m");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  WriteFile("m/tokenizer_config.json",
            R"({"bos_token": "<s>", "eos_token": "</s>", "chat_template": "{{ messages }}"})");
  std::string chats;
  for (int i = 0; i < 8; ++i) {
    chats += StrCat(R"({"messages": [{"role": "user", "content": "q)", i,
                    R"("}, {"role": "assistant", "content": "a)", i, R"("}]})", "\n");
  }
  WriteFile("chats.jsonl", chats);
  WriteFile("own.jinja", kOwn);
}

std::string Train(const std::string& more) {
  return StrCat(
      "\"$horizon\" train --machine cpu-desktop --threads 2 --model m --init random "
      "--data chats.jsonl --output run --cache cache --sequence 64 --micro-batch 2 "
      "--save-every 2 ",
      more);
}

TEST(Chat, TrainingKeepsAndExportsTheTemplateThatItWasGiven) {
  WriteModel();
  const ProcessResult first =
      RunShell(Train("--steps 2 --chat-template own.jinja --chat-date 2024-07-26"));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, AllOf(HasSubstr("8 samples"), Not(HasSubstr("ends an answer"))));
  EXPECT_EQ(RunShell("cat run/model/chat_template.jinja").out, kOwn);
  EXPECT_THAT(RunShell("cat run/train.yaml").out,
              AllOf(HasSubstr("chat-date: \"2024-07-26\""), HasSubstr("own.jinja")));
  // The exported model answers with that template and no options.
  const ProcessResult asked = RunShell(
      "\"$horizon\" generate --threads 2 --model run/model --chat --prompt hi --max-tokens 2 "
      "--chat-date 2024-07-25 --json");
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  const auto answer = ParseJson("answer", asked.out);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(*answer->root.Find("prompt_ids")->As<Value::Array>()->front().As<int64_t>(), 1);
}

TEST(Chat, ARunGoesOnWithTheTokensItBeganWith) {
  WriteModel();
  // Today's date, which train.yaml keeps: what was tokenised is found again.
  ASSERT_EQ(RunShell(Train("--steps 2 --chat-template own.jinja")).exit_code, 0);
  const std::string caches = RunShell("ls cache").out;
  EXPECT_THAT(RunShell("cat run/train.yaml").out, HasSubstr("chat-date: \"2"));
  const ProcessResult more =
      RunShell("\"$horizon\" train --config run/train.yaml --resume auto --steps 2");
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(RunShell("ls cache").out, caches);
  // On another day the tokens are others, and a run does not go on with those.
  const ProcessResult other = RunShell(
      "\"$horizon\" train --config run/train.yaml --resume auto --steps 2 --chat-date 2001-01-01");
  EXPECT_NE(other.exit_code, 0);
  EXPECT_NE(RunShell("ls cache").out, caches);
}

TEST(Chat, ABuiltInFormatIsExportedAsATemplate) {
  WriteModel();
  ASSERT_EQ(RunShell("mkdir m/additional_chat_templates && "
                     "echo x > m/additional_chat_templates/tool_use.jinja")
                .exit_code,
            0);
  ASSERT_EQ(RunShell(Train("--steps 1 --chat-format mistral")).exit_code, 0);
  EXPECT_THAT(RunShell("cat run/model/chat_template.jinja").out, HasSubstr("[INST]"));
  EXPECT_NE(RunShell("ls run/model/additional_chat_templates").exit_code, 0);
}

TEST(Chat, TheModelsOwnTemplatesAreExportedAsTheyWere) {
  WriteModel();
  WriteFile("m/chat_template.jinja", kOwn);
  ASSERT_EQ(RunShell("mkdir m/additional_chat_templates && "
                     "echo x > m/additional_chat_templates/rag.jinja")
                .exit_code,
            0);
  ASSERT_EQ(RunShell(Train("--steps 1")).exit_code, 0);
  EXPECT_EQ(RunShell("cat run/model/chat_template.jinja").out, kOwn);
  EXPECT_EQ(RunShell("cat run/model/additional_chat_templates/rag.jinja").out, "x\n");
}

TEST(Chat, AModelThatWillNotLearnToStopIsWarnedOf) {
  WriteModel();
  WriteFile("endless.jinja", "{% for m in messages %}{{ m.content }}\n{% endfor %}");
  const ProcessResult result = RunShell(Train("--steps 1 --chat-template endless.jinja"));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("8 of 8 samples have no token that ends an answer"));
}

TEST(Chat, AQuestionIsAskedWithTheGenerationPrompt) {
  WriteModel();
  WriteFile("m/chat_template.jinja",
            "{% for m in messages %}{{ '<s>' + m.role + m.content + '</s>' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<s>assistant' }}{% endif %}");
  ASSERT_EQ(RunShell(Train("--steps 1")).exit_code, 0);
  const auto prompt = [](const std::string& how) {
    const ProcessResult result = RunShell(
        StrCat("\"$horizon\" generate --threads 2 --model run/model --max-tokens 1 --json ", how));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto answer = ParseJson("answer", result.out);
    std::vector<int64_t> ids;
    for (const Value& id : *answer->root.Find("prompt_ids")->As<Value::Array>()) {
      ids.push_back(*id.As<int64_t>());
    }
    return ids;
  };
  const std::vector<int64_t> plain = prompt("--chat --prompt '</s>'");
  // <s>user, the quoted text, </s><s>assistant: the quoted one is no token.
  EXPECT_EQ(std::count(plain.begin(), plain.end(), 1), 2);
  EXPECT_EQ(std::count(plain.begin(), plain.end(), 2), 1);
  const std::vector<int64_t> told = prompt("--chat --system S --prompt x");
  EXPECT_EQ(std::count(told.begin(), told.end(), 1), 3);
  const ProcessResult evaluated = RunShell(
      "\"$horizon\" eval --threads 2 --model run/model --data chats.jsonl --sequence 64 --cache "
      "cache --exact-match --max-tokens 2 --json");
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_THAT(evaluated.out, HasSubstr("\"questions\": 8"));
}

}  // namespace
}  // namespace horizon
