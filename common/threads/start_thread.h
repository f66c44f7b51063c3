#pragma once

#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace horizon {

// Used by StartThread alone.
void NameThread(std::jthread& thread, const std::string& name);
absl::Status ThreadNotStarted(const std::string& name, const char* reason);

// Starts a thread that calls `body`, with a std::stop_token if it takes one; the caller owns the
// thread. Every thread of the program is started here, because the constructor of std::jthread
// throws when the system gives no more threads, and we throw nothing:
//
//   ASSIGN_OR_RETURN(thread_, StartThread("saver", [this] { Serve(); }));
//
// `name` is what `top -H` shows, cut to 15 bytes; the name is set when StartThread returns.
// ResourceExhausted, with the limits that may be in the way, when no thread could be started; then
// `body` is never called.
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
