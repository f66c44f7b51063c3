#include "common/process_memory.h"

#include <charconv>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>

#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The value of the line "NAME:   123 kB", or nothing.
std::string_view LineOf(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.size() > name.size() && line.substr(0, name.size()) == name &&
        line[name.size()] == ':') {
      return Trimmed(line.substr(name.size() + 1));
    }
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
  }
  return "";
}

absl::StatusOr<Bytes> KibibytesOf(const std::string& path, std::string_view text,
                                  std::string_view name) {
  const std::string_view value = LineOf(text, name);
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
  const Bytes bytes = 1_KiB * count;
  const std::string_view unit = value.substr(static_cast<size_t>(end - value.data()));
  if (error != std::errc() || unit != " kB" || !bytes.ok()) {
    return absl::InvalidArgumentError(StrCat(path, " has no line \"", name,
                                             ": N kB\": this kernel does not tell what memory a "
                                             "process uses"));
  }
  return bytes;
}

}  // namespace

absl::StatusOr<ProcessMemory> ReadProcessMemory(Io& io, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(io, path));
  ProcessMemory memory;
  ASSIGN_OR_RETURN(memory.anonymous, KibibytesOf(path, text, "RssAnon"));
  ASSIGN_OR_RETURN(memory.shared, KibibytesOf(path, text, "RssShmem"));
  ASSIGN_OR_RETURN(memory.file, KibibytesOf(path, text, "RssFile"));
  ASSIGN_OR_RETURN(memory.peak_resident, KibibytesOf(path, text, "VmHWM"));
  return memory;
}

absl::Status ResetPeakMemory(Io& io, const std::string& path) {
  // Never created where there is no such file.
  RETURN_IF_ERROR(io.Info(path).status());
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, io.Open(path, OpenMode::kTruncate));
  const absl::Status written = file->WriteAt(0, std::as_bytes(std::span("5", 1)));
  const absl::Status closed = file->Close();
  return written.ok() ? closed : written;
}

}  // namespace horizon
