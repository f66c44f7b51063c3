#include "planner/profile/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "common/documents/json.h"
#include "planner/machines/machine_catalog.h"
#include "planner/planned_job.h"
#include "schedule/build/build_schedule.h"
#include "simulator/cost_model.h"
#include "tests/planner/small_cases.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

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
    EXPECT_EQ(a.gemm, b.gemm);
    EXPECT_EQ(a.pack, b.pack);
    EXPECT_EQ(a.adam, b.adam);
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
  for (const char* const field : {"gemm_speed", "pack_speed", "adam_speed"}) {
    for (const char* const value :
         {"0.5", "{}", "{\"value\": 0, \"deviation\": 0}", "{\"value\": -1, \"deviation\": 0}",
          "{\"value\": \"fast\", \"deviation\": 0}", "{\"value\": 1}",
          "{\"value\": 1, \"deviation\": -1}", "{\"value\": 1, \"deviation\": 0, \"x\": 1}"}) {
      EXPECT_THAT(RefusedMachine(std::string("\"machine\": \"t4\", \"fitted_on\": [\"a\"], \"") +
                                 field + "\": " + value),
                  AllOf(HasSubstr("machines[0]"), HasSubstr(field)))
          << value;
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

Calibration OneMachine(std::string_view machine) {
  return {.machines = {{.machine = std::string(machine),
                        .gemm = FittedSpeed{.value = 0.5},
                        .pack = FittedSpeed{.value = 0.25},
                        .adam = FittedSpeed{.value = 2}}},
          .strategies = {{.strategy = Strategy::kZero3Offload,
                          .software = {.link_share = 0.3, .adam_speed = 3, .process_bytes = 7_B}}}};
}

TEST(SoftwareOf, SpeedsOfThePublishedSystemBelongToItsStrategies) {
  const Calibration calibration = OneMachine("t4");
  const HardwareProfile t4 = CatalogMachine("t4");
  EXPECT_EQ(calibration.SoftwareOf(Strategy::kReference, t4),
            (Software{.gemm_speed = 0.5, .pack_speed = 0.25, .adam_speed = 2}));
  EXPECT_EQ(calibration.SoftwareOf(Strategy::kZero3Offload, t4), (Software{.link_share = 0.3,
                                                                           .gemm_speed = 0.5,
                                                                           .pack_speed = 0.25,
                                                                           .adam_speed = 6,
                                                                           .process_bytes = 7_B}));
  // What horizon runs itself is not slowed by what somebody else's software lost.
  EXPECT_EQ(calibration.SoftwareOf(Strategy::kHorizon, t4), Software{});
  EXPECT_EQ(calibration.SoftwareOf(Strategy::kResident, t4), Software{});
  for (const MachineEntry& entry : MachineCatalog()) {
    EXPECT_EQ(BuiltInCalibration().SoftwareOf(Strategy::kHorizon, CatalogMachine(entry.name)),
              Software{})
        << entry.name;
  }
}

TEST(SoftwareOf, OtherAndMeasuredMachinesHaveNoneOfIt) {
  const Calibration calibration = OneMachine("t4");
  EXPECT_EQ(calibration.SoftwareOf(Strategy::kReference, CatalogMachine("l40s")), Software{});
  HardwareProfile measured = CatalogMachine("t4");
  measured.measured_on.emplace();
  EXPECT_EQ(calibration.SoftwareOf(Strategy::kReference, measured), Software{});
}

// However fast a software's Adam is said to be, its bytes have to pass through DRAM.
TEST(SoftwareOf, AdamIsNeverFasterThanDramOnAnyMachineInAnyFormat) {
  const ModelSpec spec = SmallModel();
  int updates = 0;
  Calibration absurd;
  for (const MachineEntry& entry : MachineCatalog()) {
    absurd.machines.push_back(
        {.machine = std::string(entry.name), .adam = FittedSpeed{.value = 100}});
  }
  for (const MachineEntry& entry : MachineCatalog()) {
    const HardwareProfile machine = CatalogMachine(entry.name);
    for (const EnumWord<StateFormat>& format : WordsOf(StateFormat{})) {
      for (const EnumWord<Strategy>& strategy : WordsOf(Strategy{})) {
        TrainingJob job = JobFor(machine, strategy.value);
        job.state_format = format.value;
        const absl::StatusOr<Schedule> schedule = BuildSchedule(spec, job, PlanFor(strategy.value));
        if (!schedule.ok()) continue;  // a format that the strategy does not have
        for (const Calibration* calibration : {&BuiltInCalibration(), &std::as_const(absurd)}) {
          const CostModel model(spec, job, schedule->plan, schedule->chunks, machine,
                                calibration->SoftwareOf(strategy.value, machine));
          for (const Operation& op : schedule->steady.operations) {
            if (op.kind != OperationKind::kAdam || op.lane == Lane::kCompute) continue;
            ++updates;
            const OperationCost cost = model.CostOf(*schedule, schedule->steady, op);
            const double seconds = 1e-9 * (static_cast<double>(cost.nanoseconds) + 0.5);
            EXPECT_LE(static_cast<double>(op.bytes) / seconds, machine.host.dram.Highest())
                << entry.name << " " << format.word << " " << strategy.word;
          }
        }
      }
    }
  }
  EXPECT_GT(updates, 1000);
}

}  // namespace
}  // namespace horizon
