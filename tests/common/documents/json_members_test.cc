#include "common/documents/json_members.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace horizon {
namespace {

TEST(JsonMembers, SayWhereEachValueStands) {
  const std::string text =
      "\n { \"a\" : [1, {\"b\": \"}\"}],\"\\u0062\":-1e5 , \"c\":\"\\\\\\\"\",\n\"d\":{}, \"e\" "
      ": null\n} ";
  const absl::StatusOr<std::vector<JsonMember>> members = FindJsonMembers("f", text);
  ASSERT_TRUE(members.ok()) << members.status();
  const std::vector<std::pair<std::string, std::string>> wanted = {{"a", "[1, {\"b\": \"}\"}]"},
                                                                   {"b", "-1e5"},
                                                                   {"c", "\"\\\\\\\"\""},
                                                                   {"d", "{}"},
                                                                   {"e", "null"}};
  ASSERT_EQ(members->size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const JsonMember& member = (*members)[i];
    EXPECT_EQ(member.key, wanted[i].first);
    EXPECT_EQ(text.substr(member.begin, member.end - member.begin), wanted[i].second);
    EXPECT_EQ(text[member.key_begin], '"');
    EXPECT_LT(member.key_begin, member.begin);
    EXPECT_TRUE(i == 0 || member.key_begin > (*members)[i - 1].end);
  }
  EXPECT_TRUE(FindJsonMembers("f", "{}")->empty());
}

TEST(JsonMembers, AreThoseOfAnObjectOnly) {
  for (const std::string text : {"", "[]", "3", "{", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "{} {}"}) {
    const absl::StatusOr<std::vector<JsonMember>> members = FindJsonMembers("some.json", text);
    EXPECT_EQ(members.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_NE(std::string(members.status().message()).find("some.json"), std::string::npos);
  }
}

TEST(WithoutJsonMember, RemovesTheMemberWithItsComma) {
  const auto without = [](const std::string& text, const std::string& key) {
    const absl::StatusOr<std::string> changed = WithoutJsonMember("f", text, key);
    EXPECT_TRUE(changed.ok()) << changed.status();
    return changed.value_or("");
  };
  const std::string text = "{\n \"a\": 1,\n \"b\" : {\"a\": [2]} ,\n \"c\": \"a\"\n}\n";
  EXPECT_EQ(without(text, "a"), "{\n \"b\" : {\"a\": [2]} ,\n \"c\": \"a\"\n}\n");
  EXPECT_EQ(without(text, "b"), "{\n \"a\": 1,\n \"c\": \"a\"\n}\n");
  EXPECT_EQ(without(text, "c"), "{\n \"a\": 1,\n \"b\" : {\"a\": [2]}\n}\n");
  EXPECT_EQ(without(text, "d"), text);
  EXPECT_EQ(without("{\"a\":1}", "a"), "{}");
  EXPECT_EQ(without("{ \"\\u0061\": 1 }", "a"), "{  }");
  EXPECT_FALSE(WithoutJsonMember("f", "[]", "a").ok());
}

}  // namespace
}  // namespace horizon
