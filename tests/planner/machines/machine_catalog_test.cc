#include "planner/machines/machine_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/files/faulting_io.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class MachineCatalogTest : public testing::Test {
 protected:
  HardwareProfile Machine(std::string_view name) {
    absl::StatusOr<HardwareProfile> machine = LoadMachine(*io_, name);
    EXPECT_TRUE(machine.ok()) << machine.status();
    return machine.ok() ? *std::move(machine) : HardwareProfile{};
  }

  // A profile as users have them: the format of files, laid out by hand.
  std::string FileText() { return *ReadTextFile(*io_, "tests/planner/machines/profile_file.json"); }

  // That profile with one passage replaced, as a file.
  std::string Edited(const std::string& from, const std::string& to) {
    std::string text = FileText();
    const size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return File("edited.json", text.replace(at, from.size(), to));
  }

  std::string File(const std::string& name, std::string_view text) {
    std::string path = JoinPath(testing::TempDir(), name);
    EXPECT_TRUE(WriteTextFile(*io_, path, text).ok());
    return path;
  }

  std::string MessageOf(const std::string& name_or_file, absl::StatusCode code) {
    const absl::StatusOr<HardwareProfile> machine = LoadMachine(*io_, name_or_file);
    EXPECT_EQ(machine.status().code(), code) << machine.status();
    return std::string(machine.status().message());
  }
  std::string Refusal(const std::string& file) {
    return MessageOf(file, absl::StatusCode::kInvalidArgument);
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
};

// Of the makers' data sheets: dense bf16 and fp32 peaks in TFLOPS, memory in decimal GB (the one
// on the box), memory bandwidth in GB/s, nominal link a direction in GB/s. Copied from them by hand
// for this test, not from the catalog.
struct DataSheet {
  std::string name;
  double bf16, fp32, memory, bandwidth, link;
};
const DataSheet kDataSheets[] = {
    {"gh200", 989.5, 67, 96, 4000, 450},        {"h200", 989.5, 67, 141, 4800, 64},
    {"a100-pcie", 312, 19.5, 80, 1935, 32},     {"a6000", 155, 38.7, 51.54, 768, 32},
    {"rtx3090", 71.2, 35.6, 25.77, 936, 16},    {"b200", 2250, 80, 192, 8000, 64},
    {"h100-sxm", 989.5, 67, 80, 3350, 64},      {"h100-nvl", 835.5, 60, 94, 3938, 64},
    {"h100-pcie", 756.5, 51, 80, 2039, 64},     {"a100-sxm", 312, 19.5, 80, 2039, 32},
    {"l40s", 366, 91.6, 51.54, 864, 32},        {"rtx-pro-6000", 503.8, 126, 103.1, 1792, 64},
    {"rtx5090", 209.5, 104.8, 34.36, 1792, 64}, {"rtx5080", 112.6, 56.3, 17.18, 960, 64},
    {"rtx5060ti", 47.4, 23.7, 17.18, 448, 32},  {"rtx4090", 165.2, 82.6, 25.77, 1008, 32},
    {"rtx4080", 97.5, 48.8, 17.18, 716.8, 32},  {"rtx4070ti", 80.2, 40.1, 12.89, 504.2, 32},
    {"t4", 8.1, 8.1, 17.18, 320, 16},           {"mi300x", 1307.4, 163.4, 192, 5325, 64},
    {"mi355x", 2516.6, 157.3, 288, 8000, 64}};
// Machines whose CPU and GPU share one memory: all of it in GB, and its bandwidth in GB/s.
struct SharedMemory {
  std::string name;
  double memory, bandwidth;
};
const SharedMemory kSharedMemories[] = {
    {"gb10", 128, 273}, {"strix-halo", 128, 256}, {"m4-max", 128, 546}, {"m3-ultra", 512, 819}};

void ExpectShare(double value, double peak, double least, std::string_view what) {
  EXPECT_LE(value, peak * 1.0001) << what;
  EXPECT_GE(value, peak * least) << what;
}

TEST_F(MachineCatalogTest, EveryMachineIsReadAndNamedAsItsFile) {
  // One machine has no GPU, and so no data sheet of one.
  EXPECT_EQ(MachineNames().size(), std::size(kDataSheets) + std::size(kSharedMemories) + 1);
  EXPECT_EQ(Machine("cpu-desktop").device.kind, DeviceKind::kHost);
  for (const MachineEntry& entry : MachineCatalog()) {
    const HardwareProfile machine = Machine(entry.name);
    EXPECT_EQ(machine.name, entry.name);
    EXPECT_NE(machine.summary, "");
    EXPECT_EQ(machine.disks.size(), 1u);
    EXPECT_FALSE(machine.host.cgroup_bytes.has_value()) << entry.name;
    EXPECT_TRUE(machine.device_class.has_value()) << entry.name;
    EXPECT_EQ(machine.summary.find("planned only") != std::string::npos,
              machine.planned_only.has_value())
        << entry.name;
  }
}

TEST_F(MachineCatalogTest, MachinesThatCannotRunSayWhy) {
  for (const char* name : {"mi300x", "mi355x", "gb10", "strix-halo", "m4-max", "m3-ultra"}) {
    EXPECT_NE(Machine(name).planned_only.value_or(""), "") << name;
  }
  for (const char* name : {"gh200", "rtx4090", "cpu-desktop", "t4"}) {
    EXPECT_FALSE(Machine(name).planned_only.has_value()) << name;
  }
}

TEST_F(MachineCatalogTest, MemoryThatIsSharedIsGivenOutOnce) {
  for (const SharedMemory& shared : kSharedMemories) {
    const HardwareProfile machine = Machine(shared.name);
    EXPECT_EQ(machine.device.memory_bytes.value + machine.host.memory_bytes.value,
              shared.memory * 1e9)
        << shared.name;
    EXPECT_THAT(machine.summary, HasSubstr("shared by CPU and GPU")) << shared.name;
    // A copy reads and writes the one memory.
    EXPECT_LE(2 * machine.link.both_ways_bytes_per_second.value, shared.bandwidth * 1e9);
    EXPECT_LE(machine.host.dram.Highest(), shared.bandwidth * 1e9);
  }
}

// H200's DRAM used to be a third of the H100's.
TEST_F(MachineCatalogTest, TheSameHostHasTheSameRates) {
  EXPECT_EQ(Machine("h200").host.dram, Machine("h100-sxm").host.dram);
  EXPECT_EQ(Machine("h200").host.adam, Machine("h100-sxm").host.adam);
  EXPECT_EQ(Machine("b200").host.dram, Machine("mi300x").host.dram);
  EXPECT_EQ(Machine("h100-pcie").host.dram, Machine("l40s").host.dram);
  EXPECT_EQ(Machine("rtx4090").host.dram, Machine("cpu-desktop").host.dram);
  EXPECT_EQ(Machine("rtx4090").host.pack, Machine("rtx5060ti").host.pack);
}

// 0.6 of peak for every device was wrong by up to 1.7 times.
TEST_F(MachineCatalogTest, EveryClassReachesItsShareOfTheListedRate) {
  const auto expect = [&](std::string_view name, double share, double listed) {
    const HardwareProfile machine = Machine(name);
    EXPECT_NEAR(machine.device.gemm_bf16.Highest(), share * listed * 1e12, listed * 1e9) << name;
    EXPECT_THAT(machine.device.gemm_bf16.origin.source,
                HasSubstr(StrCat("the share of class ", *machine.device_class, ": ")))
        << name;
  };
  expect("rtx4090", 1, 165.2);
  expect("rtx3090", 1, 71);
  expect("a100-sxm", 0.7, 312);
  expect("h100-sxm", 0.73, 989);
  expect("h100-pcie", 0.62, 756);
  expect("l40s", 0.7, 362.05);
  expect("b200", 0.7, 2250);
  expect("mi300x", 0.46, 1307.4);
}

TEST_F(MachineCatalogTest, GemmsGetFasterUpToEightThousandRows) {
  for (const DataSheet& sheet : kDataSheets) {
    const Curve gemm = Machine(sheet.name).device.gemm_bf16;
    EXPECT_GT(gemm.At(4096), gemm.At(2048)) << sheet.name;
    EXPECT_GT(gemm.At(8192), gemm.At(4096)) << sheet.name;
    EXPECT_GT(gemm.At(2048), 0.9 * gemm.At(8192)) << sheet.name;
  }
}

TEST_F(MachineCatalogTest, NoFigureOfADeviceIsAboveItsDataSheet) {
  for (const DataSheet& sheet : kDataSheets) {
    SCOPED_TRACE(sheet.name);
    const HardwareProfile machine = Machine(sheet.name);
    const DeviceProfile& device = machine.device;
    ExpectShare(device.memory_bytes.value, sheet.memory * 1e9, 0.93, "memory");
    EXPECT_EQ(device.memory_bytes.origin.kind, OriginKind::kVendor);
    ExpectShare(device.memory_bytes_per_second.value, sheet.bandwidth * 1e9, 0.95, "bandwidth");
    EXPECT_LT(device.element_bytes_per_second.value, device.memory_bytes_per_second.value);
    ExpectShare(device.gemm_bf16.Highest(), sheet.bf16 * 1e12, 0.4, "bf16");
    ExpectShare(device.gemm_fp32.Highest(), sheet.fp32 * 1e12, 0.5, "fp32");
    EXPECT_LE(device.attention.Highest(), device.gemm_bf16.Highest());
    EXPECT_LT(device.reserved_bytes.value, device.memory_bytes.value / 8);
  }
}

TEST_F(MachineCatalogTest, LinksAndHostsArePlausible) {
  for (const DataSheet& sheet : kDataSheets) {
    SCOPED_TRACE(sheet.name);
    const HardwareProfile machine = Machine(sheet.name);
    const LinkProfile& link = machine.link;
    ExpectShare(link.h2d_pinned.Highest(), sheet.link * 1e9, 0.35, "link");
    EXPECT_LE(link.h2d_pageable.Highest(), link.h2d_pinned.Highest());
    EXPECT_LE(link.d2h_pageable.Highest(), link.d2h_pinned.Highest());
    EXPECT_GE(link.both_ways_bytes_per_second.value, link.h2d_pinned.Highest());
    EXPECT_LE(link.both_ways_bytes_per_second.value,
              link.h2d_pinned.Highest() + link.d2h_pinned.Highest());
    const HostProfile& host = machine.host;
    EXPECT_GE(host.memory_bytes.value, 64e9);
    EXPECT_LE(host.memory_bytes.value, 2000e9);
    EXPECT_LE(host.dram.Highest(), 0.8 * 717e9);
    EXPECT_LE(host.dram.points.back().x, static_cast<double>(host.cores));
    EXPECT_LT(host.pack.Highest(), host.dram.Highest());
    // The fewer bytes of state, the faster. Read and written a parameter with a bf16 gradient:
    constexpr double kBytes[] = {26, 18, 2 + 2 * (4 + 2 + 8.0 / 256), 22};
    for (size_t f = 0; f < host.adam.size(); ++f) {
      for (const Curve::Point& point : host.adam[f].points) {
        EXPECT_LE(point.y * kBytes[f], host.dram.At(point.x)) << f << " " << point.x;
      }
    }
    EXPECT_LT(host.adam[0].Highest(), host.adam[1].Highest());
    EXPECT_LT(host.adam[1].Highest(), host.adam[2].Highest());
  }
}

TEST_F(MachineCatalogTest, CurvesNeverFallWithSize) {
  for (const std::string& name : MachineNames()) {
    const HardwareProfile machine = Machine(name);
    const HostProfile& host = machine.host;
    const Curve* const curves[] = {&machine.device.gemm_bf16,
                                   &machine.device.gemm_fp32,
                                   &machine.device.attention,
                                   &machine.link.h2d_pinned,
                                   &machine.link.h2d_pageable,
                                   &machine.link.d2h_pinned,
                                   &host.dram,
                                   &machine.link.d2h_pageable,
                                   &host.pack,
                                   host.adam.data(),
                                   &host.adam[1],
                                   &host.adam[2],
                                   &host.adam[3]};
    for (const Curve* curve : curves) {
      EXPECT_TRUE(std::is_sorted(curve->points.begin(), curve->points.end(),
                                 [](const auto& a, const auto& b) { return a.y < b.y; }))
          << name << ": " << curve->origin.source;
    }
  }
}

TEST_F(MachineCatalogTest, PublishedMachinesHaveThePublishedSizes) {
  const HardwareProfile gh200 = Machine("gh200");
  EXPECT_EQ(gh200.device.memory_bytes.value, 96e9);
  EXPECT_EQ(gh200.host.memory_bytes.value, 480e9);
  EXPECT_EQ(gh200.host.cores, 72);
  EXPECT_DOUBLE_EQ(gh200.host.dram.Highest(), 0.8 * 512e9);
  EXPECT_DOUBLE_EQ(gh200.link.h2d_pageable.Highest(), 0.77 * 450e9);
  EXPECT_EQ(Machine("h200").host.memory_bytes.value, 1500e9);
  EXPECT_DOUBLE_EQ(Machine("a100-pcie").link.h2d_pinned.Highest(), 0.81 * 32e9);
  EXPECT_EQ(Machine("rtx3090").device.memory_bytes.value, 25769803776.0);
  const double workstation = 251.0 * (1 << 30);
  EXPECT_EQ(Machine("rtx3090").host.memory_bytes.value, workstation);
  EXPECT_EQ(Machine("a6000").host.memory_bytes.value, workstation);
  EXPECT_EQ(Machine("a6000").host.dram, Machine("rtx3090").host.dram) << "one workstation";
}

TEST_F(MachineCatalogTest, WhatIsWrittenIsReadBack) {
  for (const std::string& name : MachineNames()) {
    const std::string text = WriteProfile(Machine(name));
    EXPECT_EQ(WriteProfile(Machine(File("copy.json", text))), text) << name;
  }
}

TEST_F(MachineCatalogTest, FilesOfEarlierVersionsAreStillRead) {
  const HardwareProfile machine = Machine(File("earlier.json", FileText()));
  EXPECT_EQ(machine.name, "t4");
  EXPECT_EQ(machine.device.gemm_bf16.Highest(), 0.6 * 8.1e12);
  EXPECT_EQ(machine.device.gemm_bf16.points.back().x, 2048);
  EXPECT_FALSE(machine.device_class.has_value());
  EXPECT_FALSE(machine.planned_only.has_value());
}

TEST_F(MachineCatalogTest, NamesAreFoundInAnyCaseAndBeforeFiles) {
  EXPECT_EQ(Machine("H100-SXM").name, "h100-sxm");
  EXPECT_EQ(FindMachine("GH200"), &MachineCatalog().front());
  EXPECT_EQ(FindMachine("gh200 "), nullptr);
  EXPECT_EQ(FindMachine(""), nullptr);
}

TEST_F(MachineCatalogTest, UnknownNamesGetTheNearestAndTheList) {
  EXPECT_THAT(MessageOf("rxt3090", absl::StatusCode::kNotFound),
              AllOf(HasSubstr("no machine \"rxt3090\""), HasSubstr("did you mean 'rtx3090'?"),
                    HasSubstr("known names: gh200, h200, "), HasSubstr(", cpu-desktop)")));
  EXPECT_THAT(MessageOf("", absl::StatusCode::kNotFound), HasSubstr("no machine \"\""));
  EXPECT_THAT(
      MessageOf("nowhere.json", absl::StatusCode::kNotFound),
      HasSubstr("no machine \"nowhere.json\": it is neither a known name nor a machine file"));
  EXPECT_EQ(IoErrno(LoadMachine(*io_, "nowhere.json").status()), 0) << "not an I/O error";
}

TEST_F(MachineCatalogTest, NamesAreUnderstoodAsPeopleTypeThem) {
  for (const char* typed : {"4090", "RTX 4090", "rtx-4090", "NVIDIA GeForce RTX 4090"}) {
    EXPECT_EQ(Machine(typed).name, "rtx4090") << typed;
  }
  EXPECT_EQ(Machine("l40s 48GB").name, "l40s");
}

TEST_F(MachineCatalogTest, ANameOfSeveralMachinesIsRefusedWithAllOfThem) {
  const std::string refusal = Refusal("H100");
  EXPECT_THAT(refusal,
              AllOf(HasSubstr("several machines are called \"H100\": "), HasSubstr("h100-pcie"),
                    HasSubstr("h100-sxm"), HasSubstr("; name one of them")));
  EXPECT_THAT(refusal, testing::Not(HasSubstr("h200")));
}

TEST_F(MachineCatalogTest, AFileWinsOverANameThatIsNotTheCatalogsSpelling) {
  std::string text = FileText();
  text.replace(text.find("\"t4\""), 4, "\"mine\"");
  const std::string file = File("RTX 4090", text);
  EXPECT_EQ(Machine(file).name, "mine");
}

TEST_F(MachineCatalogTest, MissingPartsAreNamedWithFileAndLine) {
  EXPECT_THAT(Refusal(Edited("\"gemm_fp32\"", "\"gemm_bf32\"")),
              AllOf(HasSubstr("edited.json:5: "), HasSubstr("device.gemm_fp32: is missing")));
  EXPECT_THAT(Refusal(Edited("\"8bit-moments\"", "\"4bit-moments\"")),
              AllOf(HasSubstr("edited.json:"), HasSubstr("host.adam.8bit-moments: is missing")));
  EXPECT_THAT(Refusal(Edited("\"points\": [[128", "\"dots\": [[128")),
              HasSubstr("device.gemm_bf16.points: is missing"));
  EXPECT_THAT(Refusal(Edited("\"cores\": 8,\n", "\n")), HasSubstr("host.cores"));
  EXPECT_THAT(Refusal(Edited("\"value\": 320000000000, ", "")),
              HasSubstr("edited.json:10: device.memory_bytes_per_second.value"));
  EXPECT_THAT(Refusal(Edited("\"origin\": \"vendor\", ", "")),
              HasSubstr("edited.json:8: device.memory_bytes.origin"));
}

TEST_F(MachineCatalogTest, ImpossibleFiguresAreRefused) {
  for (const char* bad : {"0", "-1", "\"320 GB/s\"", "null", "true"}) {
    EXPECT_THAT(Refusal(Edited("320000000000", bad)),
                HasSubstr("edited.json:10: device.memory_bytes_per_second"))
        << bad;
  }
  EXPECT_THAT(Refusal(Edited("320000000000", "1e999")),
              AllOf(HasSubstr("edited.json:10: "), HasSubstr("out of range")));
  EXPECT_THAT(Refusal(Edited("[256, ", "[64, ")),
              AllOf(HasSubstr("edited.json:14: device.gemm_bf16.points[1]"),
                    HasSubstr("ascend, found 64 after 128")));
  EXPECT_THAT(Refusal(Edited("[256, ", "[128, ")), HasSubstr("sizes must ascend"));
  EXPECT_THAT(Refusal(Edited("[128, 1215000000000]", "[128, 0]")),
              HasSubstr("device.gemm_bf16.points[0]: needs two numbers above zero"));
  EXPECT_THAT(Refusal(Edited("[128, 1215000000000]", "[128]")), HasSubstr("needs [size, rate]"));
  EXPECT_THAT(Refusal(Edited("\"cores\": 8", "\"cores\": 0")), HasSubstr("host.cores"));
  EXPECT_THAT(Refusal(Edited("\"kind\": \"cuda\"", "\"kind\": \"quantum\"")),
              HasSubstr("edited.json:6: device.kind"));
  EXPECT_THAT(Refusal(Edited("\"origin\": \"vendor\"", "\"origin\": \"rumour\"")),
              HasSubstr("edited.json:8: device.memory_bytes.origin"));
  EXPECT_THAT(Refusal(Edited("\"origin\": \"vendor\"", "\"origin\": \"measured\"")),
              HasSubstr("edited.json:8: device.memory_bytes.when"));
}

TEST_F(MachineCatalogTest, UnknownKeysOtherVersionsAndOtherFilesAreRefused) {
  EXPECT_THAT(Refusal(Edited("\"cores\": 8,", "\"cores\": 8, \"coers\": 8,")),
              AllOf(HasSubstr("edited.json:"), HasSubstr("host"), HasSubstr("coers")));
  EXPECT_THAT(Refusal(Edited("\"version\": 1", "\"version\": 2")),
              HasSubstr("edited.json:2: version"));
  // The first thing wrong is told, not what follows from it.
  EXPECT_THAT(Refusal(File("later.json", "{\n\"version\": 2, \"machine\": {}}")),
              HasSubstr("later.json:2: version"));
  EXPECT_THAT(Refusal(File("text.json", "This is a T4")), HasSubstr("text.json:1"));
  EXPECT_THAT(Refusal(File("empty.json", "")), HasSubstr("empty.json:1"));
  EXPECT_THAT(Refusal(File("array.json", "[]")), HasSubstr("array.json:1"));
  EXPECT_THAT(Refusal(testing::TempDir()), HasSubstr(testing::TempDir()));
}

TEST_F(MachineCatalogTest, EveryFailingCallIsReported) {
  const std::string file = File("good.json", FileText());
  const uint64_t hits = ForEachFault(*io_, {.error_number = EIO}, [&](FaultingIo& io) {
    const absl::StatusOr<HardwareProfile> machine = LoadMachine(io, file);
    if (io.reached()) {
      EXPECT_EQ(IoErrno(machine.status()), EIO) << machine.status();
    } else {
      EXPECT_TRUE(machine.ok()) << machine.status();
    }
  });
  EXPECT_GE(hits, 3u);
}

TEST_F(MachineCatalogTest, OverridesChangeWhatTheyNameAndSaySo) {
  const HardwareProfile before = Machine("gh200");
  EXPECT_EQ(WriteProfile(WithOverrides(before, {})), WriteProfile(before));
  const HardwareProfile after =
      WithOverrides(before, {.host_memory = 768_GiB, .device_memory = 24_GiB, .cores = 32});
  EXPECT_EQ(after.host.memory_bytes.value, 768.0 * (1 << 30));
  EXPECT_EQ(after.device.memory_bytes.value, 24.0 * (1 << 30));
  EXPECT_EQ(after.host.cores, 32);
  for (const Figure& figure : {after.host.memory_bytes, after.device.memory_bytes}) {
    EXPECT_EQ(figure.origin.kind, OriginKind::kAssumed);
    EXPECT_EQ(figure.origin.source, "given on the command line");
  }
  EXPECT_EQ(after.host.dram, before.host.dram);
  EXPECT_EQ(after.link.h2d_pinned, before.link.h2d_pinned);
  EXPECT_EQ(after.device.gemm_bf16, before.device.gemm_bf16);
}

TEST(WithOverrides, ALimitOfTheLinkLeavesWhatACopyTakesOfTheHost) {
  HardwareProfile machine;
  machine.link.h2d_pinned.points = {{1e4, 1e9}, {1e6, 5e9}};
  machine.link.both_ways_bytes_per_second.value = 8e9;
  const LinkProfile link = WithOverrides(machine, {.link_limit = BytesPerSecond{6e8}}).link;
  EXPECT_EQ(link.h2d_pinned, machine.link.h2d_pinned);
  EXPECT_EQ(link.both_ways_bytes_per_second.value, 8e9);
  ASSERT_TRUE(link.limit_bytes_per_second.has_value());
  EXPECT_EQ(link.limit_bytes_per_second->value, 6e8);
  EXPECT_EQ(link.limit_bytes_per_second->origin.kind, OriginKind::kAssumed);
}

TEST_F(MachineCatalogTest, AGivenLinkScalesEveryCurveOfItsDirection) {
  HardwareProfile before = Machine("rtx4090");
  before.link.d2h_pinned = Scaled(before.link.d2h_pinned, 0.8);  // 25 in, 20 out, 45 both ways
  const LinkProfile link = WithOverrides(before, {.link = BytesPerSecond{50e9}}).link;
  EXPECT_DOUBLE_EQ(link.h2d_pinned.Highest(), 50e9);
  EXPECT_DOUBLE_EQ(link.d2h_pinned.Highest(), 50e9);
  EXPECT_DOUBLE_EQ(link.h2d_pageable.Highest(), 10e9 * 2);
  EXPECT_DOUBLE_EQ(link.d2h_pageable.Highest(), 10e9 * 2.5);
  EXPECT_DOUBLE_EQ(link.both_ways_bytes_per_second.value, 100e9);
  EXPECT_DOUBLE_EQ(link.h2d_pinned.points[0].y, 0.35 * 50e9) << "small copies too";
  EXPECT_EQ(link.h2d_pinned.points[0].x, 65536) << "sizes stay";
  EXPECT_EQ(link.latency_seconds, before.link.latency_seconds);
  for (const Curve* curve :
       {&link.h2d_pinned, &link.h2d_pageable, &link.d2h_pinned, &link.d2h_pageable}) {
    EXPECT_EQ(curve->origin.source, "given on the command line");
  }
}

TEST_F(MachineCatalogTest, GivenHostMemoryIsUsableInSpiteOfALimit) {
  HardwareProfile machine = Machine("t4");
  machine.host.cgroup_bytes = Figure{.value = 8e9};
  EXPECT_EQ(machine.usable_host_bytes(), 8e9);
  EXPECT_EQ(WithOverrides(machine, {.host_memory = 16_GiB}).usable_host_bytes(), 16.0 * (1 << 30));
  EXPECT_EQ(WithOverrides(machine, {.cores = 1}).usable_host_bytes(), 8e9);
}

TEST_F(MachineCatalogTest, TwiceTheHostIsTwiceAsFastWithTwiceTheThreads) {
  const HardwareProfile before = Machine("gh200");
  const HardwareProfile after = ScaledHost(before, 2);
  EXPECT_EQ(after.host.cores, 144);
  EXPECT_EQ(after.host.memory_bytes, before.host.memory_bytes);
  EXPECT_EQ(after.link.h2d_pinned, before.link.h2d_pinned);
  const auto expect_twice = [](const Curve& one, const Curve& two) {
    EXPECT_DOUBLE_EQ(two.At(1), one.At(1)) << "one thread is no faster";
    for (const double threads : {1, 4, 16, 72}) {
      EXPECT_DOUBLE_EQ(two.At(2 * threads), 2 * one.At(threads)) << threads;
    }
    EXPECT_EQ(two.origin.kind, OriginKind::kAssumed);
    EXPECT_THAT(two.origin.source, AllOf(HasSubstr("2 x"), HasSubstr(one.origin.source)));
  };
  expect_twice(before.host.dram, after.host.dram);
  expect_twice(before.host.pack, after.host.pack);
  for (size_t i = 0; i < before.host.adam.size(); ++i) {
    expect_twice(before.host.adam[i], after.host.adam[i]);
  }
  // A profile that could not be read back would be refused by the next program.
  EXPECT_EQ(Machine(File("scaled.json", WriteProfile(after))).host.dram, after.host.dram);
}

TEST_F(MachineCatalogTest, PartOfAHostKeepsAtLeastOneCore) {
  const HardwareProfile t4 = Machine("t4");
  EXPECT_EQ(ScaledHost(t4, 0.5).host.cores, 4);
  EXPECT_EQ(ScaledHost(t4, 0.01).host.cores, 1);
  EXPECT_DOUBLE_EQ(ScaledHost(t4, 0.5).host.dram.Highest(), t4.host.dram.Highest() / 2);
  EXPECT_DOUBLE_EQ(ScaledHost(t4, 0.5).host.dram.At(1), t4.host.dram.At(1));
}

}  // namespace
}  // namespace horizon
