#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "planner/machines/machine_shares.h"
#include "simulator/curve.h"

namespace horizon {

// A machine of the catalog as its makers describe it: planner/machines/NAME.json. It holds figures
// of data sheets, each with its source, and the classes whose shares turn them into rates
// (machine_shares.h). Anything that a profile needs beyond that is derived, so two machines with
// the same host cannot have different DRAM.
//
//   {"name": "rtx4090", "summary": "...",
//    "device": {"class": "geforce", "name": "NVIDIA GeForce RTX 4090",
//               "memory_bytes": {"value": 25757220864, "origin": "vendor", "source": "..."},
//               "memory_bytes_per_second": ..., "bf16_flops_per_second": ...,
//               "fp32_flops_per_second": ...},
//    "link": {"kind": "pcie", "generation": 4, "lanes": 16, "source": "..."},
//    "host": {"platform": "desktop", "name": "...", "memory_bytes": ..., "sockets": 1,
//             "cores": 16, "channels": 2, "transfers_per_second": 5200000000, "source": "..."}}

// The data-sheet figures of a device.
struct DescribedDevice {
  DeviceClass device_class = DeviceClass::kGeForce;
  std::string name;
  Figure memory_bytes;
  Figure memory_bytes_per_second;
  Figure bf16_flops_per_second;  // dense, with fp32 sums
  Figure fp32_flops_per_second;
};

// The nominal figures of a link between host and device.
struct DescribedLink {
  LinkKind kind = LinkKind::kPcie;
  int64_t generation = 0;                  // PCIe only
  int64_t lanes = 0;                       // PCIe only
  std::optional<double> bytes_per_second;  // nominal, of one direction; others than PCIe
  std::string source;

  double nominal_bytes_per_second() const;  // of one direction
  std::string Text() const;                 // "PCIe 4 x16: 32 GB/s nominal"
};

// The data-sheet figures of a host.
struct DescribedHost {
  PlatformClass platform = PlatformClass::kDesktop;
  std::string name;
  Figure memory_bytes;
  int64_t sockets = 1;
  int64_t cores = 1;     // of all sockets
  int64_t channels = 0;  // of 64 bits, of all sockets
  double transfers_per_second = 0;
  std::optional<double> dram_bytes_per_second;  // the peak, where channels are not published
  std::string source;

  double dram_peak_bytes_per_second() const;
};

// The whole description of a machine.
struct MachineDescription {
  std::string name;
  std::string summary;
  DescribedDevice device;
  DescribedLink link;
  DescribedHost host;
  // Why horizon can plan for this machine but not run on it; empty: it can.
  std::string planned_only;
};

// Reads a description. InvalidArgument with file, line and field if something is missing, unknown
// or out of range.
absl::StatusOr<MachineDescription> ReadMachineDescription(const Document& document);

}  // namespace horizon
