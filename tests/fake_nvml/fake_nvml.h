// What tests set of a fake libnvidia-ml after opening it themselves.
#pragma once

namespace fake_nvml {

// "FakeNvmlFail": from now on the entry point with this name (nvmlDeviceGetName, ...) returns the
// error; 0 takes it back, a null name takes all back. The name may be any that NVML has.
using Fail = void(const char* entry_point, int error);
// "FakeNvmlOpenCount": nvmlInit_v2 without its nvmlShutdown.
using OpenCount = int();

}  // namespace fake_nvml
