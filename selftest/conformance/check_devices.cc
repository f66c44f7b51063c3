#include "selftest/conformance/check_devices.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/text/str_cat.h"

namespace horizon {

std::unique_ptr<Device> CheckDevices::Make(Bytes capacity, uint64_t seed) {
  absl::StatusOr<std::unique_ptr<Device>> device = factory_.create(capacity, &clock_, seed);
  VERIFY_OK(findings_, device);
  return device.ok() ? *std::move(device) : nullptr;
}

void CheckDevices::ForEachSeed(absl::FunctionRef<void(Device& device)> check) {
  ForSeeds([&](uint64_t seed) {
    const std::unique_ptr<Device> device = Make(kCapacity, seed);
    if (device != nullptr) check(*device);
  });
}

void CheckDevices::ForSeeds(absl::FunctionRef<void(uint64_t seed)> check) {
  const size_t before = findings_.lines().size();
  for (int seed = 0; seed < factory_.seeds && findings_.lines().size() == before; ++seed) {
    findings_.SetCircumstance(StrCat("seed ", seed));
    check(static_cast<uint64_t>(seed));
  }
  findings_.SetCircumstance("");
}

}  // namespace horizon
