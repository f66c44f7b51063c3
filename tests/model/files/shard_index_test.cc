#include "model/files/shard_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;
using std::string_literals::operator""s;

struct HostileIndex {
  std::string name;
  std::string text;
  std::string message;
};

// An index that places tensor "a" in the shard `json_string` (a JSON value as text).
std::string Places(std::string_view json_string) {
  return StrCat("{\"metadata\":{},\"weight_map\":{\"a\":", json_string, "}}");
}

std::vector<HostileIndex> HostileIndexes() {
  std::string deep = "{\"weight_map\":";
  for (int i = 0; i < 1'000'000; ++i) deep += "[";
  return {
      {"absolute", Places("\"/etc/passwd\""), "directory"},
      {"absolute_shard", Places("\"/tmp/a.safetensors\""), "directory"},
      {"parent", Places("\"../a.safetensors\""), "directory"},
      {"parent_alone", Places("\"..\""), "'..'"},
      {"parent_escaped", Places("\"..\\u002fa.safetensors\""), "directory"},
      {"slash_escaped", Places("\"x\\/a.safetensors\""), "directory"},
      {"folder", Places("\"x/a.safetensors\""), "directory"},
      {"folder_and_back", Places("\"x/../a.safetensors\""), "directory"},
      {"backslash", Places("\"..\\\\a.safetensors\""), "directory"},
      {"drive", Places("\"C:\\\\a.safetensors\""), "directory"},
      {"dots_inside", Places("\"a..safetensors\""), "'..'"},
      {"dots_first", Places("\"..a.safetensors\""), "'..'"},
      {"dot", Places("\".\""), "end in .safetensors"},
      {"empty", Places("\"\""), "is empty"},
      {"suffix_alone", Places("\".safetensors\""), "end in .safetensors"},
      {"zero_byte", Places("\"a.safetensors\\u0000\""), "control"},
      {"zero_byte_hides_suffix", Places("\"/etc/passwd\\u0000.safetensors\""), "directory"},
      {"zero_byte_inside", Places("\"a\\u0000.safetensors\""), "control"},
      {"newline", Places("\"a\\n.safetensors\""), "control"},
      {"delete_character", Places("\"a\x7F.safetensors\""), "control"},
      {"pickle", Places("\"pytorch_model.bin\""), "end in .safetensors"},
      {"upper_case_suffix", Places("\"a.SAFETENSORS\""), "end in .safetensors"},
      {"long_name", Places(StrCat("\"", std::string(250, 'x'), ".safetensors\"")), "255 bytes"},
      {"huge_name", Places(StrCat("\"", std::string(1'000'000, 'x'), ".safetensors\"")), "255"},
      {"bad_utf8", Places("\"\xFF.safetensors\""), "JSON"},
      {"number", Places("1"), "found an integer"},
      {"null", Places("null"), "found null"},
      {"array", Places("[\"a.safetensors\"]"), "found an array"},
      {"object", Places("{}"), "found an object"},
      {"same_tensor_twice", R"({"weight_map":{"a":"x.safetensors","a":"y.safetensors"}})", "\"a\""},
      {"same_tensor_twice_by_escape",
       R"({"weight_map":{"a":"x.safetensors","\u0061":"y.safetensors"}})", "a"},
      {"no_weight_map", "{}", "weight_map is missing"},
      {"weight_map_is_array", R"({"weight_map":[]})", "needs an object"},
      {"weight_map_is_null", R"({"weight_map":null})", "needs an object"},
      {"weight_map_twice", R"({"weight_map":{},"weight_map":{}})", "weight_map"},
      {"root_is_array", "[]", "weight_map is missing"},
      {"no_text", "", "JSON"},
      {"cut", R"({"weight_map":{"a":"x.safe)", "JSON"},
      {"junk_behind", Places("\"a.safetensors\"") + "x", "follows"},
      {"brackets", deep, "nested"},
  };
}

class HostileIndexTest : public testing::TestWithParam<HostileIndex> {};

INSTANTIATE_TEST_SUITE_P(Indexes, HostileIndexTest, testing::ValuesIn(HostileIndexes()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(HostileIndexTest, IsRefusedWithFileAndReason) {
  const absl::StatusOr<ShardIndex> index = ParseShardIndex("index.json", GetParam().text);
  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.status().code(), absl::StatusCode::kDataLoss) << index.status();
  EXPECT_THAT(std::string(index.status().message()), HasSubstr("index.json"));
  EXPECT_THAT(std::string(index.status().message()), HasSubstr(GetParam().message));
  EXPECT_LT(index.status().message().size(), 1000);
}

TEST(ShardIndex, HostileOnesAreMany) { EXPECT_GE(HostileIndexes().size(), 30); }

TEST(ShardIndex, ListsShardsAndTensorsSorted) {
  const absl::StatusOr<ShardIndex> index = ParseShardIndex("i", R"({
    "metadata": {"total_size": 12.0, "anything": [1]},
    "weight_map": {"z": "2.safetensors", "a": "2.safetensors", "m": "1.safetensors"},
    "unknown": null})");
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->shards, (std::vector<std::string>{"1.safetensors", "2.safetensors"}));
  const std::vector<std::pair<std::string, size_t>> expected = {{"a", 1}, {"m", 0}, {"z", 1}};
  EXPECT_EQ(index->tensors, expected);
}

TEST(ShardIndex, TakesNamesAsTheHubHasThem) {
  for (const char* name :
       {"model-00001-of-00191.safetensors", "a.safetensors",
        "model.fp16-00001-of-00002.safetensors", "-.safetensors", "\xE2\x82\xAC.safetensors"}) {
    EXPECT_TRUE(CheckShardName(name).ok()) << name;
  }
}

TEST(ShardIndex, ManyTensorsTakeNoQuadraticTime) {
  std::string text = "{\"weight_map\":{";
  for (int i = 0; i < 200'000; ++i) {
    text += StrCat(i == 0 ? "" : ",", "\"t", i, "\":\"", i % 1000, ".safetensors\"");
  }
  const absl::StatusOr<ShardIndex> index = ParseShardIndex("i", text + "}}");
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->shards.size(), 1000);
  EXPECT_EQ(index->tensors.size(), 200'000);
}

}  // namespace
}  // namespace horizon
