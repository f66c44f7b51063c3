#pragma once

#include <gtest/gtest.h>

#include <string>

#include "selftest/findings.h"

namespace horizon {

// Findings for tests: the destructor makes every finding a failure of the test.
class TestFindings : public Findings {
 public:
  ~TestFindings() {
    for (const std::string& line : lines()) ADD_FAILURE() << line;
  }
};

}  // namespace horizon
