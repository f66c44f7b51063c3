// The CUDA device on the fake CUDA: what every device must do.
#include "runtime/device/cuda_device.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "selftest/conformance/double_words_cuda.h"
#include "tests/fake_cuda/fake_cuda_control.h"
#include "tests/runtime/device/conformance.h"

namespace horizon {
namespace {

DeviceFactory Factory(const std::string& name, const fake_cuda::Options& options,
                      uint64_t most_piece_bytes) {
  return {.name = name,
          .seeds = 40,
          .create = [=](Bytes capacity, Clock* clock,
                        uint64_t seed) -> absl::StatusOr<std::unique_ptr<Device>> {
            // The device before is gone; nothing of it may be left.
            EXPECT_EQ(fake_cuda::Leaks(), std::vector<std::string>{});
            fake_cuda::Options chosen = options;
            chosen.seed = seed + 1;
            fake_cuda::Reset(chosen);
            return MakeCudaDevice({.capacity = capacity,
                                   .clock = clock,
                                   .most_locked_piece_bytes = Bytes(most_piece_bytes)});
          },
          .double_words = DoubleWordsOnCuda,
          .device_time_is_clock_time = false};
}

// A fault of use ends the process, so that every test here also says that there was none.
INSTANTIATE_TEST_SUITE_P(Cuda, DeviceConformance,
                         EveryCheckOn(Factory("locked", {}, uint64_t{64} << 30)), CheckName);
// Every page a piece of its own.
INSTANTIATE_TEST_SUITE_P(CudaInPieces, DeviceConformance, EveryCheckOn(Factory("pieces", {}, 4096)),
                         CheckName);
// No range may be locked, only the slabs.
INSTANTIATE_TEST_SUITE_P(CudaStaged, DeviceConformance,
                         EveryCheckOn(Factory("staged", {.registers = false}, uint64_t{64} << 30)),
                         CheckName);
INSTANTIATE_TEST_SUITE_P(CudaWithoutMarks, DeviceConformance,
                         EveryCheckOn(Factory("no marks", {.writes_values = false},
                                              uint64_t{64} << 30)),
                         CheckName);

}  // namespace
}  // namespace horizon
