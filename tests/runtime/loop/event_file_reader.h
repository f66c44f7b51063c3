#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace horizon {

// An event of a TensorBoard event file, as far as our runs write them.
struct ReadEvent {
  double unix_seconds = 0;
  int64_t step = 0;
  std::string file_version;
  bool session_start = false;
  struct Value {
    std::string tag;
    float number = 0;
    std::string plugin;  // of its metadata, or empty
  };
  std::vector<Value> values;
};

// Reads the bytes of an event file. It shares no code with the writer. Fails the test where the
// framing, a checksum (computed bit by bit) or a message is wrong.
std::vector<ReadEvent> ReadEvents(std::string_view bytes);

// For every tag, the value of each step, as TensorBoard shows several files of one folder in the
// order of their names: a session start forgets that step and all later ones. Fails the test where
// a step has two values.
std::map<std::string, std::map<int64_t, float>> ShownScalars(const std::vector<std::string>& files);

}  // namespace horizon
