#pragma once

#include <span>
#include <string_view>

#include "selftest/findings.h"
#include "selftest/two_sides.h"

namespace horizon {

// Every kernel that computes on a device, on odd sizes, against the host's body (two_sides.h).
struct KernelCheck {
  std::string_view name;
  void (*run)(KernelWorld& world, Findings& findings);
};
// Passes over arrays; products, attention and the head.
std::span<const KernelCheck> ArrayKernelChecks();
std::span<const KernelCheck> MatrixKernelChecks();

}  // namespace horizon
