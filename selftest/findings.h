#pragma once

#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace horizon {

// What a check of the self-test found wrong, a line each: a check goes on after a finding, so that
// one run tells as much as possible. Any thread may add. Checks are part of the program, where
// there is no test library; tests run the same checks and fail with these lines.
class Findings {
 public:
  void Add(std::string line) {
    const std::scoped_lock lock(mutex_);
    lines_.push_back(std::move(line));
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
};

// One finding on its way: what is streamed into it is added when it dies.
class Finding {
 public:
  Finding(Findings& findings, const char* file, int line, const char* expected)
      : findings_(findings) {
    text_ << file << ":" << line << ": " << expected << " does not hold";
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

}  // namespace horizon

// WANT(findings, condition) << what is there; the check goes on either way.
#define WANT(findings, condition) \
  if (condition) {                \
  } else                          \
    ::horizon::Finding((findings), __FILE__, __LINE__, #condition)

// As WANT; the function returns where it does not hold.
#define NEED(findings, condition)                                   \
  do {                                                              \
    if (condition) break;                                           \
    ::horizon::Finding((findings), __FILE__, __LINE__, #condition); \
    return;                                                         \
  } while (false)
