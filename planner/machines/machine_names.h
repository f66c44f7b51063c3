#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace horizon {

// Finds machines by the names that people use for them: "4090", "RTX 4090" and "NVIDIA GeForce RTX
// 4090" are rtx4090, "nvidia a100 80gb" is each A100 with 80 GB.

// The names of a machine.
struct NamedMachine {
  std::string name;         // in the catalog: "rtx4090"
  std::string device;       // as its driver says: "NVIDIA GeForce RTX 4090"
  double memory_bytes = 0;  // of the device
};

// The names of all machines that `typed` describes, in the order of `machines`. Text is compared
// word by word, in any case, and a number is a word of its own ("rtx4090" is "rtx 4090"). A machine
// matches if
//   - each typed word is in its name or in its device's name, or with the number before it says how
//     much memory the device has ("80gb", in decimal or binary gigabytes), and
//   - each word of its name is typed, except makers, brands and form factors (nvidia, rtx, pcie).
// So "a100" is every A100, but "4070" is not the RTX 4070 Ti and "l40" is not the L40S.
std::vector<std::string> MachinesCalled(std::string_view typed,
                                        std::span<const NamedMachine> machines);

}  // namespace horizon
