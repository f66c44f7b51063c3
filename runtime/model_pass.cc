#include "runtime/model_pass.h"

#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "runtime/fill_rotary_tables.h"
#include "schedule/build_schedule.h"
#include "schedule/check_runnable.h"
#include "schedule/verify_schedule.h"

namespace horizon {

absl::Status ModelPass::BuildAndCheck(const Work& work) {
  RETURN_IF_ERROR(CheckRunnable(work.spec, work.job, work.plan));
  ASSIGN_OR_RETURN(Schedule schedule, BuildSchedule(work.spec, work.job, work.plan, work.kind));
  RETURN_IF_ERROR(VerifySchedule(schedule));
  schedule_ = std::make_unique<Schedule>(std::move(schedule));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ModelPass>> ModelPass::Create(const Work& work,
                                                             const Options& options,
                                                             uint64_t spare_device_bytes) {
  std::unique_ptr<ModelPass> pass(new ModelPass(work.spec, options));
  RETURN_IF_ERROR(pass->BuildAndCheck(work));
  ASSIGN_OR_RETURN(RunMemory memory,
                   RunMemory::Create(*pass->schedule_, options.device, spare_device_bytes));
  pass->memory_ = std::make_unique<RunMemory>(std::move(memory));
  pass->store_ = std::make_unique<ParameterStore>(*pass->schedule_, *pass->memory_);
  pass->bodies_ = std::make_unique<OperationBodies>(work.spec, *pass->schedule_, *pass->memory_);
  RETURN_IF_ERROR(pass->FillRotaryTables());
  return pass;
}

absl::StatusOr<std::unique_ptr<ModelPass>> ModelPass::CreateBeside(const Work& work,
                                                                   const ModelPass& first) {
  std::unique_ptr<ModelPass> pass(new ModelPass(work.spec, first.options_));
  RETURN_IF_ERROR(pass->BuildAndCheck(work));
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

absl::StatusOr<std::unique_ptr<Executor>> ModelPass::Start(UpdateWatch* watch) const {
  return Executor::Create(*schedule_, *bodies_, options_.device, options_.kernels,
                          {.clock = options_.clock,
                           .products = options_.products,
                           .stall_limit = options_.stall_limit,
                           .on_stall = options_.on_stall,
                           .watch = watch});
}

}  // namespace horizon
