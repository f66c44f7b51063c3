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

// An operation that wants to run.
struct Sharer {
  const ResourceAmounts* draw = nullptr;
  double ceiling = 1;  // of its speed, above 0 and at most 1
  // How fast it rises beside the others, above 0 and at most 1: of two that want the same resource,
  // one of weight 1/2 is given half the speed of one of weight 1.
  double weight = 1;
};

// The speed of each running operation, 1 being alone on the machine: the largest speeds for which
// nobody is above its ceiling, no resource is overdrawn and no operation could be faster without
// making one slower that is no faster than it, speeds taken by weight (weighted max-min fairness,
// by progressive filling: all speeds rise together, in proportion to their weights, until one is at
// its ceiling, where it stays, or a resource is full; then whoever draws on it stays and the others
// go on). Exact, deterministic, at most one round for each resource and each operation. `speeds`
// has the size of `sharers`.
void ShareFairly(std::span<const Sharer> sharers, const ResourceAmounts& capacity,
                 std::span<double> speeds);

}  // namespace horizon
