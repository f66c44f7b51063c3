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

// Collects what a check of the self-test found wrong, one line for each finding. A check goes on
// after a finding, so that one run reports as much as possible. The checks are part of the program,
// which has no test library, so the macros below take the place of EXPECT_ and ASSERT_ macros:
//   VERIFY_EQ(findings, device.used(), 0_B) << "after the check";
// Tests run the same checks and fail with these lines. Any thread may add findings.
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
  // Appends "(circumstance)" to every line added from now on, such as "(seed 7)". "" appends
  // nothing.
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

// Composes one finding for the macros below: its destructor adds the line, with everything that was
// streamed into it. `expected` is the expectation that failed; `found` says what was found instead,
// if that is not obvious.
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

// For the macros below: nullopt if the expectation holds, else what was found.
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

// VERIFY(findings, condition) << "more to say" adds a finding if the condition is false. The check
// goes on either way.
#define VERIFY(findings, condition) \
  if (condition) {                  \
  } else                            \
    ::horizon::Finding((findings), __FILE__, __LINE__, #condition)

// VERIFY for left == right; the finding shows both values.
#define VERIFY_EQ(findings, left, right)                                \
  if (const auto found = ::horizon::Unequal((left), (right)); !found) { \
  } else                                                                \
    ::horizon::Finding((findings), __FILE__, __LINE__, #left " == " #right, *found)

// VERIFY that a Status or StatusOr is OK; the finding shows the error.
#define VERIFY_OK(findings, status)                          \
  if (const auto found = ::horizon::NotOk(status); !found) { \
  } else                                                     \
    ::horizon::Finding((findings), __FILE__, __LINE__, "OK of " #status, *found)

// Like VERIFY, VERIFY_EQ and VERIFY_OK, but the enclosing function returns after a finding.
#define REQUIRE(findings, condition)                                \
  do {                                                              \
    if (condition) break;                                           \
    ::horizon::Finding((findings), __FILE__, __LINE__, #condition); \
    return;                                                         \
  } while (false)
#define REQUIRE_EQ(findings, left, right)                                            \
  do {                                                                               \
    const auto found = ::horizon::Unequal((left), (right));                          \
    if (!found) break;                                                               \
    ::horizon::Finding((findings), __FILE__, __LINE__, #left " == " #right, *found); \
    return;                                                                          \
  } while (false)
#define REQUIRE_OK(findings, status)                                              \
  do {                                                                            \
    const auto found = ::horizon::NotOk(status);                                  \
    if (!found) break;                                                            \
    ::horizon::Finding((findings), __FILE__, __LINE__, "OK of " #status, *found); \
    return;                                                                       \
  } while (false)
