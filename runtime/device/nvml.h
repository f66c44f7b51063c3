#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/units.h"

namespace horizon {

// NVIDIA's management library comes with the driver and is opened while the program runs.
inline constexpr char kNvmlLibrary[] = "libnvidia-ml.so.1";

// A way over PCIe: the generation (3 is 8 GT/s a lane) and how many lanes.
struct PcieLink {
  uint32_t generation = 0;
  uint32_t width = 0;
  friend bool operator==(const PcieLink&, const PcieLink&) = default;
};

struct NvmlLink {
  std::optional<PcieLink> now;
  std::optional<PcieLink> most;  // what device and slot could do together
};

// What the driver tells of a device. What it does not tell, because it is too old for the question
// or the device has no such sensor, is empty, and `missing` says why.
struct NvmlDevice {
  std::string name;
  std::string uuid;
  std::string bus_id;  // "00000000:65:00.0": domain, bus, device, function
  std::optional<Bytes> memory_bytes;
  std::optional<Bytes> free_bytes;
  // A link falls back to a lower generation while the device is idle, so that only its width now is
  // a reason to worry.
  std::optional<PcieLink> link_now;
  std::optional<PcieLink> link_most;  // what device and slot could do together
  // What crossed the link in the last 20 ms or so.
  std::optional<uint64_t> to_device_bytes_per_second;
  std::optional<uint64_t> to_host_bytes_per_second;
  std::optional<uint32_t> clock_mhz;
  std::optional<uint32_t> clock_most_mhz;
  std::optional<uint32_t> memory_clock_mhz;
  std::optional<uint32_t> memory_clock_most_mhz;
  std::optional<double> power_watts;
  std::optional<uint32_t> temperature_celsius;
  std::optional<uint32_t> processes;  // that compute on it
  std::vector<std::string> missing;   // "temperature: Not Supported"
};

// Whether two places on the bus are the same one, in capitals or not. Unknown ones ("") are not.
bool SameBusPlace(std::string_view a, std::string_view b);

// The library, opened and initialised. Any thread may call, as NVML allows.
class Nvml {
 public:
  // Unavailable where there is no driver (no such library), where the library is too old to be
  // initialised, or where the driver behind it does not answer; the message says which.
  static absl::StatusOr<std::unique_ptr<Nvml>> Open(const std::string& library = kNvmlLibrary);
  virtual ~Nvml() = default;

  // "550.54.14"; empty where it is not told.
  virtual const std::string& driver_version() const = 0;
  virtual const std::string& nvml_version() const = 0;
  // Unavailable, in the driver's words, when it does not answer.
  virtual absl::StatusOr<int> CountDevices() = 0;
  // What the driver tells of the link alone, at once: for reading it while copies run. Errors as
  // Read.
  virtual absl::StatusOr<NvmlLink> ReadLink(int index) = 0;
  // The device at 0 .. count - 1, in the order of the bus. Unavailable when there is no way to it
  // (lost, no permission). May take 50 ms: the link's traffic is measured.
  virtual absl::StatusOr<NvmlDevice> Read(int index) = 0;
};

}  // namespace horizon
