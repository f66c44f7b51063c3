#include "planner/machines/machine_description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/documents/json.h"
#include "planner/machines/derive_profile.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Round figures, so that what is derived from them can be computed in the head.
constexpr std::string_view kMine = R"({
  "name": "mine",
  "summary": "a card in a box",
  "device": {
    "class": "a100",
    "name": "Card",
    "memory_bytes": {"value": 80000000000, "origin": "vendor", "source": "sheet"},
    "memory_bytes_per_second": {"value": 1000000000000, "origin": "vendor", "source": "sheet"},
    "bf16_flops_per_second": {"value": 100000000000000, "origin": "vendor", "source": "sheet"},
    "fp32_flops_per_second": {"value": 10000000000000, "origin": "vendor", "source": "sheet"}
  },
  "link": {"kind": "pcie", "generation": 4, "lanes": 8, "source": "sheet"},
  "host": {
    "platform": "server", "name": "box",
    "memory_bytes": {"value": 1000000000, "origin": "assumed", "source": "guess"},
    "sockets": 2, "cores": 24, "channels": 4, "transfers_per_second": 2500000000,
    "source": "guess"
  }
})";

absl::StatusOr<MachineDescription> Read(std::string_view text) {
  const absl::StatusOr<Document> document = ParseJson("mine.json", text);
  EXPECT_TRUE(document.ok()) << document.status();
  return ReadMachineDescription(*document);
}

absl::StatusOr<MachineDescription> Edited(const std::string& from, const std::string& to) {
  std::string text(kMine);
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return Read(text.replace(at, from.size(), to));
}

std::string Refusal(const std::string& from, const std::string& to) {
  const absl::StatusOr<MachineDescription> machine = Edited(from, to);
  EXPECT_EQ(machine.status().code(), absl::StatusCode::kInvalidArgument) << to;
  return std::string(machine.status().message());
}

TEST(DeriveProfile, RatesAreSharesOfTheFigures) {
  const HardwareProfile machine = DeriveProfile(*Read(kMine));
  EXPECT_EQ(machine.name, "mine");
  EXPECT_EQ(machine.device_class, "a100");
  EXPECT_DOUBLE_EQ(machine.device.gemm_bf16.Highest(), 70e12);
  EXPECT_DOUBLE_EQ(machine.device.gemm_bf16.At(512), 49e12);
  EXPECT_DOUBLE_EQ(machine.device.gemm_fp32.Highest(), 8.5e12);
  EXPECT_DOUBLE_EQ(machine.device.attention.Highest(), 56e12);
  EXPECT_DOUBLE_EQ(machine.device.element_bytes_per_second.value, 8e11);
  // PCIe 4 is 2 GB/s a lane; 0.81 of 16 GB/s.
  EXPECT_DOUBLE_EQ(machine.link.h2d_pinned.Highest(), 0.81 * 16e9);
  EXPECT_DOUBLE_EQ(machine.link.d2h_pageable.Highest(), 0.4 * 0.81 * 16e9);
  EXPECT_DOUBLE_EQ(machine.link.both_ways_bytes_per_second.value, 1.8 * 0.81 * 16e9);
  // Four channels of 8 bytes at 2.5 GT/s are 80 GB/s; a thread carries 12 of them.
  EXPECT_DOUBLE_EQ(machine.host.dram.Highest(), 64e9);
  EXPECT_DOUBLE_EQ(machine.host.dram.At(4), 48e9);
  EXPECT_EQ(machine.host.dram.points.back().x, 24);
  EXPECT_DOUBLE_EQ(machine.host.adam[0].Highest(), 0.75 * 64e9 / 26);
  EXPECT_DOUBLE_EQ(machine.host.pack.At(1), 6e9);
  EXPECT_DOUBLE_EQ(machine.host.pack.At(4), 20e9);
  EXPECT_DOUBLE_EQ(machine.host.pack.Highest(), 0.4 * 64e9);
  EXPECT_EQ(machine.host.numa_nodes, 2);
}

TEST(DeriveProfile, EveryDerivedFigureSaysWhatItIsAShareOf) {
  const HardwareProfile machine = DeriveProfile(*Read(kMine));
  EXPECT_THAT(machine.device.gemm_bf16.origin.source,
              HasSubstr("0.7 x 100 TFLOPS (sheet), the share of class a100: "));
  EXPECT_EQ(machine.device.gemm_bf16.origin.kind, OriginKind::kAssumed);
  EXPECT_EQ(machine.device.memory_bytes.origin.kind, OriginKind::kVendor);
  EXPECT_THAT(machine.link.h2d_pinned.origin.source,
              HasSubstr("0.81 x PCIe 4 x8: 16 GB/s nominal (sheet): "));
  EXPECT_THAT(machine.host.dram.origin.source,
              HasSubstr("at most 0.8 x 80 GB/s (guess), the share of platform server: "));
}

TEST(DeriveProfile, TwiceTheDataSheetIsTwiceTheRate) {
  const HardwareProfile one = DeriveProfile(*Read(kMine));
  const HardwareProfile two =
      DeriveProfile(*Edited("\"value\": 100000000000000", "\"value\": 200000000000000"));
  EXPECT_DOUBLE_EQ(two.device.gemm_bf16.At(700), 2 * one.device.gemm_bf16.At(700));
  EXPECT_EQ(two.host.dram, one.host.dram);
}

TEST(MachineDescription, WhatIsMissingOrUnknownIsNamedWithItsLine) {
  EXPECT_THAT(Refusal("\"class\": \"a100\"", "\"class\": \"a10\""),
              AllOf(HasSubstr("mine.json:5: device.class"), HasSubstr("a100")));
  EXPECT_THAT(Refusal("\"link\"", "\"lnik\""), HasSubstr("link: required and missing"));
  EXPECT_THAT(Refusal("\"cores\": 24, ", ""), HasSubstr("host.cores"));
  EXPECT_THAT(Refusal("\"channels\": 4, ", ""), HasSubstr("host.channels"));
  EXPECT_THAT(Refusal("\"sockets\": 2", "\"sockets\": 2, \"cors\": 1"), HasSubstr("cors"));
  EXPECT_THAT(Refusal("\"summary\": \"a card in a box\"", "\"summary\": \"\""),
              HasSubstr("summary: must not be empty"));
  EXPECT_THAT(Refusal("\"source\": \"sheet\"},\n    \"memory_bytes_per_second\"",
                      "\"sorce\": \"sheet\"},\n    \"memory_bytes_per_second\""),
              AllOf(HasSubstr("mine.json:7: device.memory_bytes"), HasSubstr("sorce")));
}

TEST(MachineDescription, ImpossibleFiguresAreRefused) {
  for (const char* bad : {"0", "-1", "\"80 GB\"", "null"}) {
    EXPECT_THAT(Refusal("80000000000", bad), HasSubstr("mine.json:7: device.memory_bytes.value"))
        << bad;
  }
  EXPECT_THAT(Refusal("\"generation\": 4", "\"generation\": 9"), HasSubstr("link.generation"));
  EXPECT_THAT(Refusal("\"lanes\": 8", "\"lanes\": 0"), HasSubstr("link.lanes"));
  EXPECT_THAT(Refusal("\"cores\": 24", "\"cores\": 0"), HasSubstr("host.cores"));
  EXPECT_THAT(Refusal("\"transfers_per_second\": 2500000000", "\"transfers_per_second\": 0"),
              HasSubstr("host.transfers_per_second"));
}

}  // namespace
}  // namespace horizon
