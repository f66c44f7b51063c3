#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace horizon {

// Writes one Protocol Buffers message, field by field, in the binary format of
// protobuf.dev/programming-guides/encoding. There is no schema: the caller knows the numbers and
// types of the fields. A nested message is written first and then added as bytes:
//
//   ProtobufWriter value;
//   value.AddBytes(1, "train/loss").AddFloat(2, 2.5f);
//   ProtobufWriter summary;
//   summary.AddBytes(1, value.bytes());
//
// Field numbers are from 1 to 2^29 - 1. Fields are written in the order of the calls, also those
// with their default value.
class ProtobufWriter {
 public:
  // int64, uint64, bool and enum fields. Negative numbers take ten bytes, as int64 fields do.
  ProtobufWriter& AddInteger(int field, int64_t value);
  ProtobufWriter& AddFloat(int field, float value);
  ProtobufWriter& AddDouble(int field, double value);
  // string, bytes and message fields.
  ProtobufWriter& AddBytes(int field, std::string_view value);

  const std::string& bytes() const { return bytes_; }

 private:
  void AddVarint(uint64_t value);
  void AddTag(int field, uint64_t wire_type);

  std::string bytes_;
};

}  // namespace horizon
