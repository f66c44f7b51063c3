#include "model/files/safetensors_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "common/text/str_cat.h"
#include "model/files/dtype.h"
#include "tests/model/safetensors_cases.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

// What a reader does with the bytes of a whole file, without a file.
absl::StatusOr<SafetensorsHeader> ParseWhole(std::string_view bytes) {
  const auto first = std::as_bytes(std::span(bytes)).first(std::min<size_t>(8, bytes.size()));
  absl::StatusOr<Bytes> length = DecodeHeaderLength("x.safetensors", first, Bytes(bytes.size()));
  if (!length.ok()) return length.status();
  return ParseSafetensorsHeader("x.safetensors", bytes.substr(8, length->value()),
                                Bytes(bytes.size()) - 8_B - *length);
}

class HandMadeFile : public testing::TestWithParam<SafetensorsCase> {};

TEST_P(HandMadeFile, GetsItsVerdictAndReason) {
  const absl::StatusOr<SafetensorsHeader> header = ParseWhole(GetParam().bytes);
  ASSERT_EQ(header.ok(), GetParam().accepted) << header.status();
  if (header.ok()) return;
  EXPECT_EQ(header.status().code(), absl::StatusCode::kDataLoss) << header.status();
  EXPECT_THAT(std::string(header.status().message()), HasSubstr("x.safetensors"));
  EXPECT_THAT(std::string(header.status().message()), HasSubstr(GetParam().message));
  EXPECT_LT(header.status().message().size(), 1000) << "a hostile name must not flood the log";
}

INSTANTIATE_TEST_SUITE_P(Section3, HandMadeFile, testing::ValuesIn(AllSafetensorsCases()),
                         [](const auto& tested) { return tested.param.name; });

TEST(SafetensorsCases, AreManyAndNamedOnce) {
  std::set<std::string> names;
  for (const SafetensorsCase& one : AllSafetensorsCases()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
  }
  EXPECT_GE(names.size(), 60);
}

TEST(SafetensorsHeader, ListsTensorsInOrderOfTheirBytes) {
  const auto header = ParseSafetensorsHeader(
      "x",
      StrCat("{", EntryText("last", "BF16", "[3]", "[8,14]"), ",\"__metadata__\":{\"k\":\"v\"},",
             EntryText("empty", "F64", "[2,0]", "[8,8]"), ",",
             EntryText("first", "I64", "[]", "[0,8]"), "}"),
      14_B);
  ASSERT_TRUE(header.ok()) << header.status();
  ASSERT_EQ(header->tensors().size(), 3);
  EXPECT_EQ(header->tensors()[0].name, "first");
  EXPECT_EQ(header->tensors()[1].name, "empty");
  const TensorEntry& last = header->tensors()[2];
  EXPECT_EQ(last.name, "last");
  EXPECT_EQ(last.dtype, Dtype::kBF16);
  EXPECT_EQ(last.shape, (std::vector<int64_t>{3}));
  EXPECT_EQ(last.begin, 8);
  EXPECT_EQ(last.end, 14);
  EXPECT_EQ(last.bytes(), 6_B);
  EXPECT_TRUE(header->tensors()[0].shape.empty());
  EXPECT_EQ(header->Find("last"), &last);
  EXPECT_EQ(header->Find("las"), nullptr);
  EXPECT_EQ(header->Find("__metadata__"), nullptr);
  ASSERT_EQ(header->metadata().size(), 1);
  EXPECT_EQ(header->metadata()[0].second, "v");
}

// A shape must not leak from one entry into the next.
TEST(SafetensorsHeader, KeepsEntriesApart) {
  const auto header = ParseSafetensorsHeader("x",
                                             StrCat("{", EntryText("a", "U8", "[2,3,4]", "[0,24]"),
                                                    ",", EntryText("b", "U8", "[]", "[24,25]"), ",",
                                                    EntryText("c", "U8", "[5]", "[25,30]"), "}"),
                                             30_B);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->Find("a")->shape, (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(header->Find("b")->shape, (std::vector<int64_t>{}));
  EXPECT_EQ(header->Find("c")->shape, (std::vector<int64_t>{5}));
}

// The second entry lacks what the first had: nothing may be carried over.
TEST(SafetensorsHeader, FieldsAreNotInheritedFromTheEntryBefore) {
  const auto header = ParseSafetensorsHeader(
      "x", StrCat("{", EntryText("a", "U8", "[0]", "[0,0]"), R"(,"b":{"dtype":"U8","shape":[0]}})"),
      0_B);
  ASSERT_FALSE(header.ok());
  EXPECT_THAT(std::string(header.status().message()),
              HasSubstr("tensor \"b\": data_offsets is missing"));
}

TEST(SafetensorsHeader, FindsEveryOneOfManyTensors) {
  constexpr int kTensors = 20'000;
  std::string text = "{";
  for (int i = 0; i < kTensors; ++i) {
    text += StrCat(i == 0 ? "" : ",", EntryText(StrCat("model.layers.", i), "U8", "[1]",
                                                StrCat("[", i, ",", i + 1, "]")));
  }
  const auto header = ParseSafetensorsHeader("x", text + "}", Bytes(kTensors));
  ASSERT_TRUE(header.ok()) << header.status();
  for (int i = 0; i < kTensors; ++i) {
    const TensorEntry* tensor = header->Find(StrCat("model.layers.", i));
    ASSERT_NE(tensor, nullptr) << i;
    ASSERT_EQ(tensor->begin, i);
  }
  EXPECT_EQ(header->Find(StrCat("model.layers.", kTensors)), nullptr);
}

TEST(SafetensorsHeader, OneTensorMoreThanAMillionIsRefused) {
  std::string text = "{";
  for (size_t i = 0; i < kMaxSafetensorsTensors; ++i) {
    text += StrCat(i == 0 ? "" : ",", EntryText(StrCat(i), "U8", "[0]", "[0,0]"));
  }
  const auto full = ParseSafetensorsHeader("x", text + "}", 0_B);
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_EQ(full->tensors().size(), kMaxSafetensorsTensors);

  const auto above = ParseSafetensorsHeader(
      "x", StrCat(text, ",", EntryText("b", "U8", "[0]", "[0,0]"), "}"), 0_B);
  ASSERT_FALSE(above.ok());
  EXPECT_THAT(std::string(above.status().message()), HasSubstr("more than 1000000 tensors"));
}

TEST(SafetensorsHeader, HostileNamesAreCutInMessages) {
  const std::string name(1'000'000, 'x');
  const auto header =
      ParseSafetensorsHeader("x", StrCat("{", EntryText(name, "X", "[0]", "[0,0]"), "}"), 0_B);
  ASSERT_FALSE(header.ok());
  EXPECT_LT(header.status().message().size(), 300);
}

TEST(TensorBytes, IsCheckedLeftToRight) {
  EXPECT_EQ(TensorBytes(Dtype::kF32, {}), 4_B);
  const int64_t plain[] = {3, 5};
  EXPECT_EQ(TensorBytes(Dtype::kF32, plain), 60_B);
  EXPECT_EQ(TensorBytes(Dtype::kF4, plain), std::nullopt);
  const int64_t wrapping[] = {int64_t{1} << 62, 4, 0};
  EXPECT_EQ(TensorBytes(Dtype::kU8, wrapping), std::nullopt);
  const int64_t empty[] = {0, int64_t{1} << 62, 4};
  EXPECT_EQ(TensorBytes(Dtype::kU8, empty), 0_B);
  const int64_t negative[] = {-1};
  EXPECT_EQ(TensorBytes(Dtype::kU8, negative), std::nullopt);
}

TEST(Dtype, NamesAreUniqueAndReadBack) {
  std::set<std::string_view> names;
  for (const Dtype dtype : AllDtypes()) {
    EXPECT_TRUE(names.insert(ToString(dtype)).second);
    EXPECT_EQ(ParseDtype(ToString(dtype)), dtype);
    EXPECT_GT(BitsOf(dtype), 0);
  }
  EXPECT_EQ(names.size(), 22);
  EXPECT_EQ(ParseDtype("bf16"), std::nullopt);
  EXPECT_EQ(BitsOf(Dtype::kC64), 64);
  EXPECT_EQ(BitsOf(Dtype::kF6E3M2), 6);
}

}  // namespace
}  // namespace horizon
