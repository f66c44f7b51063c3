#include "runtime/checkpoint/checkpoint_names.h"

#include <charconv>

#include "absl/strings/str_format.h"
#include "common/check.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kTemporaryMark = ".tmp-";
constexpr size_t kLongestName = 255;

}  // namespace

std::string StepName(int64_t step) {
  CHECK(step >= 0 && step < kMaxStep);
  return StrCat(kStepPrefix, absl::StrFormat("%08d", step));
}

std::optional<int64_t> StepOfName(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kStepPrefix.size());
  int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  if (!is_number || step < 0 || step >= kMaxStep || StepName(step) != name) return std::nullopt;
  return step;
}

std::string TemporaryName(int64_t step, int number) {
  return StrCat(StepName(step), kTemporaryMark, number);
}

bool IsTemporaryName(std::string_view name) {
  const size_t mark = name.find(kTemporaryMark);
  return mark != std::string_view::npos && name.size() > mark + kTemporaryMark.size() &&
         StepOfName(name.substr(0, mark)).has_value();
}

std::string_view BaseName(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

absl::Status CheckFileName(std::string_view name) {
  std::string_view reason;
  if (name.empty() || name.size() > kLongestName) reason = "it needs 1 to 255 characters";
  for (const char c : name) {
    if (c == '/') reason = "it leads to another folder";
    if (c < ' ' || c > '~') reason = "it has other characters than printable ASCII";
  }
  if (name.starts_with('.')) reason = "it starts with a dot";
  if (name == kManifestFile) reason = "that is the manifest's";
  if (reason.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(Quoted(name), " cannot be the name of a checkpoint's file: ", reason));
}

}  // namespace horizon
