#pragma once

#include <cstddef>

struct CUstream_st;

namespace horizon {

// Device memory and streams for tests of CUDA kernels. The header includes neither CUDA nor Abseil,
// so that it can be linked with a CUDA device, with the fake CUDA, or with a stub. Arrays are in
// device memory. The functions wait until their work is done.

// 0 without a driver, without a device, and in a build without CUDA.
int CudaDeviceCount();
// Null on failure.
CUstream_st* CreateStream();
void DestroyStream(CUstream_st* stream);
// Allocates `bytes` and copies `from` there. Null on failure. If `from` is null, the memory is not
// initialised.
void* UploadArray(const void* from, size_t bytes);
// Waits for the stream, then copies. False on failure.
bool DownloadArray(void* into, const void* from, size_t bytes, CUstream_st* stream);
void FreeArray(void* array);

}  // namespace horizon
