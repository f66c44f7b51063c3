#include "runtime/device/cuda_time.h"

#include <chrono>
#include <cmath>
#include <utility>

namespace horizon {

cudaError_t MakeTimeBase(Clock& clock, cudaStream_t idle,
                         std::shared_ptr<const TimeBase>& time_base) {
  auto made = std::make_shared<TimeBase>();
  const Nanoseconds before = clock.Now();
  cudaError_t error = Make(made->event, cudaEventBlockingSync);
  if (error == cudaSuccess) error = cudaEventRecord(made->event.get(), idle);
  if (error == cudaSuccess) error = cudaEventSynchronize(made->event.get());
  if (error != cudaSuccess) return error;
  made->time = before + (clock.Now() - before) / 2;
  time_base = std::move(made);
  return cudaSuccess;
}

bool IsOld(const TimeBase& time_base, Nanoseconds now) {
  return now - time_base.time > std::chrono::seconds(10);
}

cudaError_t TimeOfEvent(const TimeBase& time_base, cudaEvent_t event, Nanoseconds& time) {
  float milliseconds = 0;
  const cudaError_t error = cudaEventElapsedTime(&milliseconds, time_base.event.get(), event);
  if (error == cudaSuccess) {
    time = time_base.time + Nanoseconds(std::llround(double{milliseconds} * 1e6));
  }
  return error;
}

}  // namespace horizon
