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

// The self-test checks a device in about a minute; run it when a program first uses a device. It
// has four sections: the device's kernels, its conformance to device.h, a few steps of training,
// and the rates that it reaches.
struct SelftestOptions {
  DeviceName device;
  int threads = 1;       // CPU threads to use
  Seconds rate_time{4};  // how long to measure the device's rates; 0: not measured
  Clock& clock;
  Log& log;
  std::function<void(const std::string& section)> on_begin;  // called before each; may be empty
};

// The result of one section.
struct SelftestSection {
  std::string name;    // "kernels"
  int64_t passed = 0;  // checks
  int64_t total = 0;
  std::string summary;                // the result in words, such as losses or rates; may be empty
  std::vector<std::string> findings;  // what is wrong, one line each
  double seconds = 0;
};

// The results of all sections.
struct SelftestReport {
  std::vector<SelftestSection> sections;
  // Whether all checks of all sections passed.
  bool passed() const;
};

// Runs the sections one after the other. If a section cannot start, for instance because memory is
// short, the error is its finding and the other sections still run.
SelftestReport RunSelftest(const SelftestOptions& options);

}  // namespace horizon
