#pragma once

#include <string>

#include "common/clock.h"
#include "common/log.h"
#include "runtime/execution/compute_device.h"
#include "selftest/findings.h"

namespace horizon {

// A small Llama with weights and tokens that follow from numbers alone, trained for three steps on
// a device: losses and the first gradient's norm must be PyTorch's (in fp32 on the host, in bf16 on
// CUDA), and strategies `horizon` and `resident` must end with equal bits. Returns the losses in
// words; empty where training failed.
std::string CheckGoldenStep(const DeviceName& device, int threads, Clock& clock, Log& log,
                            Findings& findings);

}  // namespace horizon
