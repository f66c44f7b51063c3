#pragma once

#include <chrono>
#include <functional>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/kernel_context.h"
#include "kernels/kernel_table.h"
#include "runtime/device/device.h"

namespace horizon {

// What a pass over a model runs on, and what happens when it hangs. It is given once to a trainer,
// a generator or a single pass, which hand it on to the executor. Everything it refers to outlives
// all of them.
//
//   {.device = *device, .kernels = HostKernels(), .clock = clock}
struct RunEnvironment {
  Device& device;
  const KernelTable& kernels;  // for that device
  Clock& clock;
  DeviceContext* device_context = nullptr;  // made by these kernels; null on the host
  // When no operation ends for this long, something hangs: the run fails with DeadlineExceeded and
  // says what each lane is doing.
  Nanoseconds stall_limit = std::chrono::minutes(10);
  // Called before that error is returned; may be empty. A lane that truly hangs cannot be ended
  // from outside, and destroying the executor would wait for it. A program that must not hang exits
  // the process here.
  std::function<void(const absl::Status&)> on_stall;
};

}  // namespace horizon
