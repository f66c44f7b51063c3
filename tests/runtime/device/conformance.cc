#include "tests/runtime/device/conformance.h"

#include "tests/selftest/conformance/test_findings.h"

namespace horizon {
namespace {

TEST_P(DeviceConformance, Holds) {
  TestFindings findings;
  GetParam().check.run(GetParam().factory, findings);
}

}  // namespace
}  // namespace horizon
