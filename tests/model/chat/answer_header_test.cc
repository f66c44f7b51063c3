#include "model/chat/answer_header.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace horizon {
namespace {

TEST(AnswerHeader, AnOpeningIsWhatTheGenerationPromptAdds) {
  EXPECT_EQ(OpeningOf("a<e>\n", "a<e>\n<b>assistant\n"), "<b>assistant\n");
  EXPECT_EQ(OpeningOf("a", "a"), "");
  // Where a template ends with something else instead, the common beginning of both is lost.
  EXPECT_EQ(OpeningOf("a<|end|>", "a<|assistant|>"), "assistant|>");
}

TEST(AnswerHeader, AnOpeningEndsBeforeATagThatOpensReasoning) {
  for (const std::string_view tag :
       {"<think>\n", "<think>\n\n</think>\n\n", "[THINK]", "<thinking>", "<|START_THINKING|>",
        "<seed:think>", "◁think▷", "<thought>", "<reasoning>\n", "<|begin_of_thought|>"}) {
    EXPECT_EQ(OpeningOf("", std::string("<|assistant|>\n") + std::string(tag)), "<|assistant|>\n")
        << tag;
  }
  // One that closes reasoning says that there is none: the model goes on behind it.
  EXPECT_EQ(OpeningOf("", "<|Assistant|></think>"), "<|Assistant|></think>");
  EXPECT_EQ(OpeningOf("", "<|assistant|>I think"), "<|assistant|>I think");
}

TEST(AnswerHeader, AHeaderIsTheOpening) {
  EXPECT_EQ(HeaderLength("<b>assistant\nHi<e>", 13, "<b>assistant\n"), 13u);
  // Space around it is as the message has it.
  EXPECT_EQ(HeaderLength(" ASSISTANT: Hi", 12, "ASSISTANT:"), 11u);
  EXPECT_EQ(HeaderLength("\nASSISTANT: Hi", 12, " ASSISTANT: "), 11u);
  // As Phi-3's, whose text ends with another token without the prompt.
  EXPECT_EQ(HeaderLength("<|assistant|>\nHi", 14, "assistant|>\n"), 14u);
  // What a record says is no header.
  EXPECT_EQ(HeaderLength("say: ASSISTANT:", 0, "ASSISTANT:"), 0u);
}

TEST(AnswerHeader, WithoutAnOpeningAHeaderIsTheRoleAndItsLine) {
  EXPECT_EQ(HeaderLength("<b>assistant\nHi<e>", 13, ""), 13u);
  EXPECT_EQ(HeaderLength("<h>assistant</h>\n\nHi<e>", 18, ""), 18u);
  EXPECT_EQ(HeaderLength("### Assistant: Hi", 15, ""), 14u);
  EXPECT_EQ(HeaderLength("<|assistant|>Hi", 13, ""), 13u);
  EXPECT_EQ(HeaderLength("<b>assistant\n<think>\n\n</think>\n\nHi", 33, ""), 13u);
  EXPECT_EQ(HeaderLength("<b>assistant <think>Hi", 20, ""), 13u);
  EXPECT_EQ(HeaderLength(" Hi</s>", 1, ""), 0u);
  // Without words of the record the end of an answer is no part of its header.
  EXPECT_EQ(HeaderLength("<|assistant|><e>", 16, ""), 13u);
  EXPECT_EQ(HeaderLength("<b>assistant\n<e>\n", 17, ""), 13u);
  EXPECT_EQ(HeaderLength("</s>", 4, ""), 0u);
}

}  // namespace
}  // namespace horizon
