// Whatever the bytes, a machine's profile is read or refused; one that is read survives being
// written and read again, and all its figures are finite and above zero.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/check.h"
#include "common/documents/json.h"
#include "simulator/hardware_profile.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

void TryProfile(std::string_view text) {
  const absl::StatusOr<Document> document = ParseJson("fuzz.json", text);
  if (!document.ok()) return;
  const absl::StatusOr<HardwareProfile> profile = ReadProfile(*document);
  if (!profile.ok()) {
    CHECK(profile.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK(profile.status().message().find("fuzz.json:") == 0);
    return;
  }
  CHECK(std::isfinite(profile->usable_host_bytes()) && profile->usable_host_bytes() > 0);
  CHECK(std::isfinite(profile->usable_device_bytes()) && profile->usable_device_bytes() > 0);
  CHECK(profile->host.cores >= 1 && profile->host.numa_nodes >= 1);
  const std::string written_text = WriteProfile(*profile);
  const absl::StatusOr<Document> written = ParseJson("written.json", written_text);
  CHECK(written.ok());
  const absl::StatusOr<HardwareProfile> again = ReadProfile(*written);
  CHECK(again.ok() && WriteProfile(*again) == written_text);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryProfile({reinterpret_cast<const char*>(data), size});
  return 0;
}
