#include "planner/profile/host/proc_text.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace horizon {
namespace {

// No machine has as many of anything; a longer list is nonsense.
constexpr uint64_t kMostNumbers = 1'000'000;

bool NotForUs(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsPermissionDenied(status);
}

}  // namespace

std::vector<std::string_view> SplitText(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view TrimmedText(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

std::optional<uint64_t> NumberAt(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

std::optional<std::string_view> LineOf(std::string_view text, std::string_view name) {
  for (const std::string_view line : SplitText(text, '\n')) {
    if (line.substr(0, name.size()) != name) continue;
    std::string_view rest = TrimmedText(line.substr(name.size()));
    if (!rest.empty() && rest.front() == ':') rest = TrimmedText(rest.substr(1));
    return rest;
  }
  return std::nullopt;
}

std::vector<int64_t> NumbersOfList(std::string_view list) {
  std::vector<int64_t> numbers;
  for (const std::string_view range : SplitText(TrimmedText(list), ',')) {
    const std::optional<uint64_t> first = NumberAt(range);
    const size_t dash = range.find('-');
    const std::optional<uint64_t> last =
        dash == std::string_view::npos ? first : NumberAt(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last > kMostNumbers ||
        numbers.size() > kMostNumbers) {
      return {};
    }
    for (uint64_t number = *first; number <= *last; ++number) {
      numbers.push_back(static_cast<int64_t>(number));
    }
  }
  return numbers;
}

std::vector<int64_t> NumbersOfNames(const std::vector<std::string>& names,
                                    std::string_view prefix) {
  std::vector<int64_t> numbers;
  for (const std::string_view name : names) {
    if (name.substr(0, prefix.size()) != prefix) continue;
    const std::optional<uint64_t> number = NumberAt(name.substr(prefix.size()));
    if (number && *number <= kMostNumbers) numbers.push_back(static_cast<int64_t>(*number));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

absl::StatusOr<std::optional<std::string>> ReadIfThere(Io& io, const std::string& path) {
  absl::StatusOr<std::string> text = ReadTextFile(io, path);
  if (text.ok()) return std::optional<std::string>(*std::move(text));
  if (NotForUs(text.status())) return std::optional<std::string>();
  return text.status();
}

absl::StatusOr<std::vector<std::string>> ListIfThere(Io& io, const std::string& path) {
  absl::StatusOr<std::vector<std::string>> names = io.List(path);
  if (!names.ok() && NotForUs(names.status())) return std::vector<std::string>();
  return names;
}

}  // namespace horizon
