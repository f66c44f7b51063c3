#include "tests/runtime/checkpoint/durability.h"

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/checkpoint_names.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/checkpoint/run_lock.h"
#include "tests/runtime/checkpoint/saved_run.h"

namespace horizon {

absl::Status SaveAndPrune(Io& io, const std::string& run_folder, const CheckpointLayout& layout,
                          int64_t step, int64_t keep) {
  ASSIGN_OR_RETURN(const RunLock lock, RunLock::Acquire(io, run_folder));
  RETURN_IF_ERROR(SaveStep(io, lock, layout, step));
  return PruneCheckpoints(io, lock, keep).status();
}

std::string ProblemOfRun(Io& io, const std::string& run_folder, const CheckpointLayout& layout,
                         int64_t least_newest, size_t least_count) {
  const absl::StatusOr<std::vector<FoundCheckpoint>> found = FindCheckpoints(io, run_folder);
  if (!found.ok()) return StrCat("nothing is found: ", found.status().message());
  if (found->size() < least_count) return StrCat("only ", found->size(), " are found");
  if (!found->empty() && found->front().step < least_newest) {
    return StrCat("the newest is ", found->front().step, ", not ", least_newest);
  }
  for (const FoundCheckpoint& checkpoint : *found) {
    const absl::Status whole = CheckSaved(io, checkpoint.path, layout, checkpoint.step);
    if (!whole.ok()) return StrCat("step ", checkpoint.step, ": ", whole.message());
  }
  return "";
}

std::string ProblemOfGoingOn(Io& io, const std::string& run_folder, const CheckpointLayout& layout,
                             int64_t least_newest, int64_t next) {
  std::string problem = ProblemOfRun(io, run_folder, layout, least_newest);
  if (!problem.empty()) return problem;
  const absl::Status saved = SaveAndPrune(io, run_folder, layout, next);
  if (!saved.ok()) return StrCat("going on fails: ", saved.message());
  const absl::StatusOr<std::vector<std::string>> names =
      io.List(JoinPath(run_folder, kCheckpointsFolder));
  if (!names.ok()) return "the folder cannot be listed";
  for (const std::string& name : *names) {
    if (!StepOfName(name).has_value()) return StrCat(name, " is left over");
  }
  if (names->size() != 2) return StrCat(names->size(), " are kept");
  return ProblemOfRun(io, run_folder, layout, next);
}

}  // namespace horizon
