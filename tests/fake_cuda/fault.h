#pragma once

#include <string>

namespace fake_cuda {

// A fault of use: one line on standard error and the end of the process, or, while faults are
// collected, kept for TakeFaults. Inside a kernel the line says which one, block and thread.
void Fault(const std::string& text);

// Whether Fault returns. For faults that leave nothing to go on with.
bool IsCollecting();

}  // namespace fake_cuda
