#pragma once

namespace horizon {

// The result that a launcher in a .cu file returns to the .cc file beside it. The .cc file turns it
// into an absl::Status (cuda_status.h). The type needs neither CUDA nor Abseil headers, since a .cc
// file does not include the former and a .cu file not the latter.
struct CudaResult {
  int code = 0;            // a cudaError_t; 0 is success
  const char* text = "";   // from cudaGetErrorString; static, never freed
  bool no_device = false;  // the machine has no device or no (recent enough) driver
};

}  // namespace horizon
