#pragma once

#include <span>
#include <string_view>

#include "selftest/findings.h"
#include "selftest/kernel_comparison.h"

namespace horizon {

// A check that runs kernels of a device on odd sizes and compares the results with those of the
// host kernels (kernel_comparison.h). Together the two lists check every kernel that computes on a
// device.
struct KernelCheck {
  std::string_view name;
  void (*run)(KernelCheckEnvironment& environment, Findings& findings);
};
// Kernels that pass over arrays: norms, activations, rotary, embedding, gradients, Adam.
std::span<const KernelCheck> ArrayKernelChecks();
// Matrix multiplies, attention, and the head with its loss.
std::span<const KernelCheck> MatrixKernelChecks();

}  // namespace horizon
