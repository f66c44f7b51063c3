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

// NVIDIA's management library (NVML) comes with the driver and is opened at run time.
inline constexpr char kNvmlLibrary[] = "libnvidia-ml.so.1";

// A PCIe link: its generation (3 is 8 GT/s per lane) and its width in PCIe lanes.
struct PcieLink {
  uint32_t generation = 0;
  uint32_t width = 0;
  friend bool operator==(const PcieLink&, const PcieLink&) = default;
};

// The present and the best possible PCIe link of a device.
struct NvmlLink {
  std::optional<PcieLink> now;
  std::optional<PcieLink> most;  // the best that device and slot support together
};

// What the driver reports about a device. A value is empty when the driver is too old for the query
// or the device has no such sensor; `missing` says why.
struct NvmlDevice {
  std::string name;
  std::string uuid;
  std::string bus_id;  // "00000000:65:00.0": domain, bus, device, function
  std::optional<Bytes> memory_bytes;
  std::optional<Bytes> free_bytes;
  // An idle device drops its link to a lower generation, so only a lower width is a reason to
  // worry.
  std::optional<PcieLink> link_now;
  std::optional<PcieLink> link_most;  // the best that device and slot support together
  // Traffic over the link, averaged over about the last 20 ms.
  std::optional<uint64_t> to_device_bytes_per_second;
  std::optional<uint64_t> to_host_bytes_per_second;
  std::optional<uint32_t> clock_mhz;
  std::optional<uint32_t> clock_most_mhz;
  std::optional<uint32_t> memory_clock_mhz;
  std::optional<uint32_t> memory_clock_most_mhz;
  std::optional<double> power_watts;
  std::optional<uint32_t> temperature_celsius;
  std::optional<uint32_t> processes;  // compute processes on the device
  std::vector<std::string> missing;   // "temperature: Not Supported"
};

// Whether two PCI bus IDs name the same device; upper and lower case are equal. An unknown ID ("")
// equals none.
bool SameBusId(std::string_view a, std::string_view b);

// The NVML library, opened and initialised. Thread-safe, as NVML is.
class Nvml {
 public:
  // Unavailable when there is no driver (no such library), when the library is too old to be
  // initialised, or when the driver behind it does not answer; the message says which.
  static absl::StatusOr<std::unique_ptr<Nvml>> Open(const std::string& library = kNvmlLibrary);
  virtual ~Nvml() = default;

  // The driver's version, such as "550.54.14"; empty where the library does not report it.
  virtual const std::string& driver_version() const = 0;
  virtual const std::string& nvml_version() const = 0;
  // Unavailable, with the driver's own message, when it does not answer.
  virtual absl::StatusOr<int> CountDevices() = 0;
  // Reads only the link, without delay: for reading it while copies run. Errors as in Read.
  virtual absl::StatusOr<NvmlLink> ReadLink(int index) = 0;
  // Reads the device `index` (0 .. count - 1, in PCI bus order). Unavailable when the device cannot
  // be reached (lost, no permission). May take 50 ms, because the link's traffic is measured.
  virtual absl::StatusOr<NvmlDevice> Read(int index) = 0;
};

}  // namespace horizon
