#include "runtime/export/config_dtype.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "model/catalog.h"

namespace horizon {
namespace {

std::string Changed(const std::string& text) {
  const absl::StatusOr<std::string> changed = WithDtype(text, "bfloat16");
  EXPECT_TRUE(changed.ok()) << text << ": " << changed.status();
  return changed.value_or("");
}

TEST(WithDtype, ChangesOneValueAndNoOtherByte) {
  const std::string before =
      "\n{ \"a\" : [1, {\"dtype\": \"x\"}],\t\"b\": 1e-05,\n \"c\":\"\\\"}\",";
  const std::string after = " , \"z\":{\"torch_dtype\":1}, \"n\": 1.50e+3}\r\n ";
  for (const std::string key : {"torch_dtype", "dtype"}) {
    for (const std::string value :
         {"\"float32\"", "null", "\"\"", "7", "{\"a\": [\"}\", 2]}", "[]", "\"a\\\\\"", "-1.5e3"}) {
      EXPECT_EQ(Changed(StrCat(before, "\"", key, "\" :  ", value, after)),
                StrCat(before, "\"", key, "\" :  \"bfloat16\"", after))
          << value;
    }
  }
}

TEST(WithDtype, FindsTheKeyInEveryPlace) {
  EXPECT_EQ(Changed(R"({"dtype":"float32"})"), R"({"dtype":"bfloat16"})");
  EXPECT_EQ(Changed(R"({"dtype":null,"a":1})"), R"({"dtype":"bfloat16","a":1})");
  EXPECT_EQ(Changed(R"({"a":{},"torch_dtype":7})"), R"({"a":{},"torch_dtype":"bfloat16"})");
  EXPECT_EQ(Changed("{\"a\":true,\n\"torch_dtype\"\n:\n7\n}"),
            "{\"a\":true,\n\"torch_dtype\"\n:\n\"bfloat16\"\n}");
}

TEST(WithDtype, ChangesBothKeysWhereBothStand) {
  EXPECT_EQ(Changed(R"({"dtype":1,"a":2,"torch_dtype":"longer than before"})"),
            R"({"dtype":"bfloat16","a":2,"torch_dtype":"bfloat16"})");
}

TEST(WithDtype, AddsTheKeyInFrontWhereThereIsNone) {
  EXPECT_EQ(Changed("{\n  \"a\": 1\n}\n"), "{\n  \"torch_dtype\": \"bfloat16\",\n  \"a\": 1\n}\n");
  EXPECT_EQ(Changed("{}"), "{\n  \"torch_dtype\": \"bfloat16\"\n}");
  // A value or a nested key of that name is not the key.
  EXPECT_EQ(Changed(R"({"a":"dtype","b":{"dtype":1}})"),
            "{\n  \"torch_dtype\": \"bfloat16\",\"a\":\"dtype\",\"b\":{\"dtype\":1}}");
}

TEST(WithDtype, RemovesQuantizationConfigAndItsComma) {
  EXPECT_EQ(
      Changed(
          "{\n  \"dtype\": \"a\",\n  \"quantization_config\": {\"a\": [1, {}]},\n  \"z\": 1\n}"),
      "{\n  \"dtype\": \"bfloat16\",\n  \"z\": 1\n}");
  EXPECT_EQ(Changed(R"({"quantization_config": null, "dtype": "a"})"), R"({"dtype": "bfloat16"})");
  EXPECT_EQ(Changed("{\"dtype\": \"a\",\n \"quantization_config\": {}\n}"),
            "{\"dtype\": \"bfloat16\"\n}");
  EXPECT_EQ(Changed(R"({"quantization_config": {}})"), "{\n  \"torch_dtype\": \"bfloat16\"\n}");
  // Of a nested object it stays.
  EXPECT_EQ(Changed(R"({"dtype": "a", "vision_config": {"quantization_config": {}}})"),
            R"({"dtype": "bfloat16", "vision_config": {"quantization_config": {}}})");
}

TEST(WithDtype, ChangesTheTextPartOfAMultimodalModelToo) {
  EXPECT_EQ(Changed(R"({"dtype":"a","text_config":{"dtype":"a","x":{"dtype":"a"}},)"
                    R"("vision_config":{"dtype":"a","text_config":{"dtype":"a"}}})"),
            R"({"dtype":"bfloat16","text_config":{"dtype":"bfloat16","x":{"dtype":"a"}},)"
            R"("vision_config":{"dtype":"a","text_config":{"dtype":"a"}}})");
  EXPECT_EQ(Changed(R"({"text_config":{"torch_dtype":1,"dtype":"longer than it"},"dtype":0})"),
            R"({"text_config":{"torch_dtype":"bfloat16","dtype":"bfloat16"},"dtype":"bfloat16"})");
  // A text part that says nothing has the type of the whole.
  EXPECT_EQ(Changed(R"({"dtype":0,"text_config":{ }})"),
            R"({"dtype":"bfloat16","text_config":{ }})");
  EXPECT_EQ(Changed(R"({"text_config":{"dtype":0}})"),
            "{\n  \"torch_dtype\": \"bfloat16\",\"text_config\":{\"dtype\":\"bfloat16\"}}");
  EXPECT_EQ(Changed(R"({"dtype":0,"text_config":[{"dtype":1}]})"),
            R"({"dtype":"bfloat16","text_config":[{"dtype":1}]})");
}

TEST(WithDtype, EveryConfigOfTheCatalogStaysWhatItIsButForTheType) {
  for (const CatalogEntry& entry : Catalog()) {
    const std::string text(entry.config);
    const std::string changed = *WithDtype(text, "float32");
    const absl::StatusOr<Document> document = ParseJson("config.json", changed);
    ASSERT_TRUE(document.ok()) << document.status();
    const Value* dtype = document->root.Find("torch_dtype");
    ASSERT_NE(dtype, nullptr) << entry.name;
    EXPECT_EQ(*dtype->As<std::string>(), "float32");
    EXPECT_EQ(*WithDtype(changed, "bfloat16"), Changed(text));
    EXPECT_EQ(*WithDtype(changed, "float32"), changed);
  }
}

TEST(WithDtype, RefusesWhatIsNoObject) {
  for (const std::string text : {"", " ", "[]", "\"{}\"", "3", "{", "{\"a\":1}}", "{\"a\":1,}",
                                 "{\"a\":1,\"a\":2}", "\xff"}) {
    const absl::StatusOr<std::string> changed = WithDtype(text, "bfloat16");
    EXPECT_EQ(changed.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(WithDtype, AKeyInNeedlessEscapesIsTheSameKey) {
  EXPECT_EQ(*WithDtype(R"({"torch\u005fdtype": "float32"})", "bfloat16"),
            R"({"torch\u005fdtype": "bfloat16"})");
  EXPECT_EQ(*WithDtype(R"({"d\u0074ype": "x", "torch_dtype": -1})", "bfloat16"),
            R"({"d\u0074ype": "bfloat16", "torch_dtype": "bfloat16"})");
}

}  // namespace
}  // namespace horizon
