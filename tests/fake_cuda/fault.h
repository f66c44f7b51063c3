#pragma once

#include <string>

namespace fake_cuda {

// Reports an incorrect use of CUDA. It prints one line on standard error and ends the process;
// while faults are collected, it keeps the line for TakeFaults and returns. While a kernel runs,
// the line names the kernel, thread block and thread.
void Fault(const std::string& text);

// Whether faults are collected, so that Fault returns. For callers that cannot go on after a fault.
bool IsCollecting();

}  // namespace fake_cuda
