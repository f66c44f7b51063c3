// Whatever the model, job and plan: what is built is right, and streams as little as it may.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "schedule/build_schedule.h"
#include "schedule/verify_schedule.h"
#include "tests/schedule/random_plans.h"

namespace horizon {
namespace {

// A plan may be impossible (a chunk too small for a stage, a ring too small for chunk-major order);
// then the reason is FailedPrecondition. Anything else is a fault.
absl::StatusOr<Schedule> BuildOrDiscard(const RandomCase& random, PassKind kind) {
  absl::StatusOr<Schedule> schedule = BuildSchedule(random.spec, random.job, random.plan, kind);
  if (!schedule.ok()) {
    RC_ASSERT(schedule.status().code() == absl::StatusCode::kFailedPrecondition);
    RC_DISCARD("impossible plan");
  }
  return schedule;
}

RC_GTEST_PROP(BuildSchedule, EveryPassOfEveryStrategyIsVerified, ()) {
  const RandomCase random = *RandomAnyCase();
  const PassKind kind = *rc::gen::element(PassKind::kTrain, PassKind::kTrain, PassKind::kTrain,
                                          PassKind::kEvaluate, PassKind::kPrefill,
                                          PassKind::kDecode, PassKind::kSave);
  const Schedule schedule = *BuildOrDiscard(random, kind);
  const absl::Status status = VerifySchedule(schedule);
  RC_LOG() << status.ToString();
  RC_ASSERT(status.ok());
}

}  // namespace
}  // namespace horizon
