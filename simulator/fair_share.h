#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace horizon {

// What operations of different lanes share: the cores of the host, its memory bandwidth, and the
// link when both directions are busy.
enum class Resource : uint8_t { kCores, kDram, kLink };
inline constexpr int kResourceCount = 3;

// Of each resource in its own unit (cores; bytes a nanosecond): what an operation draws while it
// runs at full speed, or what there is.
using ResourceAmounts = std::array<double, kResourceCount>;

// The speed of each running operation, 1 being alone on the machine: the largest speeds for which
// nobody is above its ceiling (0 to 1), no resource is overdrawn and no operation could be faster
// without making a slower one slower still (max-min fairness, by progressive filling: all speeds
// rise together until one is at its ceiling, where it stays, or a resource is full; then whoever
// draws on it stays and the others go on). Exact, deterministic, at most one round for each
// resource and each operation. `ceilings` and `speeds` have the size of `draws`.
void ShareFairly(std::span<const ResourceAmounts* const> draws, std::span<const double> ceilings,
                 const ResourceAmounts& capacity, std::span<double> speeds);

}  // namespace horizon
