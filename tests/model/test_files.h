#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/files/io.h"

namespace horizon {

// An empty folder of the running test's own, below testing::TempDir().
std::string MakeTestFolder(Io& io);
// Creates or replaces a file; a failure fails the test.
void WriteBytes(Io& io, const std::string& path, std::string_view bytes);
// All of a file; a failure fails the test.
std::string ReadBytes(Io& io, const std::string& path);
bool FileExists(Io& io, const std::string& path);
// `count` bytes that differ from place to place and between seeds.
std::vector<std::byte> PatternBytes(size_t count, unsigned seed);

}  // namespace horizon
