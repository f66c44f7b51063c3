#include "runtime/execution/model_pass.h"

#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "runtime/execution/fill_rotary_tables.h"
#include "schedule/build/build_schedule.h"
#include "schedule/check_runnable.h"
#include "schedule/verify/verify_schedule.h"

namespace horizon {

namespace {

absl::StatusOr<Schedule> Build(const ModelPass::Work& work) {
  RETURN_IF_ERROR(CheckRunnable(work.spec, work.job, work.plan));
  return BuildSchedule(work.spec, work.job, work.plan, work.kind);
}

}  // namespace

absl::Status ModelPass::VerifyAndKeep(Schedule schedule) {
  RETURN_IF_ERROR(CheckRunnable(spec_, schedule.job, schedule.plan));
  RETURN_IF_ERROR(VerifySchedule(schedule));
  schedule_ = std::make_unique<Schedule>(std::move(schedule));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ModelPass>> ModelPass::Create(const Work& work,
                                                             const RunEnvironment& environment,
                                                             Bytes spare_device_bytes) {
  ASSIGN_OR_RETURN(Schedule schedule, Build(work));
  return Create(work.spec, std::move(schedule), environment, spare_device_bytes);
}

absl::StatusOr<std::unique_ptr<ModelPass>> ModelPass::Create(const ModelSpec& spec,
                                                             Schedule schedule,
                                                             const RunEnvironment& environment,
                                                             Bytes spare_device_bytes) {
  std::unique_ptr<ModelPass> pass(new ModelPass(spec, environment));
  RETURN_IF_ERROR(pass->VerifyAndKeep(std::move(schedule)));
  ASSIGN_OR_RETURN(RunMemory memory,
                   RunMemory::Create(*pass->schedule_, environment.device, spare_device_bytes));
  pass->memory_ = std::make_unique<RunMemory>(std::move(memory));
  pass->store_ = std::make_unique<ParameterStore>(*pass->schedule_, *pass->memory_);
  pass->bodies_ = std::make_unique<OperationBodies>(spec, *pass->schedule_, *pass->memory_);
  RETURN_IF_ERROR(pass->FillRotaryTables());
  return pass;
}

absl::StatusOr<std::unique_ptr<ModelPass>> ModelPass::CreateBeside(const Work& work,
                                                                   const ModelPass& first) {
  std::unique_ptr<ModelPass> pass(new ModelPass(work.spec, first.environment_));
  ASSIGN_OR_RETURN(Schedule schedule, Build(work));
  RETURN_IF_ERROR(pass->VerifyAndKeep(std::move(schedule)));
  ASSIGN_OR_RETURN(RunMemory memory, RunMemory::CreateBeside(*pass->schedule_, *first.memory_));
  pass->memory_ = std::make_unique<RunMemory>(std::move(memory));
  pass->bodies_ = std::make_unique<OperationBodies>(work.spec, *pass->schedule_, *pass->memory_);
  return pass;
}

absl::Status ModelPass::FillRotaryTables() {
  const std::vector<float> tables = RotaryTables(spec_, schedule_->job.sequence);
  return memory_->Put(memory_->Find(BufferKind::kRotaryTable, 0), 0,
                      std::as_bytes(std::span(tables)));
}

absl::StatusOr<std::unique_ptr<Executor>> ModelPass::Start(UpdateObserver* observer) const {
  if (resources_ == nullptr) {
    ASSIGN_OR_RETURN(resources_, LaneResources::Create(*schedule_, *bodies_, environment_));
  }
  return Executor::Create(*schedule_, *bodies_, environment_, *resources_, observer);
}

}  // namespace horizon
