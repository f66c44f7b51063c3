#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace horizon {

// The TensorBoard event files of a run in the folder of RunShell, as TensorBoard shows them: for
// every tag the value of each step (ShownScalars).
std::map<std::string, std::map<int64_t, float>> ScalarsOf(const std::string& run);

// A number of each line of a file of JSON lines by its step, as a float.
std::map<int64_t, float> FiguresOf(const std::string& file, const std::string& key);

}  // namespace horizon
