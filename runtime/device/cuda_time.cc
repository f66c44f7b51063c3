#include "runtime/device/cuda_time.h"

#include <chrono>
#include <cmath>
#include <utility>

namespace horizon {

cudaError_t MakeTimeAnchor(Clock& clock, cudaStream_t idle,
                           std::shared_ptr<const TimeAnchor>& anchor) {
  auto made = std::make_shared<TimeAnchor>();
  const Nanoseconds before = clock.Now();
  cudaError_t error = Make(made->event, cudaEventBlockingSync);
  if (error == cudaSuccess) error = cudaEventRecord(made->event.get(), idle);
  if (error == cudaSuccess) error = cudaEventSynchronize(made->event.get());
  if (error != cudaSuccess) return error;
  made->time = before + (clock.Now() - before) / 2;
  anchor = std::move(made);
  return cudaSuccess;
}

bool IsOld(const TimeAnchor& anchor, Nanoseconds now) {
  return now - anchor.time > std::chrono::seconds(10);
}

cudaError_t TimeOfEvent(const TimeAnchor& anchor, cudaEvent_t event, Nanoseconds& time) {
  float milliseconds = 0;
  const cudaError_t error = cudaEventElapsedTime(&milliseconds, anchor.event.get(), event);
  if (error == cudaSuccess) {
    time = anchor.time + Nanoseconds(std::llround(double{milliseconds} * 1e6));
  }
  return error;
}

}  // namespace horizon
