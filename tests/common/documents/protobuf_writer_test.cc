#include "common/documents/protobuf_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/escaping.h"

namespace horizon {
namespace {

std::string Hex(const ProtobufWriter& message) { return absl::BytesToHexString(message.bytes()); }

// The examples of protobuf.dev/programming-guides/encoding.
TEST(ProtobufWriter, WritesTheExamplesOfTheSpecification) {
  EXPECT_EQ(Hex(ProtobufWriter().AddInteger(1, 150)), "089601");
  EXPECT_EQ(Hex(ProtobufWriter().AddBytes(2, "testing")), "120774657374696e67");
  ProtobufWriter nested;
  nested.AddInteger(1, 150);
  EXPECT_EQ(Hex(ProtobufWriter().AddBytes(3, nested.bytes())), "1a03089601");
  EXPECT_EQ(Hex(ProtobufWriter().AddInteger(1, -2)), "08feffffffffffffffff01");
}

TEST(ProtobufWriter, IntegersTakeAByteForEverySevenBits) {
  EXPECT_EQ(Hex(ProtobufWriter().AddInteger(1, 0)), "0800");
  EXPECT_EQ(Hex(ProtobufWriter().AddInteger(1, 127)), "087f");
  EXPECT_EQ(Hex(ProtobufWriter().AddInteger(1, 128)), "088001");
  EXPECT_EQ(Hex(ProtobufWriter().AddInteger(1, 16383)), "08ff7f");
  EXPECT_EQ(Hex(ProtobufWriter().AddInteger(1, 16384)), "08808001");
  EXPECT_EQ(Hex(ProtobufWriter().AddInteger(1, std::numeric_limits<int64_t>::max())),
            "08ffffffffffffffff7f");
}

TEST(ProtobufWriter, FloatsAreLittleEndian) {
  EXPECT_EQ(Hex(ProtobufWriter().AddFloat(2, 2.5f)), "1500002040");
  EXPECT_EQ(Hex(ProtobufWriter().AddDouble(1, -1.5)), "09000000000000f8bf");
}

TEST(ProtobufWriter, LargeFieldNumbersTakeMoreBytes) {
  EXPECT_EQ(Hex(ProtobufWriter().AddInteger(15, 1)), "7801");
  EXPECT_EQ(Hex(ProtobufWriter().AddInteger(16, 1)), "800101");
}

TEST(ProtobufWriter, LongAndEmptyTextsKeepTheirLength) {
  EXPECT_EQ(Hex(ProtobufWriter().AddBytes(1, "")), "0a00");
  const std::string text(300, 'x');
  EXPECT_EQ(ProtobufWriter().AddBytes(1, text).bytes(), "\x0a\xac\x02" + text);
}

}  // namespace
}  // namespace horizon
