#include "tests/model/test_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "common/text/str_cat.h"

namespace horizon {

std::string MakeTestFolder(Io& io) {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = StrCat(test->test_suite_name(), "_", test->name(), "_XXXXXX");
  std::replace(name.begin(), name.end(), '/', '_');  // of parameterised suites
  std::string folder = JoinPath(testing::TempDir(), name);
  EXPECT_NE(::mkdtemp(folder.data()), nullptr) << folder;
  return folder;
}

void WriteBytes(Io& io, const std::string& path, std::string_view bytes) {
  absl::StatusOr<std::unique_ptr<File>> file = io.Open(path, OpenMode::kTruncate);
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::Status written = (*file)->WriteAt(0, std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(written.ok()) << written;
  ASSERT_TRUE((*file)->Close().ok());
}

std::string ReadBytes(Io& io, const std::string& path) {
  absl::StatusOr<std::string> text = ReadTextFile(io, path, 256_MiB);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.value_or("");
}

bool FileExists(Io& io, const std::string& path) { return io.Info(path).ok(); }

std::vector<std::byte> PatternBytes(size_t count, unsigned seed) {
  std::vector<std::byte> bytes(count);
  uint32_t state = seed * 2654435761U + 12345;
  for (std::byte& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

}  // namespace horizon
