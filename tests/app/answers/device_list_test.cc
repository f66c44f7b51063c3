#include "app/answers/device_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>

#include "common/documents/json.h"
#include "common/units.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

HostLimits Host() { return {.processor = "A processor", .total_memory = 64_GiB, .cores = 8}; }

CudaSurvey NoCuda(const std::string& why) { return {.usable = absl::UnavailableError(why)}; }

CudaSurvey TwoA100() {
  return {.in_build = true,
          .runtime_version = 13000,
          .driver_version = 13010,
          .devices = {{.index = 0,
                       .name = "NVIDIA A100-SXM4-80GB",
                       .bus_id = "00000000:02:00.0",
                       .memory_bytes = 80_GiB,
                       .major = 8},
                      {.index = 1,
                       .name = "NVIDIA A100-SXM4-80GB",
                       .bus_id = "00000000:01:00.0",
                       .memory_bytes = 80_GiB,
                       .major = 8,
                       .usable = absl::UnavailableError("not built for this device")}}};
}

std::string Library(const std::string& played) {
  return "tests/fake_nvml/libfake_nvml_" + played + ".so";
}

TEST(DeviceList, JoinsCudaAndTheDriverByPlaceOnTheBus) {
  const DeviceList list{.host = Host(), .cuda = TwoA100(), .nvml = SurveyNvml(Library("a100"))};
  const std::string text = DeviceListText(list);
  EXPECT_THAT(text, ContainsRegex("host +A processor, 8 cores +64 GiB"));
  EXPECT_THAT(text, ContainsRegex("cuda:0 +NVIDIA A100-SXM4-80GB +80 GiB +gen 4 x16 +gen 4 x16"));
  EXPECT_THAT(text, HasSubstr("\ncuda:1: not used: not built for this device\n"));
  EXPECT_THAT(text, Not(HasSubstr("cuda:0:"))) << "there is nothing to say of it";
  EXPECT_THAT(text, HasSubstr("driver 550.54.14, built with CUDA 13.0, the driver serves 13.1\n"));
  const auto json = ParseJson("answer", DeviceListJson(list));
  ASSERT_TRUE(json.ok()) << json.status();
  const auto& devices = *json->root.Find("devices")->As<Value::Array>();
  ASSERT_EQ(devices.size(), 2U);
  // CUDA's first is the driver's second.
  EXPECT_EQ(*devices[0].Find("processes")->As<int64_t>(), 3);
  EXPECT_EQ(*devices[1].Find("processes")->As<int64_t>(), 0);
  EXPECT_EQ(*devices[0].Find("usable")->As<bool>(), true);
  EXPECT_EQ(*devices[1].Find("usable")->As<bool>(), false);
  EXPECT_EQ(*devices[1].Find("memory_bytes")->As<int64_t>(), int64_t{80} << 30);
  EXPECT_EQ(*devices[0].Find("compute_capability")->As<std::string>(), "8.0");
}

TEST(DeviceList, PointsOutTensorCoresThatDoNotTakeBf16) {
  CudaSurvey cuda = TwoA100();
  for (CudaDeviceFacts& facts : cuda.devices) std::tie(facts.major, facts.minor) = std::pair(7, 5);
  const DeviceList list{.host = Host(), .cuda = cuda, .nvml = absl::UnavailableError("no")};
  EXPECT_THAT(DeviceListText(list), AllOf(HasSubstr("\ncuda:0: its tensor cores do not take bf16"),
                                          Not(HasSubstr("\ncuda:1: its"))))
      << "the second is not used anyway";
}

TEST(DeviceList, PointsOutALinkBelowItsBest) {
  const DeviceList list{.host = Host(),
                        .cuda = NoCuda("the NVIDIA driver is too old"),
                        .nvml = SurveyNvml(Library("rtx3090"))};
  EXPECT_THAT(
      DeviceListText(list),
      AllOf(ContainsRegex("gpu 0 +NVIDIA GeForce RTX 3090 +24 GiB +gen 3 x8 +gen 4 x16"),
            HasSubstr("\ngpu 0: the link runs below its best: gen 3 x8 at rest of gen 4 x16 (8 of "
                      "16 lanes), at most 50 % of what it could carry"),
            HasSubstr("\ngpu 0: not used: the NVIDIA driver is too old\n")));
}

TEST(DeviceList, ALowerGenerationAloneMayBeIdling) {
  NvmlDevice device{.name = "D", .link_now = PcieLink{1, 16}, .link_most = PcieLink{4, 16}};
  const DeviceList list{
      .host = Host(), .cuda = NoCuda("no"), .nvml = NvmlSurvey{.devices = {device}}};
  EXPECT_THAT(DeviceListText(list),
              HasSubstr("gen 1 x16 at rest and could as gen 4 x16: usual while a device idles"));
}

TEST(DeviceList, FewerLanesAreAReasonToWorryEvenAtRest) {
  const DeviceList list{
      .host = Host(), .cuda = NoCuda("no"), .nvml = SurveyNvml(Library("narrow"))};
  EXPECT_THAT(DeviceListText(list),
              AllOf(ContainsRegex("gpu 0 +NVIDIA RTX A5000 +24 GiB +gen 1 x4 +gen 4 x16"),
                    HasSubstr("below its best: gen 1 x4 at rest of gen 4 x16 (4 of 16 lanes), at "
                              "most 25 %")));
}

TEST(DeviceList, SaysWhichLimitsHoldTheHostBack) {
  HostLimits host = Host();
  host.hardware_threads = 64;
  host.processors = 16;
  host.quota_cores = 8.5;
  host.cgroup_memory = 10_GiB;
  const DeviceList list{.host = host, .cuda = NoCuda("no"), .nvml = absl::UnavailableError("no")};
  EXPECT_THAT(DeviceListText(list),
              AllOf(HasSubstr("\nhost: 8 cores can be used: 16 of 64 hardware threads by affinity; "
                              "8.5 cores' worth of time by quota\n"),
                    HasSubstr("\nhost: a limit of this process allows 10 GiB of memory\n")));
}

TEST(DeviceList, WhatIsNotKnownIsNullAndAQuestionMark) {
  const DeviceList list{.host = Host(), .cuda = NoCuda("no"), .nvml = SurveyNvml(Library("old"))};
  EXPECT_THAT(DeviceListText(list), ContainsRegex("gpu 0 +Tesla K40c +11\\.25 GiB +\\? +\\?"));
  EXPECT_THAT(DeviceListJson(list), ContainsRegex("\"link_now\": *null"));
}

TEST(DeviceList, ADeviceTheDriverCannotOpenIsListedWithItsReason) {
  const DeviceList list{
      .host = Host(),
      .cuda = NoCuda("no"),
      .nvml = NvmlSurvey{.devices = {absl::UnavailableError("GPU is lost (NVML error 15)")}}};
  EXPECT_THAT(DeviceListText(list), HasSubstr("\ngpu 0: not used: GPU is lost (NVML error 15)\n"));
}

TEST(DeviceList, WithoutDriverSaysSoInOneLineEach) {
  const DeviceList list{.host = Host(),
                        .cuda = NoCuda("this build has no CUDA"),
                        .nvml = SurveyNvml(Library("broken"))};
  EXPECT_THAT(DeviceListText(list),
              AllOf(HasSubstr("\ncuda: not used: this build has no CUDA\n"),
                    HasSubstr("\nNVML: the NVIDIA driver does not answer: Driver Not Loaded")));
}

}  // namespace
}  // namespace horizon
