#include "common/documents/document_builder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace horizon {
namespace {

Value NumberOf(std::string_view literal) {
  DocumentBuilder builder("f", {});
  const absl::Status status = builder.Number(literal, 1);
  EXPECT_TRUE(status.ok()) << status;
  return status.ok() ? std::move(builder).Finish().root : Value();
}

TEST(DocumentBuilder, IntegersAreExactToTheEdgesOfInt64) {
  EXPECT_EQ(*NumberOf("9223372036854775807").As<int64_t>(), INT64_MAX);
  EXPECT_EQ(*NumberOf("-9223372036854775808").As<int64_t>(), INT64_MIN);
  EXPECT_EQ(*NumberOf("9007199254740993").As<int64_t>(), 9007199254740993);
  EXPECT_EQ(*NumberOf("-0").As<int64_t>(), 0);
  EXPECT_EQ(*NumberOf("+12").As<int64_t>(), 12);
}

TEST(DocumentBuilder, BeyondInt64ThereAreDoubles) {
  EXPECT_EQ(*NumberOf("9223372036854775808").As<double>(), 0x1p63);
  EXPECT_EQ(*NumberOf("-9223372036854775809").As<double>(), -0x1p63);
  EXPECT_EQ(*NumberOf("1.").As<double>(), 1.0);
  EXPECT_EQ(*NumberOf(".5").As<double>(), 0.5);
  EXPECT_EQ(*NumberOf("1e3").As<double>(), 1000.0);
  EXPECT_EQ(*NumberOf("1.7976931348623157e308").As<double>(), std::numeric_limits<double>::max());
  EXPECT_EQ(*NumberOf("5e-324").As<double>(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(*NumberOf("1e-400").As<double>(), 0.0);
}

TEST(DocumentBuilder, BeyondDoubleIsRefused) {
  for (const std::string& literal :
       std::vector<std::string>{"1e309", "-1e400", std::string(400, '9')}) {
    DocumentBuilder builder("f", {});
    const absl::Status status = builder.Number(literal, 7);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message().substr(0, 5), "f:7: ");
    EXPECT_LT(status.message().size(), 200U);
  }
}

TEST(DocumentBuilder, PiecesInImpossibleOrderAreABug) {
  EXPECT_DEATH({ DocumentBuilder("f", {}).EndArray().IgnoreError(); }, "CHECK");
  EXPECT_DEATH({ DocumentBuilder("f", {}).Key("k", 1).IgnoreError(); }, "CHECK");
  EXPECT_DEATH({ (void)DocumentBuilder("f", {}).Finish(); }, "CHECK");
  EXPECT_DEATH(
      {
        DocumentBuilder builder("f", {});
        builder.BeginObject(1).IgnoreError();
        builder.Scalar(nullptr, 1).IgnoreError();
      },
      "CHECK");
  EXPECT_DEATH(
      {
        DocumentBuilder builder("f", {});
        builder.BeginObject(1).IgnoreError();
        builder.EndArray().IgnoreError();
      },
      "CHECK");
}

}  // namespace
}  // namespace horizon
