#pragma once

#include <string>

#include "common/clock.h"
#include "common/log.h"
#include "runtime/execution/compute_device.h"
#include "selftest/findings.h"

namespace horizon {

// Trains a small Llama with generated weights and tokens for three steps on a device, in fp32 on
// the host and in bf16 on CUDA. The losses and the norm of the first gradient must match those of
// PyTorch (computed in fp32) within a tolerance, and the strategies `horizon` and `resident` must
// end with equal bits. Returns a line with the losses, or "" if training failed; adds what is wrong
// to `findings`.
std::string CheckGoldenStep(const DeviceName& device, int threads, Clock& clock, Log& log,
                            Findings& findings);

}  // namespace horizon
