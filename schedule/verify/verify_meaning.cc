// The rules of every operation, and that each trained chunk is updated once a step.
#include <string_view>
#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "schedule/verify/operation_rules.h"
#include "schedule/verify/verify_schedule.h"

namespace horizon {
namespace {

// How often each chunk is the subject of a kind of operation in some phases.
std::vector<int> CountByChunk(const Schedule& schedule, OperationKind kind,
                              std::initializer_list<const Phase*> phases) {
  std::vector<int> counts(schedule.chunks.chunks.size(), 0);
  for (const Phase* phase : phases) {
    for (const Operation& op : phase->operations) {
      if (op.kind == kind && op.chunk >= 0) ++counts[op.chunk];
    }
  }
  return counts;
}

// Once for every chunk that is trained, never for a frozen one.
absl::Status CheckEachOnce(const Schedule& schedule, OperationKind kind,
                           std::initializer_list<const Phase*> phases, std::string_view when) {
  const std::vector<int> counts = CountByChunk(schedule, kind, phases);
  for (size_t c = 0; c < counts.size(); ++c) {
    const int wanted = schedule.chunks.chunks[c].trained > 0 ? 1 : 0;
    if (counts[c] != wanted) {
      return absl::InternalError(StrCat("'", ToString(kind), " ",
                                        schedule.chunks.NameOf(static_cast<int32_t>(c)),
                                        "' happens ", counts[c], " times in ", when, ", not ",
                                        wanted, wanted == 0 ? ": the chunk is frozen" : ""));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyMeaning(const Schedule& schedule) {
  for (const Phase* phase : {&schedule.first, &schedule.steady, &schedule.drain}) {
    OperationRules rules(schedule, *phase);
    for (const Operation& op : phase->operations) RETURN_IF_ERROR(rules.Check(op));
  }
  if (schedule.kind != PassKind::kTrain) return absl::OkStatus();
  RETURN_IF_ERROR(CheckEachOnce(schedule, OperationKind::kAdam, {&schedule.first, &schedule.drain},
                                "first and drain"));
  RETURN_IF_ERROR(
      CheckEachOnce(schedule, OperationKind::kAdam, {&schedule.steady}, "a steady step"));
  if (schedule.plan.strategy == Strategy::kResident) {
    RETURN_IF_ERROR(
        CheckEachOnce(schedule, OperationKind::kOffloadNorms, {&schedule.steady}, "a steady step"));
    if (schedule.job.device == DeviceKind::kCuda) {
      RETURN_IF_ERROR(CheckEachOnce(schedule, OperationKind::kCheckUpdate, {&schedule.steady},
                                    "a steady step"));
    }
  }
  return CheckEachOnce(schedule, OperationKind::kNorm, {&schedule.steady}, "a steady step");
}

absl::Status VerifySchedule(const Schedule& schedule) {
  RETURN_IF_ERROR(VerifyMemory(schedule));
  RETURN_IF_ERROR(VerifyMeaning(schedule));
  return VerifyOrder(schedule);
}

}  // namespace horizon
