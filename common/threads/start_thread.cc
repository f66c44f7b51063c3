#include "common/threads/start_thread.h"

#include <pthread.h>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr size_t kLongestThreadName = 15;  // pthread_setname_np refuses more

}  // namespace

void NameThread(std::jthread& thread, const std::string& name) {
  pthread_setname_np(thread.native_handle(), name.substr(0, kLongestThreadName).c_str());
}

absl::Status ThreadNotStarted(const std::string& name, const char* reason) {
  return absl::ResourceExhaustedError(
      StrCat("cannot start thread '", name, "': ", reason,
             "; use fewer threads, or raise the limit on processes (ulimit -u, or pids.max of the "
             "container) or on memory (ulimit -v)"));
}

}  // namespace horizon
