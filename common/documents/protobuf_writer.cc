#include "common/documents/protobuf_writer.h"

#include <bit>

#include "common/text/little_endian.h"

namespace horizon {
namespace {

// How the bytes of a field are told from the next one's.
constexpr uint64_t kVarint = 0;
constexpr uint64_t kFixed64 = 1;
constexpr uint64_t kLengthDelimited = 2;
constexpr uint64_t kFixed32 = 5;

}  // namespace

// Seven bits a byte, the lowest first; all bytes but the last have their high bit set.
void ProtobufWriter::AddVarint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

void ProtobufWriter::AddTag(int field, uint64_t wire_type) {
  AddVarint(static_cast<uint64_t>(field) << 3 | wire_type);
}

ProtobufWriter& ProtobufWriter::AddInteger(int field, int64_t value) {
  AddTag(field, kVarint);
  AddVarint(static_cast<uint64_t>(value));
  return *this;
}

ProtobufWriter& ProtobufWriter::AddFloat(int field, float value) {
  AddTag(field, kFixed32);
  bytes_ += LittleEndian(std::bit_cast<uint32_t>(value));
  return *this;
}

ProtobufWriter& ProtobufWriter::AddDouble(int field, double value) {
  AddTag(field, kFixed64);
  bytes_ += LittleEndian(std::bit_cast<uint64_t>(value));
  return *this;
}

ProtobufWriter& ProtobufWriter::AddBytes(int field, std::string_view value) {
  AddTag(field, kLengthDelimited);
  AddVarint(value.size());
  bytes_ += value;
  return *this;
}

}  // namespace horizon
