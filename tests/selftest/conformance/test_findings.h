#pragma once

#include <gtest/gtest.h>

#include <string>

#include "selftest/findings.h"

namespace horizon {

// Findings that fail the test when they die.
class TestFindings : public Findings {
 public:
  ~TestFindings() {
    for (const std::string& line : lines()) ADD_FAILURE() << line;
  }
};

}  // namespace horizon
