#include "tests/app/support/measured_profile.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/app/support/run_program.h"

namespace horizon {

void UseMeasuredProfile() {
  const std::string archive =
      std::filesystem::absolute("tests/app/support/measured_profile.tar").string();
  const ProcessResult result =
      RunShell("mkdir -p cache && tar -C cache -xf '" + archive + "' && ls cache/horizon");
  ASSERT_EQ(result.exit_code, 0) << result.err;
}

}  // namespace horizon
