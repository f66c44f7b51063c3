#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/log.h"
#include "common/units.h"
#include "runtime/execution/compute_device.h"

namespace horizon {

// Everything that can be checked of a device in a minute or so, for the day a program first meets
// it: kernels, the promises of device.h, training, and what it reaches.
struct SelftestOptions {
  DeviceName device;
  int threads = 1;       // of the host
  Seconds rate_time{4};  // for measuring what the device reaches; 0: not measured
  Clock& clock;
  Log& log;
  std::function<void(const std::string& section)> on_begin;  // may be empty
};

struct SelftestSection {
  std::string name;    // "kernels"
  int64_t passed = 0;  // checks
  int64_t total = 0;
  std::string summary;                // what was found, in words; empty: nothing to say
  std::vector<std::string> findings;  // what is wrong, a line each
  double seconds = 0;
};

struct SelftestReport {
  std::vector<SelftestSection> sections;
  bool passed() const;
};

// A section that cannot even begin (no memory for it) has that as its finding; the others run.
SelftestReport RunSelftest(const SelftestOptions& options);

}  // namespace horizon
