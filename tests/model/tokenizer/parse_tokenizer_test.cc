// What is refused, and that every refusal names the file, the place and the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "model/tokenizer/load_tokenizer.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kModel[] =
    R"("model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]})";

void ExpectRefused(const std::string& json, const std::string& reason) {
  const absl::StatusOr<std::unique_ptr<Tokenizer>> result = ParseTokenizer(json, "dir/t.json");
  ASSERT_FALSE(result.ok()) << json;
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << json;
  EXPECT_THAT(std::string(result.status().message()),
              AllOf(StartsWith("dir/t.json"), HasSubstr(reason)))
      << json.substr(0, 300);
}

void ExpectAccepted(const std::string& json) {
  const absl::StatusOr<std::unique_ptr<Tokenizer>> result = ParseTokenizer(json, "t.json");
  EXPECT_TRUE(result.ok()) << result.status() << "\n" << json;
}

std::string WithModel(const std::string& fields) { return StrCat(R"({"model": {)", fields, "}}"); }
std::string WithSection(const std::string& section) {
  return StrCat("{", section, ", ", kModel, "}");
}

TEST(ParseTokenizer, TakesTheSmallestFiles) {
  ExpectAccepted(StrCat("{", kModel, "}"));
  ExpectAccepted(WithModel(R"("vocab": {}, "merges": [])"));
  ExpectAccepted(WithModel(R"("vocab": {"a": 2147483646}, "merges": [])"));
  ExpectAccepted(WithModel(R"("merges": [["a", "b"]], "vocab": {"a": 0, "b": 1, "ab": 7})"));
  ExpectAccepted(WithModel(R"("vocab": {"a": 0}, "merges": [], "dropout": 0.0, "unk_token": "a",
      "continuing_subword_prefix": "", "end_of_word_suffix": null)"));
  ExpectAccepted(WithSection(R"("truncation": {"x": [1]}, "padding": 3, "version": "9",
      "normalizer": null, "added_tokens": null)"));
}

TEST(ParseTokenizer, RefusesOtherKindsByName) {
  for (const std::string type : {"WordPiece", "WordLevel", "Nonsense"}) {
    ExpectRefused(WithModel(StrCat(R"("type": ")", type, R"(", "vocab": {})")), type);
  }
  // A Unigram model's vocabulary is an array, a BPE model's an object.
  ExpectRefused(WithModel(R"("type": "Unigram", "vocab": {"a": 1})"), "Unigram");
  ExpectRefused(WithModel(R"("type": "Unigram")"), "model.vocab");
  ExpectRefused(WithModel(R"("vocab": [["a", -1.5]], "merges": [])"), "model.vocab");
  for (const std::string section : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    ExpectRefused(WithSection(StrCat("\"", section, R"(": {"type": "Nothing"})")),
                  StrCat(section, R"(: the type "Nothing" is not supported)"));
    ExpectRefused(WithSection(StrCat("\"", section, R"(": {"type": 3})")), section);
    ExpectRefused(WithSection(StrCat("\"", section, R"(": "NFC")")), section);
    ExpectRefused(WithSection(StrCat("\"", section, R"(": {"type": "Sequence"})")), section);
  }
  ExpectRefused(WithSection(R"("normalizer": {"type": "Sequence", "normalizers":
      [{"type": "NFC"}, {"type": "BertNormalizer"}]})"),
                "normalizer[1]: the type \"BertNormalizer\"");
  ExpectRefused(WithSection(R"("post_processor": {"type": "RobertaProcessing"})"), "Roberta");
}

TEST(ParseTokenizer, RefusesSettingsItDoesNotHonour) {
  const std::string model = R"("vocab": {"a": 0}, "merges": [], )";
  ExpectRefused(WithModel(model + R"("dropout": 0.1)"), "model.dropout");
  ExpectRefused(WithModel(model + R"("continuing_subword_prefix": "##")"),
                "model.continuing_subword_prefix");
  ExpectRefused(WithModel(model + R"("end_of_word_suffix": "</w>")"), "model.end_of_word_suffix");
  ExpectRefused(WithModel(model + R"("unk_token": "<unk>")"), "\"<unk>\" is not in model.vocab");
}

TEST(ParseTokenizer, RefusesVocabulariesThatContradictThemselves) {
  ExpectRefused("{}", "model");
  ExpectRefused(R"({"model": 3})", "model");
  ExpectRefused("[]", "needs an object");
  ExpectRefused(WithModel(R"("vocab": {"a": 0})"), "model.merges");
  ExpectRefused(WithModel(R"("merges": [])"), "model.vocab");
  ExpectRefused(WithModel(R"("vocab": null, "merges": [])"), "model.vocab");
  ExpectRefused(WithModel(R"("vocab": "x", "merges": [])"), "model.vocab");
  ExpectRefused(WithModel(R"("vocab": {}, "merges": {"a": []})"), "model.merges");
  ExpectRefused(WithModel(R"("vocab": {"a": 0, "a": 1}, "merges": [])"), "twice");
  ExpectRefused(WithModel(R"("vocab": {"a": 0, "\u0061": 1}, "merges": [])"), "twice");
  ExpectRefused(WithModel(R"("vocab": {"a": 3, "b": 3}, "merges": [])"),
                "the id 3 belongs to both");
  for (const std::string id : {"-1", "-0", "1.0", "1e3", "2147483647", "4294967296",
                               "18446744073709551616", "\"1\"", "null", "true", "[1]", "{}"}) {
    ExpectRefused(WithModel(StrCat(R"("vocab": {"a": )", id, R"(}, "merges": [])")), "model.vocab");
  }
}

TEST(ParseTokenizer, RefusesMergesOfUnknownTokensByName) {
  const std::string vocab = R"("vocab": {"a": 0, "b": 1, "ab": 2}, )";
  ExpectRefused(WithModel(vocab + R"("merges": ["a b", "a c"])"), "needs the token \"c\"");
  ExpectRefused(WithModel(vocab + R"("merges": ["x b"])"), "needs the token \"x\"");
  ExpectRefused(WithModel(vocab + R"("merges": ["b a"])"),
                "model.merges[0]: the merge of \"b\" and \"a\" needs the token \"ba\"");
  ExpectRefused(WithModel(vocab + R"("merges": ["ab"])"), "\"ab\" is not two parts");
  ExpectRefused(WithModel(vocab + R"("merges": ["a  b"])"), "is not two parts");
  ExpectRefused(WithModel(vocab + R"("merges": [["a"]])"), "two parts");
  ExpectRefused(WithModel(vocab + R"("merges": [["a", "b", "a"]])"), "two parts");
  ExpectRefused(WithModel(vocab + R"("merges": [[]])"), "two parts");
  for (const std::string merge :
       {"3", "null", "true", "{}", R"({"a": "b"})", R"([["a", "b"]])", R"([1, 2])"}) {
    ExpectRefused(WithModel(StrCat(vocab, R"("merges": [)", merge, "]")), "model.merges");
  }
  // The line is that of the merge.
  ExpectRefused("{\"model\": {" + vocab + "\n\"merges\": [\n\"a b\",\n\"b b\"]}}", "t.json:4:");
}

TEST(ParseTokenizer, TakesUnigramModels) {
  const std::string vocab =
      R"("type": "Unigram", "vocab": [["<unk>", 0], ["a", -1.5], ["", -2]], )";
  ExpectAccepted(WithModel(vocab + R"("unk_id": 0)"));
  ExpectAccepted(WithModel(vocab + R"("unk_id": 2, "byte_fallback": true)"));
  // A piece may stand there twice: the last one counts.
  const absl::StatusOr<std::unique_ptr<Tokenizer>> twice = ParseTokenizer(
      WithModel(R"("type": "Unigram", "unk_id": 0, "vocab": [["u", 0], ["a", -1], ["a", -9]])"),
      "t.json");
  ASSERT_TRUE(twice.ok()) << twice.status();
  EXPECT_EQ((*twice)->IdOf("a"), 2);
  EXPECT_EQ((*twice)->TokenOf(1), "a");
}

TEST(ParseTokenizer, RefusesUnigramModelsThatLackSomething) {
  const std::string vocab = R"("type": "Unigram", "vocab": [["a", -1.5]])";
  ExpectRefused(WithModel(vocab), "model.unk_id");
  for (const std::string id : {"null", "1", "-1", "4294967296"}) {
    ExpectRefused(WithModel(StrCat(vocab, R"(, "unk_id": )", id)), "model.unk_id");
  }
  ExpectRefused(WithModel(R"("type": "Unigram", "unk_id": 0, "vocab": [])"), "model.unk_id");
  for (const std::string piece :
       {"3", "null", "true", "{}", R"("a")", "[]", R"(["a"])", R"(["a", -1, 2])", R"(["a", "b"])",
        R"([1, "a"])", R"(["a", null])", R"(["a", [1]])", R"(["a", {}])", R"([["a", 1]])",
        R"(["a", 1e999])", R"(["a", true])"}) {
    ExpectRefused(
        WithModel(StrCat(R"("type": "Unigram", "unk_id": 0, "vocab": [["b", 0], )", piece, "]")),
        "model.vocab[1]");
  }
}

TEST(ParseTokenizer, RefusesTablesOfCharactersThatAreCutOff) {
  const auto with = [](const std::string& fields) {
    return WithSection(StrCat(R"("normalizer": {"type": "Precompiled")", fields, "}"));
  };
  ExpectRefused(with(""), "precompiled_charsmap");
  ExpectRefused(with(R"(, "precompiled_charsmap": null)"), "precompiled_charsmap");
  for (const std::string map : {"", "AA==", "!!!!", "/////w==", "AAAAAA==", "CAAAAAAAAAA="}) {
    ExpectRefused(with(StrCat(R"(, "precompiled_charsmap": ")", map, "\"")),
                  "precompiled_charsmap");
  }
}

TEST(ParseTokenizer, RefusesAddedTokensThatContradictTheVocabulary) {
  const auto added = [](const std::string& tokens) {
    return WithSection(StrCat(R"("added_tokens": )", tokens));
  };
  ExpectAccepted(added(R"([{"id": 0, "content": "a"}, {"id": 9, "content": "x"}])"));
  ExpectAccepted(added(R"([{"id": 9, "content": ""}])"));
  ExpectRefused(added("3"), "added_tokens");
  ExpectRefused(added("[3]"), "added_tokens[0]");
  ExpectRefused(added(R"([{"id": 9}])"), "content");
  ExpectRefused(added(R"([{"content": "x"}])"), "id");
  ExpectRefused(added(R"([{"id": 1, "content": "a"}])"), "contradicts model.vocab");
  ExpectRefused(added(R"([{"id": 1, "content": "x"}])"), "contradicts model.vocab");
  ExpectRefused(added(R"([{"id": -1, "content": "x"}])"), "id");
  ExpectRefused(added(R"([{"id": 2147483647, "content": "x"}])"), "id");
  ExpectRefused(added(R"([{"id": 9, "content": "x"}, {"id": 8, "content": "x"}])"), "twice");
  ExpectRefused(added(R"([{"id": 9, "content": "x"}, {"id": 9, "content": "y"}])"), "twice");
  ExpectRefused(added(R"([{"id": 9, "content": "x", "special": 1}])"), "special");
}

TEST(ParseTokenizer, RefusesPartsWithoutWhatTheyNeed) {
  const auto pre = [](const std::string& fields) {
    return WithSection(StrCat(R"("pre_tokenizer": {)", fields, "}"));
  };
  ExpectRefused(pre(R"("type": "ByteLevel")"), "add_prefix_space");
  ExpectRefused(pre(R"("type": "Digits")"), "individual_digits");
  ExpectRefused(pre(R"("type": "Split", "behavior": "Isolated")"), "pattern");
  ExpectRefused(pre(R"("type": "Split", "behavior": "Gone", "pattern": {"String": "a"})"), "Gone");
  ExpectRefused(pre(R"("type": "Split", "behavior": "Isolated", "pattern": {"String": ""})"),
                "empty");
  ExpectRefused(pre(R"("type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(a"})"),
                "(a");
  ExpectRefused(pre(R"("type": "Split", "behavior": "Isolated", "pattern": {"Other": "a"})"),
                "Regex");
  ExpectRefused(pre(R"("type": "Metaspace", "replacement": "ab")"), "one character");
  ExpectRefused(pre(R"("type": "Metaspace", "replacement": "_", "prepend_scheme": "last")"),
                "last");
  ExpectRefused(pre(R"("type": "Metaspace", "replacement": "_", "prepend_scheme": "always",
      "add_prefix_space": false)"),
                "never");
  const auto post = [](const std::string& single) {
    return WithSection(StrCat(R"("post_processor": {"type": "TemplateProcessing", "single": )",
                              single, R"(, "special_tokens": {"b": {"ids": [1]}}})"));
  };
  ExpectAccepted(post(R"([{"SpecialToken": {"id": "b"}}, {"Sequence": {"id": "A"}}])"));
  ExpectRefused(post("[]"), "exactly once");
  ExpectRefused(post(R"([{"Sequence": {"id": "A"}}, {"Sequence": {"id": "A"}}])"), "exactly once");
  ExpectRefused(post(R"([{"Sequence": {"id": "B"}}])"), "neither");
  ExpectRefused(post(R"([{"SpecialToken": {"id": "x"}}, {"Sequence": {"id": "A"}}])"), "\"x\"");
  ExpectRefused(WithSection(R"("decoder": {"type": "Strip", "content": "a"})"), "start");
  ExpectRefused(WithSection(R"("normalizer": {"type": "Replace", "content": "a"})"), "pattern");
  ExpectRefused(WithSection(R"("normalizer": {"type": "Prepend"})"), "prepend");
}

TEST(ParseTokenizer, RefusesWhatIsTooDeepOrTooLargeOrNoJson) {
  ExpectRefused(std::string(100'000, '['), "deeper");
  ExpectRefused(WithModel(R"("other": )" + std::string(80, '[')), "deeper");
  ExpectRefused(std::string((64 << 20) + 1, ' '), "67108865 bytes");
  ExpectRefused("", "");
  ExpectRefused("{", "ends before");
  ExpectRefused(StrCat("{", kModel, "} x"), "");
  ExpectRefused("{\"model\": {\"vocab\": {\"\xFF\": 1}, \"merges\": []}}", "");
}

}  // namespace
}  // namespace horizon
