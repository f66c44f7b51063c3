#pragma once

#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace horizon {

// What a check of the self-test found wrong, a line each: a check goes on after a finding, so that
// one run tells as much as possible. Any thread may add. Checks are part of the program, where
// there is no test library; tests run the same checks and fail with these lines.
class Findings {
 public:
  Findings() = default;
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;

  void Add(std::string line) {
    const std::scoped_lock lock(mutex_);
    if (!circumstance_.empty()) line += " (" + circumstance_ + ")";
    lines_.push_back(std::move(line));
  }
  // Lines added from now on end with it, as "(seed 7)"; with nothing if it is empty.
  void SetCircumstance(std::string circumstance) {
    const std::scoped_lock lock(mutex_);
    circumstance_ = std::move(circumstance);
  }
  bool none() const {
    const std::scoped_lock lock(mutex_);
    return lines_.empty();
  }
  std::vector<std::string> lines() const {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::string circumstance_;
};

// One finding on its way: what is streamed into it is added when it dies. `found` is what was there
// instead, if there is more to say than the expectation does.
class Finding {
 public:
  Finding(Findings& findings, std::string_view file, int line, std::string_view expected,
          std::string_view found = "")
      : findings_(findings) {
    text_ << file << ":" << line << ": " << expected << " does not hold";
    if (!found.empty()) text_ << ", " << found;
  }
  Finding(const Finding&) = delete;
  Finding& operator=(const Finding&) = delete;
  ~Finding() { findings_.Add(std::move(text_).str()); }

  template <typename T>
  Finding& operator<<(const T& value) {
    text_ << (first_ ? ": " : "") << value;
    first_ = false;
    return *this;
  }

 private:
  Findings& findings_;
  std::ostringstream text_;
  bool first_ = true;
};

// For the macros below: nothing if it holds, else what was found.
template <typename Left, typename Right>
std::optional<std::string> Unequal(const Left& left, const Right& right) {
  if (left == right) return std::nullopt;
  std::ostringstream text;
  text << "they are " << left << " and " << right;
  return std::move(text).str();
}
inline std::optional<std::string> NotOk(const absl::Status& status) {
  if (status.ok()) return std::nullopt;
  return "it is " + status.ToString();
}
template <typename T>
std::optional<std::string> NotOk(const absl::StatusOr<T>& value) {
  return NotOk(value.status());
}

}  // namespace horizon

// WANT(findings, condition) << what is there; the check goes on either way.
#define WANT(findings, condition) \
  if (condition) {                \
  } else                          \
    ::horizon::Finding((findings), __FILE__, __LINE__, #condition)

// As WANT for left == right, with both values in the finding.
#define WANT_EQ(findings, left, right)                                  \
  if (const auto found = ::horizon::Unequal((left), (right)); !found) { \
  } else                                                                \
    ::horizon::Finding((findings), __FILE__, __LINE__, #left " == " #right, *found)

// As WANT for a Status or StatusOr that is OK, with the error in the finding.
#define WANT_OK(findings, status)                            \
  if (const auto found = ::horizon::NotOk(status); !found) { \
  } else                                                     \
    ::horizon::Finding((findings), __FILE__, __LINE__, "OK of " #status, *found)

// As WANT, WANT_EQ and WANT_OK; the function returns where it does not hold.
#define NEED(findings, condition)                                   \
  do {                                                              \
    if (condition) break;                                           \
    ::horizon::Finding((findings), __FILE__, __LINE__, #condition); \
    return;                                                         \
  } while (false)
#define NEED_EQ(findings, left, right)                                               \
  do {                                                                               \
    const auto found = ::horizon::Unequal((left), (right));                          \
    if (!found) break;                                                               \
    ::horizon::Finding((findings), __FILE__, __LINE__, #left " == " #right, *found); \
    return;                                                                          \
  } while (false)
#define NEED_OK(findings, status)                                                 \
  do {                                                                            \
    const auto found = ::horizon::NotOk(status);                                  \
    if (!found) break;                                                            \
    ::horizon::Finding((findings), __FILE__, __LINE__, "OK of " #status, *found); \
    return;                                                                       \
  } while (false)
