#include "runtime/device/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/shared_library.h"
#include "tests/fake_nvml/fake_nvml.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string Library(const std::string& played) {
  return "tests/fake_nvml/libfake_nvml_" + played + ".so";
}

TEST(Nvml, TellsAllOfEachDevice) {
  const auto nvml = Nvml::Open(Library("a100"));
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  EXPECT_EQ((*nvml)->driver_version(), "550.54.14");
  EXPECT_EQ((*nvml)->nvml_version(), "12.550.54.14");
  ASSERT_EQ((*nvml)->CountDevices().value_or(-1), 2);
  const auto first = (*nvml)->Read(0);
  const auto second = (*nvml)->Read(1);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(first->name, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(first->uuid, "GPU-00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(first->bus_id, "00000000:01:00.0");
  EXPECT_EQ(first->memory_bytes, Bytes(uint64_t{81920} << 20));
  EXPECT_EQ(first->free_bytes, Bytes(uint64_t{81000} << 20));
  EXPECT_EQ(first->link_now, (PcieLink{.generation = 4, .width = 16}));
  EXPECT_EQ(first->link_most, first->link_now);
  EXPECT_EQ(first->to_device_bytes_per_second, 12'500'000'000);
  EXPECT_EQ(first->to_host_bytes_per_second, 11'000'000'000);
  EXPECT_EQ(first->processes, 0);
  EXPECT_THAT(first->missing, IsEmpty());
  EXPECT_EQ(second->bus_id, "00000000:02:00.0");
  EXPECT_EQ(second->clock_mhz, 1155);
  EXPECT_EQ(second->clock_most_mhz, 1410);
  EXPECT_EQ(second->memory_clock_mhz, 1593);
  EXPECT_EQ(second->memory_clock_most_mhz, 1593);
  EXPECT_EQ(second->power_watts, 398.1);
  EXPECT_EQ(second->temperature_celsius, 71);
  EXPECT_EQ(second->processes, 3);
}

TEST(Nvml, TellsTheLinkNowFromWhatItCouldBe) {
  const auto nvml = Nvml::Open(Library("rtx3090"));
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  const auto device = (*nvml)->Read(0);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ(device->link_now, (PcieLink{.generation = 3, .width = 8}));
  EXPECT_EQ(device->link_most, (PcieLink{.generation = 4, .width = 16}));
}

TEST(Nvml, TellsTheLinkAlone) {
  const auto nvml = Nvml::Open(Library("narrow"));
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  const auto link = (*nvml)->ReadLink(0);
  ASSERT_TRUE(link.ok()) << link.status();
  EXPECT_EQ(link->now, (PcieLink{.generation = 1, .width = 4}));
  EXPECT_EQ(link->most, (PcieLink{.generation = 4, .width = 16}));
  EXPECT_FALSE((*nvml)->ReadLink(1).ok());
  const auto old = Nvml::Open(Library("old"));
  ASSERT_TRUE(old.ok());
  EXPECT_FALSE((*old)->ReadLink(0)->now.has_value());
}

TEST(Nvml, PlacesOnTheBusAreComparedWithoutRegardToCapitals) {
  EXPECT_TRUE(SameBusId("00000000:AF:00.0", "00000000:af:00.0"));
  EXPECT_FALSE(SameBusId("00000000:AF:00.0", "00000000:AE:00.0"));
  EXPECT_FALSE(SameBusId("00000000:AF:00.0", "00000000:AF:00"));
  EXPECT_FALSE(SameBusId("", ""));
}

TEST(Nvml, WhatAnOldDriverCannotBeAskedIsMissingAndNoError) {
  const auto nvml = Nvml::Open(Library("old"));
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  EXPECT_EQ((*nvml)->driver_version(), "331.67");
  EXPECT_EQ((*nvml)->nvml_version(), "");
  const auto device = (*nvml)->Read(0);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ(device->name, "Tesla K40c");
  EXPECT_EQ(device->temperature_celsius, 28);
  EXPECT_EQ(device->memory_bytes, Bytes(uint64_t{11520} << 20));
  EXPECT_EQ(device->uuid, "");
  EXPECT_FALSE(device->link_now || device->link_most || device->clock_mhz || device->power_watts ||
               device->processes || device->to_host_bytes_per_second);
  EXPECT_THAT(device->missing, SizeIs(12));
  EXPECT_THAT(device->missing, Contains("power: the driver is too old to be asked"));
}

TEST(Nvml, NoDriverIsUnavailableAndSaysWhatWasLookedFor) {
  const auto nvml = Nvml::Open("libno-such-nvml.so.1");
  EXPECT_EQ(nvml.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(nvml.status().message()),
              AllOf(StartsWith("no NVIDIA driver: "), HasSubstr("libno-such-nvml.so.1")));
  EXPECT_EQ(Nvml::Open("").status().code(), absl::StatusCode::kUnavailable);
}

TEST(Nvml, ALibraryThatIsNotNvmlIsUnavailable) {
  const auto nvml = Nvml::Open("libm.so.6");
  EXPECT_EQ(nvml.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(nvml.status().message()), HasSubstr("too old or broken"));
}

TEST(Nvml, ADriverThatDoesNotAnswerIsUnavailable) {
  const auto nvml = Nvml::Open(Library("broken"));
  EXPECT_EQ(nvml.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(nvml.status().message()), HasSubstr("Driver Not Loaded (NVML error 9)"));
}

// The same library, opened beside Nvml, to make its calls fail.
class FailingNvml : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(library_.ok()) << library_.status();
    fail_ = library_->Find<fake_nvml::Fail>("FakeNvmlFail");
    open_count_ = library_->Find<fake_nvml::OpenCount>("FakeNvmlOpenCount");
    ASSERT_TRUE(fail_ != nullptr && open_count_ != nullptr);
  }
  void TearDown() override {
    fail_(nullptr, 0);
    EXPECT_EQ(open_count_(), 0) << "every nvmlInit has its nvmlShutdown";
  }

  const absl::StatusOr<SharedLibrary> library_ = SharedLibrary::Open(Library("h100"));
  fake_nvml::Fail* fail_ = nullptr;
  fake_nvml::OpenCount* open_count_ = nullptr;
};

TEST_F(FailingNvml, AMismatchOfVersionsIsUnavailable) {
  fail_("nvmlInit_v2", 18);
  EXPECT_THAT(std::string(Nvml::Open(Library("h100")).status().message()),
              AllOf(HasSubstr("version mismatch (NVML error 18)"), HasSubstr("reboot")));
}

TEST_F(FailingNvml, CountingAndOpeningFailWithTheDriversWords) {
  const auto nvml = Nvml::Open(Library("h100"));
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  fail_("nvmlDeviceGetCount_v2", 999);
  EXPECT_EQ((*nvml)->CountDevices().status().code(), absl::StatusCode::kUnavailable);
  fail_("nvmlDeviceGetHandleByIndex_v2", 15);
  EXPECT_THAT(std::string((*nvml)->Read(0).status().message()),
              AllOf(HasSubstr("device 0"), HasSubstr("GPU is lost (NVML error 15)")));
  fail_("nvmlDeviceGetHandleByIndex_v2", 0);
  EXPECT_EQ((*nvml)->Read(1).status().code(), absl::StatusCode::kUnavailable) << "there is one";
}

TEST_F(FailingNvml, EachFailingQuestionCostsItsOwnFigureOnly) {
  struct Question {
    const char* entry_point;
    size_t lines;  // of `missing`
  };
  for (const Question& question : {Question{"nvmlDeviceGetName", 1},
                                   {"nvmlDeviceGetUUID", 1},
                                   {"nvmlDeviceGetPciInfo_v3", 1},
                                   {"nvmlDeviceGetMemoryInfo", 1},
                                   {"nvmlDeviceGetCurrPcieLinkGeneration", 1},
                                   {"nvmlDeviceGetCurrPcieLinkWidth", 1},
                                   {"nvmlDeviceGetMaxPcieLinkGeneration", 1},
                                   {"nvmlDeviceGetMaxPcieLinkWidth", 1},
                                   {"nvmlDeviceGetPcieThroughput", 2},
                                   {"nvmlDeviceGetClockInfo", 2},
                                   {"nvmlDeviceGetMaxClockInfo", 2},
                                   {"nvmlDeviceGetPowerUsage", 1},
                                   {"nvmlDeviceGetTemperature", 1},
                                   {"nvmlDeviceGetComputeRunningProcesses_v3", 1}}) {
    SCOPED_TRACE(question.entry_point);
    fail_(nullptr, 0);
    const auto nvml = Nvml::Open(Library("h100"));
    ASSERT_TRUE(nvml.ok()) << nvml.status();
    fail_(question.entry_point, 3);
    const auto device = (*nvml)->Read(0);
    ASSERT_TRUE(device.ok()) << device.status();
    EXPECT_THAT(device->missing, SizeIs(question.lines));
    EXPECT_THAT(device->missing, Contains(HasSubstr(": Not Supported (NVML error 3)")));
    const std::string entry_point = question.entry_point;
    EXPECT_EQ(device->name.empty(), entry_point == "nvmlDeviceGetName");
    EXPECT_EQ(!device->memory_bytes, entry_point == "nvmlDeviceGetMemoryInfo");
    EXPECT_EQ(!device->link_now, entry_point.find("Curr") != std::string::npos);
    EXPECT_EQ(!device->link_most, entry_point.find("MaxPcie") != std::string::npos);
    EXPECT_EQ(!device->temperature_celsius, entry_point == "nvmlDeviceGetTemperature");
  }
}

TEST_F(FailingNvml, VersionsThatAreNotToldAreEmpty) {
  fail_("nvmlSystemGetDriverVersion", 999);
  fail_("nvmlSystemGetNVMLVersion", 999);
  const auto nvml = Nvml::Open(Library("h100"));
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  EXPECT_EQ((*nvml)->driver_version(), "");
  EXPECT_EQ((*nvml)->nvml_version(), "");
}

}  // namespace
}  // namespace horizon
