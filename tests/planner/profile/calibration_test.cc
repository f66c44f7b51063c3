#include "planner/profile/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/documents/json.h"
#include "common/files/io.h"
#include "planner/machines/machine_catalog.h"
#include "tests/planner/small_cases.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr auto kWeights = static_cast<size_t>(StateFormat::kBf16Weights);

absl::StatusOr<Calibration> Read(const std::string& text) {
  absl::StatusOr<Document> document = ParseJson("fit.json", text);
  EXPECT_TRUE(document.ok()) << document.status();
  return ReadCalibration(*document);
}

std::string Refusal(const std::string& text) {
  const absl::StatusOr<Calibration> read = Read(text);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(read.status().message());
}
std::string RefusedMachine(const std::string& fields) {
  return Refusal("{\"version\": 1, \"machines\": [\n{" + fields + "}]}");
}
std::string RefusedStrategy(const std::string& fields) {
  return Refusal("{\"version\": 1, \"strategies\": [\n{" + fields + "}]}");
}

TEST(Calibration, IsReadBackAsWritten) {
  const Calibration& ours = BuiltInCalibration();
  const std::string text = WriteCalibration(ours);
  const absl::StatusOr<Calibration> again = Read(text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(WriteCalibration(*again), text);
  ASSERT_EQ(again->machines.size(), ours.machines.size());
  for (size_t i = 0; i < ours.machines.size(); ++i) {
    const MachineCalibration& a = ours.machines[i];
    const MachineCalibration& b = again->machines[i];
    EXPECT_EQ(a.machine, b.machine);
    EXPECT_EQ(a.gemm_bf16_flops_per_second, b.gemm_bf16_flops_per_second);
    EXPECT_EQ(a.pack_bytes_per_second, b.pack_bytes_per_second);
    EXPECT_EQ(a.adam_parameters_per_second, b.adam_parameters_per_second);
    EXPECT_EQ(a.fitted_on, b.fitted_on);
  }
  ASSERT_EQ(again->strategies.size(), ours.strategies.size());
  for (size_t i = 0; i < ours.strategies.size(); ++i) {
    const StrategyCalibration& a = ours.strategies[i];
    const StrategyCalibration& b = again->strategies[i];
    EXPECT_EQ(a.strategy, b.strategy);
    EXPECT_EQ(a.software, b.software);
    EXPECT_EQ(a.batch_share, b.batch_share);
    EXPECT_EQ(a.batch_reserve_bytes, b.batch_reserve_bytes);
    EXPECT_EQ(a.batch_logit_bytes, b.batch_logit_bytes);
    EXPECT_EQ(a.fitted_on, b.fitted_on);
  }
}

TEST(Calibration, EveryEntryOfOursIsOfAKnownMachineAndUsed) {
  for (const MachineCalibration& entry : BuiltInCalibration().machines) {
    EXPECT_NE(FindMachine(entry.machine), nullptr) << entry.machine;
    EXPECT_EQ(BuiltInCalibration().Find(entry.machine), &entry) << "twice in the file";
  }
  for (const StrategyCalibration& entry : BuiltInCalibration().strategies) {
    EXPECT_EQ(BuiltInCalibration().Find(entry.strategy), &entry) << "twice in the file";
    EXPECT_EQ(BuiltInCalibration().SoftwareOf(entry.strategy), entry.software);
  }
  // Our own strategy is not fitted to anything.
  EXPECT_EQ(BuiltInCalibration().Find(Strategy::kHorizon), nullptr);
  EXPECT_EQ(BuiltInCalibration().SoftwareOf(Strategy::kHorizon), Software{});
  EXPECT_EQ(BuiltInCalibration().Find("no-such-machine"), nullptr);
}

TEST(Calibration, BadFilesAreRefusedWithLineAndField) {
  EXPECT_THAT(Refusal("{}"), AllOf(HasSubstr("fit.json:1"), HasSubstr("version")));
  EXPECT_THAT(Refusal("{\"version\": 2}"), HasSubstr("needs 1, found 2"));
  EXPECT_THAT(Refusal("{\"version\": 1, \"machine\": []}"), HasSubstr("machine"));
  EXPECT_THAT(Refusal("{\"version\": 1, \"machines\": {}}"), HasSubstr("machines: needs an array"));
  EXPECT_THAT(RefusedMachine("\"machine\": \"t4\""),
              AllOf(HasSubstr("fit.json:2"), HasSubstr("machines[0]"), HasSubstr("fitted_on")));
  EXPECT_THAT(RefusedMachine("\"machine\": \"t4\", \"fitted_on\": []"),
              HasSubstr("needs the rows these numbers were fitted on"));
  EXPECT_THAT(RefusedMachine("\"fitted_on\": [\"a\"]"), HasSubstr("machine"));
  for (const char* const field :
       {"gemm_bf16_flops_per_second", "pack_bytes_per_second", "adam_parameters_per_second"}) {
    for (const char* const value : {"0", "-1", "\"fast\""}) {
      EXPECT_THAT(RefusedMachine(std::string("\"machine\": \"t4\", \"fitted_on\": [\"a\"], \"") +
                                 field + "\": " + value),
                  AllOf(HasSubstr("machines[0]"), HasSubstr(field)));
    }
  }
  EXPECT_THAT(RefusedMachine("\"machine\": \"t4\", \"fitted_on\": [\"a\"], \"gemm\": 1"),
              HasSubstr("gemm"));
}

TEST(Calibration, BadStrategiesAreRefused) {
  EXPECT_THAT(RefusedStrategy("\"strategy\": \"referense\", \"fitted_on\": [\"a\"]"),
              AllOf(HasSubstr("fit.json:2: strategies[0].strategy: needs one of horizon"),
                    HasSubstr("did you mean 'reference'?")));
  EXPECT_THAT(RefusedStrategy("\"strategy\": \"gemini\""), HasSubstr("fitted_on"));
  for (const char* const field : {"link_share", "adam_speed", "batch_share"}) {
    EXPECT_THAT(
        RefusedStrategy(std::string("\"strategy\": \"gemini\", \"fitted_on\": [\"a\"], \"") +
                        field + "\": 0"),
        AllOf(HasSubstr(field), HasSubstr("above zero")));
  }
  EXPECT_THAT(
      RefusedStrategy("\"strategy\": \"gemini\", \"fitted_on\": [\"a\"], \"process_bytes\": -1"),
      HasSubstr("process_bytes"));
}

TEST(Calibration, WhatIsNotSaidHasNoEffect) {
  const absl::StatusOr<Calibration> read = Read(
      "{\"version\": 1, \"strategies\": [{\"strategy\": \"gemini\", \"fitted_on\": [\"a\"]}]}");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SoftwareOf(Strategy::kGemini), Software{});
  EXPECT_EQ(read->Find(Strategy::kGemini)->batch_share, 1);
  EXPECT_EQ(read->Find(Strategy::kGemini)->batch_reserve_bytes, 0);
}

class WithCalibrationTest : public testing::Test {
 protected:
  static Calibration One(MachineCalibration entry) {
    entry.machine = "t4";
    entry.fitted_on = {"row one", "row two"};
    return {.machines = {entry}};
  }
  static void ExpectFitted(const Origin& origin) {
    EXPECT_EQ(origin.kind, OriginKind::kFitted);
    EXPECT_EQ(origin.source, "fitted on row one; row two");
  }

  const HardwareProfile plain_ = CatalogMachine("t4");
};

TEST_F(WithCalibrationTest, GemmMovesItsCurveAndAttention) {
  HardwareProfile fitted = WithCalibration(plain_, One({.gemm_bf16_flops_per_second = 5e12}));
  EXPECT_DOUBLE_EQ(fitted.device.gemm_bf16.Highest(), 5e12);
  const double factor = 5e12 / plain_.device.gemm_bf16.Highest();
  ASSERT_EQ(fitted.device.gemm_bf16.points.size(), plain_.device.gemm_bf16.points.size());
  for (size_t i = 0; i < plain_.device.gemm_bf16.points.size(); ++i) {
    EXPECT_EQ(fitted.device.gemm_bf16.points[i].x, plain_.device.gemm_bf16.points[i].x);
    EXPECT_DOUBLE_EQ(fitted.device.gemm_bf16.points[i].y,
                     plain_.device.gemm_bf16.points[i].y * factor);
  }
  EXPECT_DOUBLE_EQ(fitted.device.attention.Highest(), plain_.device.attention.Highest() * factor);
  ExpectFitted(fitted.device.gemm_bf16.origin);
  ExpectFitted(fitted.device.attention.origin);
  // And nothing else.
  fitted.device.gemm_bf16 = plain_.device.gemm_bf16;
  fitted.device.attention = plain_.device.attention;
  EXPECT_EQ(WriteProfile(fitted), WriteProfile(plain_));
}

TEST_F(WithCalibrationTest, PackingIsOneRateWhateverTheThreads) {
  HardwareProfile fitted = WithCalibration(plain_, One({.pack_bytes_per_second = 3e9}));
  EXPECT_EQ(fitted.host.pack.At(1), 3e9);
  EXPECT_EQ(fitted.host.pack.At(64), 3e9);
  ExpectFitted(fitted.host.pack.origin);
  fitted.host.pack = plain_.host.pack;
  EXPECT_EQ(WriteProfile(fitted), WriteProfile(plain_));
}

TEST_F(WithCalibrationTest, AdamMovesAllFormatsAlike) {
  const double before = plain_.host.adam[kWeights].Highest();
  HardwareProfile fitted = WithCalibration(plain_, One({.adam_parameters_per_second = before / 4}));
  for (size_t f = 0; f < fitted.host.adam.size(); ++f) {
    EXPECT_DOUBLE_EQ(fitted.host.adam[f].At(1), plain_.host.adam[f].Highest() / 4) << f;
    EXPECT_EQ(fitted.host.adam[f].At(1), fitted.host.adam[f].At(100)) << f;
    ExpectFitted(fitted.host.adam[f].origin);
  }
  fitted.host.adam = plain_.host.adam;
  EXPECT_EQ(WriteProfile(fitted), WriteProfile(plain_));
}

TEST_F(WithCalibrationTest, DramCapsTheFormatsThatWereNotFitted) {
  const HardwareProfile fitted = WithCalibration(plain_, One({.adam_parameters_per_second = 1e15}));
  const double dram = plain_.host.dram.Highest();
  const auto rate = [&](StateFormat format) {
    return fitted.host.adam[static_cast<size_t>(format)].At(1);
  };
  // Published, and so believed.
  EXPECT_DOUBLE_EQ(rate(StateFormat::kBf16Weights), 1e15);
  // Weights and moments read and written, and a gradient of 2 bytes read.
  EXPECT_DOUBLE_EQ(rate(StateFormat::kFp32), dram / (2 + 2 * (4 + 8)));
  EXPECT_DOUBLE_EQ(rate(StateFormat::kBf16Moments), dram / (2 + 2 * (4 + 4)));
  EXPECT_DOUBLE_EQ(rate(StateFormat::k8BitMoments), dram / (2 + 2 * (4 + 2 + 8.0 / 256)));
}

TEST_F(WithCalibrationTest, OtherMachinesStayAsTheyAre) {
  const HardwareProfile other = CatalogMachine("l40s");
  const Calibration calibration = One({.gemm_bf16_flops_per_second = 1});
  EXPECT_EQ(WriteProfile(WithCalibration(other, calibration)), WriteProfile(other));
}

TEST(LoadCalibratedMachine, ANameIsCalibratedAndAFileIsNot) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const HardwareProfile plain = CatalogMachine("gh200");
  const std::string path = JoinPath(testing::TempDir(), "gh200.json");
  ASSERT_TRUE(WriteTextFile(*io, path, WriteProfile(plain)).ok());
  for (const char* const name : {"gh200", "GH200"}) {
    const absl::StatusOr<HardwareProfile> named = LoadCalibratedMachine(*io, name);
    ASSERT_TRUE(named.ok()) << named.status();
    EXPECT_EQ(named->device.gemm_bf16.origin.kind, OriginKind::kFitted);
    EXPECT_NE(WriteProfile(*named), WriteProfile(plain));
  }
  const absl::StatusOr<HardwareProfile> file = LoadCalibratedMachine(*io, path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(WriteProfile(*file), WriteProfile(plain));
  EXPECT_EQ(LoadCalibratedMachine(*io, "gh20").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace horizon
