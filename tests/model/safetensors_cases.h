#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace horizon {

// One hand-made safetensors file and what a reader must say to it.
struct SafetensorsCase {
  std::string name;  // letters, digits and '_': also the name of the file when it is written out
  std::string bytes;
  bool accepted = false;
  std::string message;  // a part of the refusal
};

// Every rule a header has to keep (lengths, JSON, names, types, shapes, offsets without hole or
// overlap), from both sides; names are unique.
std::vector<SafetensorsCase> AllSafetensorsCases();

// The eight bytes of `length`, little endian.
std::string LengthPrefix(uint64_t length);
// A whole file: length, header, `data_bytes` bytes that count up from 0.
std::string SafetensorsFile(std::string_view header, uint64_t data_bytes);
// `"NAME":{"dtype":"DTYPE","shape":SHAPE,"data_offsets":OFFSETS}`, all as given.
std::string EntryText(std::string_view name, std::string_view dtype, std::string_view shape,
                      std::string_view offsets);

}  // namespace horizon
