#pragma once

#include <cstddef>

struct CUstream_st;

namespace horizon {

// A little device memory and a stream for tests of CUDA kernels: neither CUDA nor Abseil in the
// header. All pointers are to device memory; the functions wait and say whether all went well.

// 0 without a driver, without a device, and in a build without CUDA.
int CudaDeviceCount();
CUstream_st* CreateStream();
void DestroyStream(CUstream_st* stream);
// Null on failure. `from` may be null: the memory is then left as it is.
void* UploadArray(const void* from, size_t bytes);
// Waits for the stream first.
bool DownloadArray(void* into, const void* from, size_t bytes, CUstream_st* stream);
void FreeArray(void* array);

}  // namespace horizon
