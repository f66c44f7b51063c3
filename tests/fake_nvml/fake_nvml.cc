// A libnvidia-ml that plays drivers and devices, one library each, chosen by FAKE_NVML_PLAYS:
//   1 a server with two A100, 2 an H100, 3 a desktop's RTX 3090 that got 8 lanes of generation 3,
//   4 a driver that is not loaded, 5 a driver of 2014, which lacks most entry points, 6 an RTX
//   A5000 on 4 lanes of generation 1 where 16 of generation 4 are possible.
// Exported names and their meanings are NVIDIA's (NVML API reference), the words are ours.
#include "tests/fake_nvml/fake_nvml.h"

#include <cstdio>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kNotInitialised = 1;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kInsufficientSize = 7;
constexpr int kNotLoaded = 9;

struct Played {
  const char* name;
  unsigned long long memory, free;
  unsigned generation, width, most_generation, most_width;
  unsigned to_device_kb, to_host_kb;
  unsigned clock, most_clock, memory_clock, most_memory_clock;
  unsigned milliwatts, celsius, processes;
};

constexpr unsigned long long kMiB = 1ull << 20;

#if FAKE_NVML_PLAYS == 1
constexpr char kDriver[] = "550.54.14";
constexpr Played kDevices[] = {{"NVIDIA A100-SXM4-80GB", 81920 * kMiB, 81000 * kMiB, 4, 16, 4, 16,
                                12'500'000, 11'000'000, 1410, 1410, 1593, 1593, 61'250, 34, 0},
                               {"NVIDIA A100-SXM4-80GB", 81920 * kMiB, 1000 * kMiB, 4, 16, 4, 16, 0,
                                0, 1155, 1410, 1593, 1593, 398'100, 71, 3}};
#elif FAKE_NVML_PLAYS == 2
constexpr char kDriver[] = "580.65.06";
constexpr Played kDevices[] = {{"NVIDIA H100 PCIe", 81559 * kMiB, 80900 * kMiB, 5, 16, 5, 16, 0, 0,
                                1755, 1755, 1593, 1593, 47'000, 30, 0}};
#elif FAKE_NVML_PLAYS == 3
constexpr char kDriver[] = "560.35.03";
constexpr Played kDevices[] = {{"NVIDIA GeForce RTX 3090", 24576 * kMiB, 23100 * kMiB, 3, 8, 4, 16,
                                6'100'000, 2'000, 1695, 2100, 9501, 9751, 321'000, 66, 1}};
#elif FAKE_NVML_PLAYS == 4
constexpr char kDriver[] = "";
constexpr Played kDevices[] = {{"none", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
#elif FAKE_NVML_PLAYS == 5
constexpr char kDriver[] = "331.67";
constexpr Played kDevices[] = {{"Tesla K40c", 11520 * kMiB, 11500 * kMiB, 3, 16, 3, 16, 0, 0, 745,
                                875, 3004, 3004, 20'000, 28, 0}};
#elif FAKE_NVML_PLAYS == 6
constexpr char kDriver[] = "550.54.14";
constexpr Played kDevices[] = {{"NVIDIA RTX A5000", 24576 * kMiB, 24000 * kMiB, 1, 4, 4, 16, 0, 0,
                                210, 2100, 405, 8001, 15'000, 30, 0}};
#endif
constexpr unsigned kCount = sizeof(kDevices) / sizeof(kDevices[0]);

int opened = 0;

struct Failure {
  char name[64];
  int error;
};
Failure failures[32];

int Asked(const char* entry_point) {
  for (const Failure& failure : failures) {
    if (failure.error != 0 && std::strcmp(failure.name, entry_point) == 0) return failure.error;
  }
  return opened > 0 || std::strcmp(entry_point, "nvmlInit_v2") == 0 ? 0 : kNotInitialised;
}

const Played* DeviceOf(const void* handle) { return static_cast<const Played*>(handle); }

int Write(const char* from, char* to, unsigned length) {
  if (std::strlen(from) + 1 > length) return kInsufficientSize;
  std::strcpy(to, from);
  return 0;
}

int Number(const char* entry_point, unsigned from, unsigned* to) {
  const int error = Asked(entry_point);
  if (error == 0) *to = from;
  return error;
}

}  // namespace

EXPORT void FakeNvmlFail(const char* entry_point, int error) {
  if (entry_point == nullptr) {
    std::memset(failures, 0, sizeof(failures));
    return;
  }
  for (Failure& failure : failures) {
    if (failure.error != 0 && std::strcmp(failure.name, entry_point) != 0) continue;
    std::snprintf(failure.name, sizeof(failure.name), "%s", entry_point);
    failure.error = error;
    return;
  }
}
EXPORT int FakeNvmlOpenCount() { return opened; }

EXPORT int nvmlInit_v2() {
  if (FAKE_NVML_PLAYS == 4) return kNotLoaded;
  const int error = Asked("nvmlInit_v2");
  if (error == 0) ++opened;
  return error;
}
EXPORT int nvmlShutdown() {
  if (opened == 0) return kNotInitialised;
  --opened;
  return 0;
}
EXPORT const char* nvmlErrorString(int error) {
  switch (error) {
    case kNotInitialised:
      return "Uninitialized";
    case kInvalidArgument:
      return "Invalid Argument";
    case kNotSupported:
      return "Not Supported";
    case 4:
      return "Insufficient Permissions";
    case kInsufficientSize:
      return "Insufficient Size";
    case kNotLoaded:
      return "Driver Not Loaded";
    case 15:
      return "GPU is lost";
    case 18:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}
EXPORT int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  const int error = Asked("nvmlSystemGetDriverVersion");
  return error != 0 ? error : Write(kDriver, text, length);
}
EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  return Number("nvmlDeviceGetCount_v2", kCount, count);
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, const void** handle) {
  const int error = Asked("nvmlDeviceGetHandleByIndex_v2");
  if (error != 0) return error;
  if (index >= kCount) return kInvalidArgument;
  *handle = &kDevices[index];
  return 0;
}
EXPORT int nvmlDeviceGetName(const void* device, char* text, unsigned length) {
  const int error = Asked("nvmlDeviceGetName");
  return error != 0 ? error : Write(DeviceOf(device)->name, text, length);
}
EXPORT int nvmlDeviceGetMemoryInfo(const void* device, unsigned long long memory[3]) {
  const int error = Asked("nvmlDeviceGetMemoryInfo");
  if (error != 0) return error;
  memory[0] = DeviceOf(device)->memory;
  memory[1] = DeviceOf(device)->free;
  memory[2] = DeviceOf(device)->memory - DeviceOf(device)->free;
  return 0;
}
EXPORT int nvmlDeviceGetTemperature(const void* device, int sensor, unsigned* celsius) {
  if (sensor != 0) return kInvalidArgument;
  return Number("nvmlDeviceGetTemperature", DeviceOf(device)->celsius, celsius);
}

#if FAKE_NVML_PLAYS != 5
EXPORT int nvmlSystemGetNVMLVersion(char* text, unsigned length) {
  const int error = Asked("nvmlSystemGetNVMLVersion");
  return error != 0 ? error : Write("12.550.54.14", text, length);
}
EXPORT int nvmlDeviceGetUUID(const void* device, char* text, unsigned length) {
  const int error = Asked("nvmlDeviceGetUUID");
  char uuid[48];
  std::snprintf(uuid, sizeof(uuid), "GPU-00000000-0000-0000-0000-%012d",
                static_cast<int>(DeviceOf(device) - kDevices));
  return error != 0 ? error : Write(uuid, text, length);
}
EXPORT int nvmlDeviceGetPciInfo_v3(const void* device, void* info) {
  const int error = Asked("nvmlDeviceGetPciInfo_v3");
  if (error != 0) return error;
  // Sixteen bytes of an old text, five numbers, and the text: domain:bus:device.function.
  constexpr int kTextAt = 16 + 5 * 4;
  const int bus = 1 + static_cast<int>(DeviceOf(device) - kDevices);
  std::snprintf(static_cast<char*>(info) + kTextAt, 32, "00000000:%02X:00.0", bus);
  return 0;
}
EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(const void* device, unsigned* number) {
  return Number("nvmlDeviceGetCurrPcieLinkGeneration", DeviceOf(device)->generation, number);
}
EXPORT int nvmlDeviceGetCurrPcieLinkWidth(const void* device, unsigned* number) {
  return Number("nvmlDeviceGetCurrPcieLinkWidth", DeviceOf(device)->width, number);
}
EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(const void* device, unsigned* number) {
  return Number("nvmlDeviceGetMaxPcieLinkGeneration", DeviceOf(device)->most_generation, number);
}
EXPORT int nvmlDeviceGetMaxPcieLinkWidth(const void* device, unsigned* number) {
  return Number("nvmlDeviceGetMaxPcieLinkWidth", DeviceOf(device)->most_width, number);
}
EXPORT int nvmlDeviceGetPcieThroughput(const void* device, int counter, unsigned* kilobytes) {
  if (counter != 0 && counter != 1) return kInvalidArgument;
  const Played* played = DeviceOf(device);
  return Number("nvmlDeviceGetPcieThroughput",
                counter == 0 ? played->to_host_kb : played->to_device_kb, kilobytes);
}
EXPORT int nvmlDeviceGetClockInfo(const void* device, int clock, unsigned* mhz) {
  if (clock != 1 && clock != 2) return kInvalidArgument;
  const Played* played = DeviceOf(device);
  return Number("nvmlDeviceGetClockInfo", clock == 1 ? played->clock : played->memory_clock, mhz);
}
EXPORT int nvmlDeviceGetMaxClockInfo(const void* device, int clock, unsigned* mhz) {
  if (clock != 1 && clock != 2) return kInvalidArgument;
  const Played* played = DeviceOf(device);
  return Number("nvmlDeviceGetMaxClockInfo",
                clock == 1 ? played->most_clock : played->most_memory_clock, mhz);
}
EXPORT int nvmlDeviceGetPowerUsage(const void* device, unsigned* milliwatts) {
  return Number("nvmlDeviceGetPowerUsage", DeviceOf(device)->milliwatts, milliwatts);
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(const void* device, unsigned* count,
                                                   void* records) {
  const int error = Asked("nvmlDeviceGetComputeRunningProcesses_v3");
  if (error != 0) return error;
  const unsigned room = *count;
  *count = DeviceOf(device)->processes;
  return *count > room || records == nullptr ? (*count == 0 ? 0 : kInsufficientSize) : 0;
}
#endif
