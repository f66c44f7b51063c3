#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace horizon {

// A shared library that the program opens while it runs (dlopen), for drivers such as NVML that a
// machine may not have. The name must come from the program or its command line, never from a file
// that was read.
class SharedLibrary {
 public:
  // `name` is what dlopen takes: a path if it contains a slash, else a name that the loader
  // searches for. Unavailable, with the loader's message, if it cannot be opened.
  static absl::StatusOr<SharedLibrary> Open(const std::string& name);
  SharedLibrary(SharedLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  SharedLibrary& operator=(SharedLibrary&&) = delete;
  // Closes the library. Pointers that Find returned must not be used afterwards.
  ~SharedLibrary();

  // The function of that name; null if the library has no such symbol. Any thread may call it.
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
