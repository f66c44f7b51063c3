#include "common/threads/thread_turns.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace horizon {
namespace {

// The kernel's struct sched_attr (sched_setattr(2)); its header cannot be included with sched.h.
struct Attributes {
  uint32_t size = sizeof(Attributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;
  uint64_t deadline = 0;
  uint64_t period = 0;
};
static_assert(sizeof(Attributes) == 48);  // the first version, which every kernel takes

constexpr uint64_t kTimeSliceNanoseconds = 100'000;  // the shortest that the kernel accepts

}  // namespace

void RequestShortTimeSlice() {
#if defined(SYS_sched_getattr) && defined(SYS_sched_setattr)
  Attributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  // Keep a policy that somebody chose for this process.
  if (attributes.policy != SCHED_OTHER) return;
  attributes.runtime = kTimeSliceNanoseconds;
  // If the kernel refuses, the thread stays as it was.
  (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
#endif
}

}  // namespace horizon
