#pragma once

#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace horizon {

// Only StartThread calls these two.
void NameThread(std::jthread& thread, const std::string& name);
absl::Status ThreadNotStarted(const std::string& name, const char* reason);

// Starts a thread that calls `body`, with a std::stop_token if `body` takes one. The caller owns
// the thread:
//
//   ASSIGN_OR_RETURN(thread_, StartThread("saver", [this] { Serve(); }));
//
// Every thread of the program is started here, because the constructor of std::jthread throws when
// the system has no more threads, and this project does not throw. `top -H` shows `name`, cut to 15
// bytes; the name is set when StartThread returns. If no thread can be started, `body` is never
// called and the result is ResourceExhausted, with the limits that may be the cause.
template <typename Body>
absl::StatusOr<std::jthread> StartThread(const std::string& name, Body&& body) {
  try {
    std::jthread thread(std::forward<Body>(body));
    NameThread(thread, name);
    return thread;
  } catch (const std::system_error& error) {
    return ThreadNotStarted(name, error.what());
  } catch (const std::bad_alloc&) {
    return ThreadNotStarted(name, "out of memory");
  }
}

}  // namespace horizon
