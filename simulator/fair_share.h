#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace horizon {

// The resources that operations of different lanes share: the cores of the host, its memory
// bandwidth, and the PCIe link when both directions are busy.
enum class Resource : uint8_t { kCores, kDram, kLink };
inline constexpr int kResourceCount = 3;

// An amount of each resource in its own unit (cores; bytes per nanosecond): what an operation draws
// while it runs at full speed, or the capacity.
using ResourceAmounts = std::array<double, kResourceCount>;

// A running operation.
struct Sharer {
  const ResourceAmounts* draw = nullptr;
  double ceiling = 1;  // its highest speed, above 0 and at most 1
  // Above 0 and at most 1. Of two operations that compete for a resource, one of weight 1/2 gets
  // half the speed of one of weight 1.
  double weight = 1;
};

// Computes the speed of each running operation by weighted max-min fairness; speed 1 is its speed
// alone on the machine. No operation is above its ceiling, no resource is overdrawn, and no
// operation could be faster without slowing down one that is not faster than it (speeds divided by
// weights).
//
// It uses progressive filling: all speeds rise together, in proportion to their weights, until an
// operation reaches its ceiling or a resource is full. That operation, or the operations that draw
// on that resource, keep their speed, and the others go on rising. The result is exact and
// deterministic and takes at most one round for each resource and each operation. `speeds` has the
// size of `sharers`.
void ShareFairly(std::span<const Sharer> sharers, const ResourceAmounts& capacity,
                 std::span<double> speeds);

}  // namespace horizon
