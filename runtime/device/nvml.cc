#include "runtime/device/nvml.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "common/shared_library.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

// What we use of nvml.h, with its values (NVML API reference, driver 550).
using NvmlResult = int;
struct NvmlHandle;  // nvmlDevice_st

constexpr NvmlResult kSuccess = 0;
constexpr NvmlResult kInsufficientSize = 7;
constexpr int kToHostCounter = 0;    // NVML_PCIE_UTIL_TX_BYTES: what the device sends
constexpr int kToDeviceCounter = 1;  // NVML_PCIE_UTIL_RX_BYTES
constexpr int kProcessorClock = 1;   // NVML_CLOCK_SM
constexpr int kMemoryClock = 2;      // NVML_CLOCK_MEM
constexpr int kProcessorSensor = 0;  // NVML_TEMPERATURE_GPU
constexpr unsigned kTextBytes = 96;  // NVML_DEVICE_NAME_V2_BUFFER_SIZE; the longest of all

struct MemoryInfo {  // nvmlMemory_t
  unsigned long long total, free, used;
};
struct PciInfo {  // nvmlPciInfo_t of version 3
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

using GetText = NvmlResult(char* text, unsigned length);
using GetDeviceText = NvmlResult(NvmlHandle* device, char* text, unsigned length);
using GetNumber = NvmlResult(NvmlHandle* device, unsigned* number);
using GetChosenNumber = NvmlResult(NvmlHandle* device, int which, unsigned* number);

// The entry points; null where the library has none, which only the first three may not be.
struct Entries {
  explicit Entries(const SharedLibrary& library)
      : init(library.Find<NvmlResult()>("nvmlInit_v2")),
        count(library.Find<NvmlResult(unsigned*)>("nvmlDeviceGetCount_v2")),
        handle(library.Find<NvmlResult(unsigned, NvmlHandle**)>("nvmlDeviceGetHandleByIndex_v2")),
        shutdown(library.Find<NvmlResult()>("nvmlShutdown")),
        error_string(library.Find<const char*(NvmlResult)>("nvmlErrorString")),
        driver_version(library.Find<GetText>("nvmlSystemGetDriverVersion")),
        nvml_version(library.Find<GetText>("nvmlSystemGetNVMLVersion")),
        name(library.Find<GetDeviceText>("nvmlDeviceGetName")),
        uuid(library.Find<GetDeviceText>("nvmlDeviceGetUUID")),
        pci_info(library.Find<NvmlResult(NvmlHandle*, PciInfo*)>("nvmlDeviceGetPciInfo_v3")),
        memory(library.Find<NvmlResult(NvmlHandle*, MemoryInfo*)>("nvmlDeviceGetMemoryInfo")),
        generation(library.Find<GetNumber>("nvmlDeviceGetCurrPcieLinkGeneration")),
        width(library.Find<GetNumber>("nvmlDeviceGetCurrPcieLinkWidth")),
        most_generation(library.Find<GetNumber>("nvmlDeviceGetMaxPcieLinkGeneration")),
        most_width(library.Find<GetNumber>("nvmlDeviceGetMaxPcieLinkWidth")),
        throughput(library.Find<GetChosenNumber>("nvmlDeviceGetPcieThroughput")),
        clock(library.Find<GetChosenNumber>("nvmlDeviceGetClockInfo")),
        most_clock(library.Find<GetChosenNumber>("nvmlDeviceGetMaxClockInfo")),
        power(library.Find<GetNumber>("nvmlDeviceGetPowerUsage")),
        temperature(library.Find<GetChosenNumber>("nvmlDeviceGetTemperature")),
        processes(FindProcesses(library)) {}

  // All versions count alike; they differ in the records, which we do not ask for.
  using GetProcesses = NvmlResult(NvmlHandle* device, unsigned* count, void* records);
  static GetProcesses* FindProcesses(const SharedLibrary& library) {
    for (const char* name :
         {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
          "nvmlDeviceGetComputeRunningProcesses"}) {
      if (auto* found = library.Find<GetProcesses>(name); found != nullptr) return found;
    }
    return nullptr;
  }

  NvmlResult (*init)();
  NvmlResult (*count)(unsigned*);
  NvmlResult (*handle)(unsigned, NvmlHandle**);
  NvmlResult (*shutdown)();
  const char* (*error_string)(NvmlResult);
  GetText* driver_version;
  GetText* nvml_version;
  GetDeviceText* name;
  GetDeviceText* uuid;
  NvmlResult (*pci_info)(NvmlHandle*, PciInfo*);
  NvmlResult (*memory)(NvmlHandle*, MemoryInfo*);
  GetNumber* generation;
  GetNumber* width;
  GetNumber* most_generation;
  GetNumber* most_width;
  GetChosenNumber* throughput;
  GetChosenNumber* clock;
  GetChosenNumber* most_clock;
  GetNumber* power;
  GetChosenNumber* temperature;
  GetProcesses* processes;
};

// A text of the driver, which may have forgotten the zero at its end.
template <size_t N>
std::string TextOf(const std::array<char, N>& text) {
  size_t length = 0;
  while (length < N && text[length] != '\0') ++length;
  return std::string(text.data(), length);
}

class OpenNvml final : public Nvml {
 public:
  OpenNvml(SharedLibrary library, const Entries& entries)
      : library_(std::move(library)), entries_(entries) {
    driver_version_ = SystemText(entries_.driver_version);
    nvml_version_ = SystemText(entries_.nvml_version);
  }
  ~OpenNvml() override {
    if (entries_.shutdown != nullptr) entries_.shutdown();
  }

  const std::string& driver_version() const override { return driver_version_; }
  const std::string& nvml_version() const override { return nvml_version_; }

  absl::StatusOr<int> CountDevices() override {
    unsigned count = 0;
    const NvmlResult result = entries_.count(&count);
    if (result == kSuccess) return static_cast<int>(count);
    return absl::UnavailableError(
        StrCat("the NVIDIA driver does not count its devices: ", Words(result)));
  }

  absl::StatusOr<NvmlLink> ReadLink(int index) override {
    ASSIGN_OR_RETURN(NvmlHandle* const device, HandleOf(index));
    NvmlDevice found;
    ReadLink(device, found);
    return NvmlLink{.now = found.link_now, .most = found.link_most};
  }

  absl::StatusOr<NvmlDevice> Read(int index) override {
    ASSIGN_OR_RETURN(NvmlHandle* const device, HandleOf(index));
    NvmlDevice found;
    ReadNames(device, found);
    ReadMemory(device, found);
    ReadLink(device, found);
    ReadRates(device, found);
    ReadState(device, found);
    return found;
  }

  // "Not Supported (NVML error 3)".
  std::string Words(NvmlResult result) const {
    const char* words = entries_.error_string == nullptr ? nullptr : entries_.error_string(result);
    return StrCat(words == nullptr ? "no words" : words, " (NVML error ", result, ")");
  }

 private:
  static std::string SystemText(GetText* get) {
    std::array<char, kTextBytes> text{};
    if (get == nullptr || get(text.data(), kTextBytes) != kSuccess) return "";
    return TextOf(text);
  }

  // Calls the entry point, if it is there. False, with a line in `missing`, when nothing was told.
  template <typename Function, typename... Arguments>
  bool Ask(NvmlDevice& found, const char* what, Function* get, Arguments... arguments) const {
    if (get == nullptr) {
      found.missing.push_back(StrCat(what, ": the driver is too old to be asked"));
      return false;
    }
    const NvmlResult result = get(arguments...);
    if (result == kSuccess) return true;
    found.missing.push_back(StrCat(what, ": ", Words(result)));
    return false;
  }

  absl::StatusOr<NvmlHandle*> HandleOf(int index) const {
    NvmlHandle* device = nullptr;
    const NvmlResult result = entries_.handle(static_cast<unsigned>(index), &device);
    if (result == kSuccess) return device;
    return absl::UnavailableError(
        StrCat("the NVIDIA driver does not open device ", index, ": ", Words(result)));
  }

  void ReadNames(NvmlHandle* device, NvmlDevice& found) const {
    std::array<char, kTextBytes> text{};
    if (Ask(found, "name", entries_.name, device, text.data(), kTextBytes)) {
      found.name = TextOf(text);
    }
    text = {};
    if (Ask(found, "UUID", entries_.uuid, device, text.data(), kTextBytes)) {
      found.uuid = TextOf(text);
    }
    PciInfo pci{};
    if (Ask(found, "place on the bus", entries_.pci_info, device, &pci)) {
      found.bus_id = TextOf(std::to_array(pci.bus_id));
    }
  }

  void ReadMemory(NvmlHandle* device, NvmlDevice& found) const {
    MemoryInfo memory{};
    if (!Ask(found, "memory", entries_.memory, device, &memory)) return;
    found.memory_bytes = Bytes(memory.total);
    found.free_bytes = Bytes(memory.free);
  }

  void ReadLink(NvmlHandle* device, NvmlDevice& found) const {
    unsigned generation = 0;
    unsigned width = 0;
    if (Ask(found, "link generation", entries_.generation, device, &generation) &&
        Ask(found, "link width", entries_.width, device, &width)) {
      found.link_now = PcieLink{.generation = generation, .width = width};
    }
    if (Ask(found, "highest link generation", entries_.most_generation, device, &generation) &&
        Ask(found, "greatest link width", entries_.most_width, device, &width)) {
      found.link_most = PcieLink{.generation = generation, .width = width};
    }
  }

  void ReadRates(NvmlHandle* device, NvmlDevice& found) const {
    unsigned kilobytes = 0;
    if (Ask(found, "traffic to the device", entries_.throughput, device, kToDeviceCounter,
            &kilobytes)) {
      found.to_device_bytes_per_second = uint64_t{kilobytes} * 1000;
    }
    if (Ask(found, "traffic to the host", entries_.throughput, device, kToHostCounter,
            &kilobytes)) {
      found.to_host_bytes_per_second = uint64_t{kilobytes} * 1000;
    }
    const auto read_clock = [&](const char* what, GetChosenNumber* get, int clock) {
      unsigned mhz = 0;
      return Ask(found, what, get, device, clock, &mhz) ? std::optional<uint32_t>(mhz)
                                                        : std::nullopt;
    };
    found.clock_mhz = read_clock("clock", entries_.clock, kProcessorClock);
    found.clock_most_mhz = read_clock("highest clock", entries_.most_clock, kProcessorClock);
    found.memory_clock_mhz = read_clock("memory clock", entries_.clock, kMemoryClock);
    found.memory_clock_most_mhz =
        read_clock("highest memory clock", entries_.most_clock, kMemoryClock);
  }

  void ReadState(NvmlHandle* device, NvmlDevice& found) const {
    unsigned number = 0;
    if (Ask(found, "power", entries_.power, device, &number)) found.power_watts = number / 1000.0;
    if (Ask(found, "temperature", entries_.temperature, device, kProcessorSensor, &number)) {
      found.temperature_celsius = number;
    }
    ReadProcesses(device, found);
  }

  // Asked without room for records, the driver tells how many there are: that there is not room
  // enough is the answer, not an error.
  void ReadProcesses(NvmlHandle* device, NvmlDevice& found) const {
    if (entries_.processes == nullptr) {
      found.missing.emplace_back("processes: the driver is too old to be asked");
      return;
    }
    unsigned count = 0;
    const NvmlResult result = entries_.processes(device, &count, nullptr);
    if (result == kSuccess || result == kInsufficientSize) {
      found.processes = count;
    } else {
      found.missing.push_back(StrCat("processes: ", Words(result)));
    }
  }

  const SharedLibrary library_;
  const Entries entries_;
  std::string driver_version_;
  std::string nvml_version_;
};

}  // namespace

bool SameBusId(std::string_view a, std::string_view b) {
  return !a.empty() && std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::toupper(static_cast<unsigned char>(x)) ==
           std::toupper(static_cast<unsigned char>(y));
  });
}

absl::StatusOr<std::unique_ptr<Nvml>> Nvml::Open(const std::string& library) {
  absl::StatusOr<SharedLibrary> opened = SharedLibrary::Open(library);
  if (!opened.ok()) {
    return absl::UnavailableError(StrCat("no NVIDIA driver: ", opened.status().message()));
  }
  const Entries entries(*opened);
  if (entries.init == nullptr || entries.count == nullptr || entries.handle == nullptr) {
    return absl::UnavailableError(StrCat(
        library, " has not the entry points of NVML; the NVIDIA driver is too old or broken"));
  }
  const NvmlResult result = entries.init();
  if (result != kSuccess) {
    const char* words = entries.error_string == nullptr ? nullptr : entries.error_string(result);
    return absl::UnavailableError(
        StrCat("the NVIDIA driver does not answer: ", words == nullptr ? "no words" : words,
               " (NVML error ", result, "); load its module, or reboot if it was just updated"));
  }
  return std::make_unique<OpenNvml>(*std::move(opened), entries);
}

}  // namespace horizon
