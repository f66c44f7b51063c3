#include "common/documents/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/documents/json.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Document Parsed(std::string_view text) {
  absl::StatusOr<Document> document = ParseJson("plan.json", text);
  EXPECT_TRUE(document.ok()) << document.status();
  return document.ok() ? *std::move(document) : Document();
}

// The message that reading "key" as T gives, "" when it is accepted.
template <typename T>
std::string ReadError(std::string_view value) {
  const Document document = Parsed("{\n\"key\": " + std::string(value) + "}");
  ObjectReader reader(document, document.root);
  T out{};
  reader.Required("key", &out);
  const absl::Status status = reader.Finish();
  EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

template <typename T>
T ReadAs(std::string_view value) {
  const Document document = Parsed("{\"key\": " + std::string(value) + "}");
  ObjectReader reader(document, document.root);
  T out{};
  reader.Required("key", &out);
  EXPECT_EQ(reader.Finish(), absl::OkStatus());
  return out;
}

// People write YAML; what programs write has one spelling.
TEST(ObjectReader, TakesDashesAndUnderscoresForOneInYamlOnly) {
  const auto read = [](const std::string& file, std::string_view text) {
    absl::StatusOr<Document> document = ParseJson(file, text);
    EXPECT_TRUE(document.ok()) << document.status();
    ObjectReader reader(*document, document->root);
    int64_t first = 0;
    int64_t second = 0;
    reader.Optional("clip_norm", &first);
    reader.Optional("save-every", &second);
    const absl::Status status = reader.Finish();
    return status.ok() ? std::to_string(first) + " " + std::to_string(second)
                       : std::string(status.message());
  };
  EXPECT_EQ(read("job.yaml", "{\"clip-norm\": 1, \"save_every\": 2}"), "1 2");
  EXPECT_EQ(read("job.yaml", "{\"clip_norm\": 1, \"save-every\": 2}"), "1 2");
  EXPECT_EQ(read("job.yaml", "{\"clip_norm\": 1, \"clip-norm\": 2}"),
            "job.yaml:1: \"clip-norm\" is given twice, once with another spelling");
  EXPECT_EQ(read("job.yaml", "{\"clip-norm\": 1, \"clip_norm\": 2}"),
            "job.yaml:1: \"clip-norm\" is given twice, once with another spelling");
  EXPECT_THAT(read("job.yaml", "{\"clip-norm\": true}"), HasSubstr("clip_norm: needs an integer"));
  EXPECT_EQ(read("job.json", "{\"clip-norm\": 1}"),
            "job.json:1: unknown key \"clip-norm\"; did you mean 'clip_norm'?");
}

TEST(ObjectReader, ReadsEveryDocumentedType) {
  EXPECT_EQ(ReadAs<bool>("true"), true);
  EXPECT_EQ(ReadAs<int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(ReadAs<uint64_t>("9223372036854775807"), uint64_t{INT64_MAX});
  EXPECT_EQ(ReadAs<double>("1e-4"), 1e-4);
  EXPECT_EQ(ReadAs<double>("3"), 3.0);
  EXPECT_EQ(ReadAs<double>("9223372036854775808"), 0x1p63);
  EXPECT_EQ(ReadAs<std::string>("\"\""), "");
  EXPECT_EQ(ReadAs<Bytes>("4096"), 4_KiB);
  EXPECT_EQ(ReadAs<Bytes>("\"1.5 GiB\""), 1536_MiB);
  EXPECT_THAT(ReadAs<std::vector<int64_t>>("[3, 1, 2]"), ElementsAre(3, 1, 2));
  EXPECT_THAT(ReadAs<std::vector<int64_t>>("[]"), ElementsAre());
  EXPECT_THAT(ReadAs<std::vector<std::string>>("[\"a\", \"b\"]"), ElementsAre("a", "b"));
}

TEST(ObjectReader, TypeErrorsNameFileLineKeyAndWhatWasFound) {
  EXPECT_EQ(ReadError<int64_t>("\"two\""),
            "plan.json:2: key: needs an integer, found a string \"two\"");
  EXPECT_EQ(ReadError<int64_t>("2.0"), "plan.json:2: key: needs an integer, found a number 2");
  EXPECT_EQ(ReadError<int64_t>("null"), "plan.json:2: key: needs an integer, found null");
  EXPECT_EQ(ReadError<int64_t>("true"), "plan.json:2: key: needs an integer, found true");
  EXPECT_EQ(ReadError<uint64_t>("-1"),
            "plan.json:2: key: needs an integer of zero or more, found an integer -1");
  EXPECT_EQ(ReadError<double>("\"1\""), "plan.json:2: key: needs a number, found a string \"1\"");
  EXPECT_EQ(ReadError<bool>("0"), "plan.json:2: key: needs true or false, found an integer 0");
  EXPECT_EQ(ReadError<std::string>("{}"), "plan.json:2: key: needs a string, found an object");
  EXPECT_EQ(ReadError<std::vector<int64_t>>("3"),
            "plan.json:2: key: needs an array, found an integer 3");
}

TEST(ObjectReader, IntegersBeyondInt64AreOutOfRangeNotRounded) {
  EXPECT_THAT(ReadError<int64_t>("9223372036854775808"), HasSubstr("out of range"));
  EXPECT_THAT(ReadError<int64_t>("-9223372036854775809"), HasSubstr("out of range"));
  EXPECT_THAT(ReadError<uint64_t>("18446744073709551615"), HasSubstr("9223372036854775807"));
  EXPECT_THAT(ReadError<int64_t>("1e300"), HasSubstr("out of range"));
}

TEST(ObjectReader, SizesRefuseSignsFractionsAndBadUnits) {
  EXPECT_THAT(ReadError<Bytes>("-1"), HasSubstr("key: needs a size"));
  EXPECT_THAT(ReadError<Bytes>("1.5"), HasSubstr("key: needs a size"));
  EXPECT_THAT(ReadError<Bytes>("\"5 gib\""), HasSubstr("key: cannot read \"5 gib\" as a size"));
}

TEST(ObjectReader, AnElementsErrorHasItsIndexAndLine) {
  EXPECT_EQ(ReadError<std::vector<int64_t>>("[1,\n2,\n\"x\"]"),
            "plan.json:4: key[2]: needs an integer, found a string \"x\"");
  EXPECT_THAT(ReadError<std::vector<std::string>>("[[]]"), HasSubstr("key[0]: needs a string"));
}

TEST(ObjectReader, AFailedReadLeavesTheFieldAlone) {
  const Document document = Parsed("{\"a\": [1, \"x\"], \"b\": 3}");
  ObjectReader reader(document, document.root);
  std::vector<int64_t> a = {7};
  int64_t b = 5;
  reader.Required("a", &a);
  reader.Required("b", &b);  // after an error nothing is read
  EXPECT_FALSE(reader.ok());
  EXPECT_THAT(a, ElementsAre(7));
  EXPECT_EQ(b, 5);
}

TEST(ObjectReader, OptionalFieldsMayBeMissingAndSomeMayBeNull) {
  const Document document = Parsed("{\"null\": null}");
  ObjectReader reader(document, document.root);
  int64_t value = 5;
  reader.Optional("missing", &value);
  reader.OptionalOrNull("missing", &value);
  reader.OptionalOrNull("null", &value);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(value, 5);
  reader.Optional("null", &value);
  EXPECT_THAT(reader.Finish().message(), HasSubstr("null: needs an integer, found null"));
}

TEST(ObjectReader, MissingRequiredKeyIsNamedWithTheObjectsLineAndPath) {
  const Document document = Parsed("{\n\n\"optimizer\": {}}");
  ObjectReader reader(document, *document.root.Find("optimizer"), "optimizer");
  double beta1 = 0;
  reader.Required("beta1", &beta1);
  EXPECT_EQ(reader.Finish().message(), "plan.json:3: optimizer.beta1: required and missing");
}

TEST(ObjectReader, UnknownKeysAreRefusedWithTheNearestKnownOne) {
  const Document document = Parsed("{\"buffer_depth\": 2,\n\"bufer_deph\": 3}");
  ObjectReader reader(document, document.root);
  int64_t depth = 0;
  reader.Required("buffer_depth", &depth);
  EXPECT_EQ(reader.FinishIgnoringUnknown(), absl::OkStatus());
  EXPECT_EQ(reader.Finish().message(),
            "plan.json:2: unknown key \"bufer_deph\"; did you mean 'buffer_depth'?");
  EXPECT_FALSE(reader.ok());
}

TEST(ObjectReader, AMisspelledRequiredKeyIsPointedAt) {
  const Document document = Parsed("{\"other\": 1,\n\"bufer_depth\": 3}");
  ObjectReader reader(document, document.root);
  int64_t depth = 0;
  reader.Required("buffer_depth", &depth);
  reader.Optional("other", &depth);
  EXPECT_EQ(reader.Finish().message(),
            "plan.json:2: unknown key \"bufer_depth\"; did you mean 'buffer_depth', which is "
            "required and missing?");
}

// beta2 looks like beta1 but is a key of its own, though it is read only after the error.
TEST(ObjectReader, AKnownKeyIsNotTakenForTheMissingOne) {
  const Document document = Parsed("{\"beta2\": 1}");
  ObjectReader reader(document, document.root);
  double beta = 0;
  reader.Required("beta1", &beta);
  reader.Required("beta2", &beta);
  EXPECT_EQ(reader.Finish().message(), "plan.json:1: beta1: required and missing");
}

TEST(ObjectReader, TakenAndIgnoredKeysAreKnown) {
  const Document document = Parsed("{\"a\": [1], \"b\": 2, \"c\": 3}");
  ObjectReader reader(document, document.root);
  const Value* a = reader.Take("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->As<Value::Array>()->size(), 1U);
  EXPECT_EQ(reader.Take("missing"), nullptr);
  reader.Ignore({"b", "c"});
  EXPECT_EQ(reader.Finish(), absl::OkStatus());
}

TEST(ObjectReader, TheFirstErrorStays) {
  const Document document = Parsed("{\"a\": 1,\n\"b\": 2, \"unknown\": 3}");
  ObjectReader reader(document, document.root, "top");
  reader.Fail("b", "must be even");
  reader.Fail("a", "must be odd");
  std::string text;
  reader.Required("a", &text);
  EXPECT_EQ(reader.Finish().message(), "plan.json:2: top.b: must be even");
  EXPECT_EQ(reader.FinishIgnoringUnknown().message(), "plan.json:2: top.b: must be even");
}

TEST(ObjectReader, WhatIsNoObjectIsRefused) {
  const Document document = Parsed("[1]");
  ObjectReader reader(document, document.root);
  int64_t value = 5;
  reader.Optional("a", &value);
  EXPECT_EQ(reader.Take("a"), nullptr);
  reader.Fail("a", "later");
  EXPECT_EQ(reader.Finish().message(), "plan.json:1: needs an object, found an array");
  ObjectReader nested(document, document.root, "optimizer");
  EXPECT_EQ(nested.Finish().message(), "plan.json:1: optimizer: needs an object, found an array");
}

TEST(ObjectReader, HostileKeysDoNotSpoilTheMessage) {
  const Document document = Parsed("{\"a\\n\\u001b" + std::string(10'000, 'x') + "\": 1}");
  ObjectReader reader(document, document.root);
  const std::string message(reader.Finish().message());
  EXPECT_LT(message.size(), 200U);
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(Value, FindsMembersOfObjectsOnly) {
  const Document document = Parsed("{\"a\": {\"b\": null}}");
  const Value* a = document.root.Find("a");
  ASSERT_NE(a, nullptr);
  ASSERT_NE(a->Find("b"), nullptr);
  EXPECT_TRUE(a->Find("b")->is_null());
  EXPECT_EQ(a->Find("b")->Find("c"), nullptr);
  EXPECT_EQ(document.root.Find("b"), nullptr);
}

TEST(Value, NamesItsKind) {
  const Document document = Parsed("[null, true, 1, 1.0, \"\", [], {}]");
  const char* const kKinds[] = {"null",     "true or false", "an integer", "a number",
                                "a string", "an array",      "an object"};
  const auto* elements = document.root.As<Value::Array>();
  ASSERT_EQ(elements->size(), 7U);
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ((*elements)[i].KindName(), kKinds[i]);
}

}  // namespace
}  // namespace horizon
