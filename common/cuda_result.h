#pragma once

namespace horizon {

// What a launcher in a .cu file hands to the .cc beside it: neither CUDA nor Abseil in the type.
struct CudaResult {
  int code = 0;            // a cudaError_t; 0 is success
  const char* text = "";   // static, CUDA's own words
  bool no_device = false;  // the machine has no device or no (recent enough) driver
};

}  // namespace horizon
