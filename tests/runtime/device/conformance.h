#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "selftest/conformance/conformance.h"

namespace horizon {

// The conformance suite as tests, one a check. A device takes part with
//
//   INSTANTIATE_TEST_SUITE_P(Mine, DeviceConformance, EveryCheckOn(DeviceFactory{...}), CheckName);
struct CheckOnDevice {
  DeviceFactory factory;
  ConformanceCheck check;

  friend void PrintTo(const CheckOnDevice& test, std::ostream* out) {
    *out << test.check.name << " on " << test.factory.name;
  }
};

class DeviceConformance : public testing::TestWithParam<CheckOnDevice> {};

inline auto EveryCheckOn(const DeviceFactory& factory) {
  std::vector<CheckOnDevice> tests;
  for (const ConformanceCheck& check : ConformanceChecks()) tests.push_back({factory, check});
  return testing::ValuesIn(tests);
}

inline std::string CheckName(const testing::TestParamInfo<CheckOnDevice>& info) {
  return std::string(info.param.check.name);
}

}  // namespace horizon
