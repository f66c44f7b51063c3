#include "tests/runtime/loop/event_file_reader.h"

#include <gtest/gtest.h>

#include <cstring>

namespace horizon {
namespace {

uint32_t MaskedCrc(std::string_view bytes) {
  uint32_t crc = 0xFFFFFFFFu;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

template <typename T>
T Take(std::string_view& bytes) {
  T value{};
  if (bytes.size() < sizeof(T)) {
    ADD_FAILURE() << "the bytes end inside a number";
    bytes = {};
    return value;
  }
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
}

std::string_view TakeBytes(std::string_view& bytes, uint64_t count) {
  if (count > bytes.size()) {
    ADD_FAILURE() << count << " bytes are announced, " << bytes.size() << " are left";
    count = bytes.size();
  }
  const std::string_view taken = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return taken;
}

uint64_t TakeVarint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = Take<uint8_t>(bytes);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  ADD_FAILURE() << "a varint has more than ten bytes";
  return value;
}

struct Field {
  uint64_t number = 0;  // of the field
  uint64_t integer = 0;
  double real = 0;
  std::string_view bytes;
};

std::vector<Field> FieldsOf(std::string_view message) {
  std::vector<Field> fields;
  while (!message.empty() && !testing::Test::HasFailure()) {
    const uint64_t tag = TakeVarint(message);
    Field field{.number = tag >> 3};
    switch (tag & 7) {
      case 0:
        field.integer = TakeVarint(message);
        break;
      case 1:
        field.real = Take<double>(message);
        break;
      case 2:
        field.bytes = TakeBytes(message, TakeVarint(message));
        break;
      case 5:
        field.real = Take<float>(message);
        break;
      default:
        ADD_FAILURE() << "wire type " << (tag & 7);
    }
    fields.push_back(field);
  }
  return fields;
}

ReadEvent::Value ValueOf(std::string_view message) {
  ReadEvent::Value value;
  for (const Field& field : FieldsOf(message)) {
    if (field.number == 1) value.tag = field.bytes;
    if (field.number == 2) value.number = static_cast<float>(field.real);
    if (field.number != 9) continue;
    for (const Field& metadata : FieldsOf(field.bytes)) {
      if (metadata.number != 1) continue;
      for (const Field& plugin : FieldsOf(metadata.bytes)) {
        if (plugin.number == 1) value.plugin = plugin.bytes;
      }
    }
  }
  return value;
}

ReadEvent EventOf(std::string_view message) {
  ReadEvent event;
  for (const Field& field : FieldsOf(message)) {
    if (field.number == 1) event.unix_seconds = field.real;
    if (field.number == 2) event.step = static_cast<int64_t>(field.integer);
    if (field.number == 3) event.file_version = field.bytes;
    if (field.number == 5) {
      for (const Field& value : FieldsOf(field.bytes)) event.values.push_back(ValueOf(value.bytes));
    }
    if (field.number == 7) event.session_start = FieldsOf(field.bytes).at(0).integer == 1;
  }
  return event;
}

}  // namespace

std::vector<ReadEvent> ReadEvents(std::string_view bytes) {
  std::vector<ReadEvent> events;
  while (!bytes.empty() && !testing::Test::HasFailure()) {
    const uint32_t crc_of_length = MaskedCrc(bytes.substr(0, sizeof(uint64_t)));
    const auto length = Take<uint64_t>(bytes);
    EXPECT_EQ(Take<uint32_t>(bytes), crc_of_length) << "of the length of record " << events.size();
    const std::string_view data = TakeBytes(bytes, length);
    EXPECT_EQ(Take<uint32_t>(bytes), MaskedCrc(data)) << "of record " << events.size();
    events.push_back(EventOf(data));
  }
  return events;
}

std::map<std::string, std::map<int64_t, float>> ShownScalars(
    const std::vector<std::string>& files) {
  std::map<std::string, std::map<int64_t, float>> shown;
  for (const std::string& file : files) {
    for (const ReadEvent& event : ReadEvents(file)) {
      if (event.session_start) {
        for (auto& [tag, steps] : shown) steps.erase(steps.lower_bound(event.step), steps.end());
      }
      for (const ReadEvent::Value& value : event.values) {
        EXPECT_TRUE(shown[value.tag].emplace(event.step, value.number).second)
            << value.tag << " has step " << event.step << " twice";
      }
    }
  }
  return shown;
}

}  // namespace horizon
