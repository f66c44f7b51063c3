#include "planner/plan_files.h"

#include <cerrno>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "schedule/load_files.h"

namespace horizon {

std::string JobFileBeside(const std::string& plan_file) {
  constexpr std::string_view kEnding = ".json";
  const std::string stem = plan_file.ends_with(kEnding)
                               ? plan_file.substr(0, plan_file.size() - kEnding.size())
                               : plan_file;
  return StrCat(stem, ".job.json");
}

absl::Status WritePlanFiles(Io& io, const std::string& plan_file, const StreamPlan& plan,
                            const TrainingJob& job) {
  // The job first: a plan never stands there without it.
  RETURN_IF_ERROR(WriteTextFile(io, JobFileBeside(plan_file), WriteJob(job)));
  return WriteTextFile(io, plan_file, WritePlan(plan));
}

absl::StatusOr<PlanFiles> LoadPlanFiles(Io& io, const std::string& plan_file,
                                        const std::string& job_file) {
  PlanFiles files;
  ASSIGN_OR_RETURN(files.plan, LoadPlan(io, plan_file));
  const std::string path = job_file.empty() ? JobFileBeside(plan_file) : job_file;
  absl::StatusOr<TrainingJob> job = LoadJob(io, path);
  if (!job.ok() && IoErrno(job.status()) == ENOENT) {
    return absl::Status(job.status().code(),
                        StrCat(std::string(job.status().message()),
                               "; 'horizon plan --output' writes the job beside the plan, or give "
                               "one with --job"));
  }
  if (!job.ok()) return job.status();
  files.job = *std::move(job);
  return files;
}

}  // namespace horizon
