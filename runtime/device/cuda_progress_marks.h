#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "runtime/device/cuda_handles.h"

namespace horizon {

// One number a stream in page-locked memory, written by the device as the stream passes: what was
// reached stays readable after the device is lost. The write is cuStreamWriteValue32, which takes
// neither a copy engine nor a multiprocessor; a small copy would queue behind the large ones of
// other streams. The driver is asked for it while the program runs, as it need not have it.
class ProgressMarks {
 public:
  static constexpr int kMost = 256;

  // All marks are 0. `stream` is used for a trial. Where marks cannot be written, available() is
  // false and nothing is wrong; an error is of the calls that must work.
  cudaError_t Create(cudaStream_t stream);
  bool available() const { return write_ != nullptr; }

  // Puts the write behind the stream's work. `index`: below kMost.
  cudaError_t Write(cudaStream_t stream, int index, uint32_t value);
  // Any thread, at any time.
  uint32_t Read(int index) const;

 private:
  // Of cuda.h, which would need the driver's library to link.
  using WriteValue = int(CUstream_st* stream, unsigned long long address, uint32_t value,
                         unsigned flags);

  uint32_t* mark(int index) const { return static_cast<uint32_t*>(memory_.get()) + index; }

  UniqueLockedBytes memory_;
  WriteValue* write_ = nullptr;
};

}  // namespace horizon
