#pragma once

#include <string_view>

namespace horizon {

// Identifies the version of the kernels in this program: a short text, the checksum of the sources
// of all kernels except the reference ones, and of the worker threads. A machine profile keeps it,
// so that a profile measured with other kernels is recognised.
std::string_view KernelFingerprint();

}  // namespace horizon
