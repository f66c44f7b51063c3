#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "runtime/device/cuda_handles.h"

namespace horizon {

// One number per stream in page-locked host memory. The device writes it as the stream advances, so
// that after the device is lost the host can still read how far each stream came. The write is
// cuStreamWriteValue32, which uses neither a copy engine nor a multiprocessor; a small copy would
// queue behind the large copies of other streams. The function is looked up in the driver at run
// time, because not every driver has it.
class ProgressMarks {
 public:
  static constexpr int kMostStreams = 256;

  // Sets all marks to 0 and tries one write on `stream`. Where marks cannot be written, available()
  // is false and that is no error. Errors come only from the calls that must work (allocating the
  // memory, synchronising the stream).
  cudaError_t Create(cudaStream_t stream);
  bool available() const { return write_ != nullptr; }

  // Enqueues the write after the stream's work so far. `index`: below kMostStreams. Does nothing
  // where marks are not available.
  cudaError_t Write(cudaStream_t stream, int index, uint32_t value);
  // May be called from any thread at any time.
  uint32_t Read(int index) const;

 private:
  // The type of cuStreamWriteValue32. It is written out here since including cuda.h's declaration
  // would make the program link against the driver's library.
  using WriteValue = int(CUstream_st* stream, unsigned long long address, uint32_t value,
                         unsigned flags);

  uint32_t* mark(int index) const { return static_cast<uint32_t*>(memory_.get()) + index; }

  UniqueLockedBytes memory_;
  WriteValue* write_ = nullptr;
};

}  // namespace horizon
