#include "tests/runtime/device/conformance.h"

#include <utility>

namespace horizon {

std::unique_ptr<Device> DeviceConformance::Make(uint64_t capacity, uint64_t seed) {
  absl::StatusOr<std::unique_ptr<Device>> device = GetParam().create(capacity, &clock_, seed);
  EXPECT_TRUE(device.ok()) << device.status();
  return device.ok() ? *std::move(device) : nullptr;
}

void DeviceConformance::ForEachSeed(const std::function<void(Device&)>& test) {
  for (int seed = 0; seed < GetParam().seeds && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const std::unique_ptr<Device> device = Make(kCapacity, static_cast<uint64_t>(seed));
    ASSERT_NE(device, nullptr);
    test(*device);
  }
}

}  // namespace horizon
