#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace horizon {

// A library of the system, opened while the program runs: for drivers that need not be there. The
// name comes from the program or its command line, never from a file that was read.
class SharedLibrary {
 public:
  // `name` as dlopen takes it: a path if it has a slash, else looked for as the loader does.
  // Unavailable, with the loader's words, when it cannot be opened.
  static absl::StatusOr<SharedLibrary> Open(const std::string& name);
  SharedLibrary(SharedLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  SharedLibrary& operator=(SharedLibrary&&) = delete;
  // What Find gave must not be used any more.
  ~SharedLibrary();

  // Null where the library has no such symbol. Any thread.
  template <typename Function>
  Function* Find(const char* symbol) const {
    return reinterpret_cast<Function*>(FindAddress(symbol));
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* FindAddress(const char* symbol) const;

  void* handle_;
};

}  // namespace horizon
