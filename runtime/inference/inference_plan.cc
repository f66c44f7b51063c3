#include "runtime/inference/inference_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "model/stages.h"
#include "schedule/check_runnable.h"
#include "schedule/chunk_table.h"

namespace horizon {
namespace {

// What a plan is searched for. `job` has only what decides the size of chunks: the types and one
// token.
struct Request {
  const ModelSpec& spec;
  const TrainingJob& job;
  const InferenceLimits& limits;
  const InferenceBytesOf& bytes_of;
};

// How weights stream: the size of chunks, the slots of the ring, and the chunks that stay on the
// device.
struct Streaming {
  Bytes chunk_bytes;
  int64_t depth = 2;
  int64_t resident_chunks = 0;
};

bool Fits(const InferenceBytes& bytes, const InferenceLimits& limits) {
  const auto within = [](Bytes needed, const std::optional<Bytes>& limit) {
    return !limit.has_value() || needed <= *limit;
  };
  return within(bytes.device, limits.device) && within(bytes.host, limits.host) &&
         within(bytes.device + bytes.host, limits.sum);
}

StreamPlan PlanWithThreads(int64_t threads) {
  StreamPlan plan;
  plan.compute_threads = threads;
  // On the host device the same processors also do the loading.
  plan.h2d_threads = threads;
  return plan;
}

absl::StatusOr<InferencePlan> ResidentPlan(const Request& request) {
  InferencePlan found{.plan = PlanWithThreads(request.limits.threads)};
  found.plan.strategy = Strategy::kResident;
  found.plan.embedding_home = EmbeddingHome::kDevice;
  found.plan.recompute = false;
  ASSIGN_OR_RETURN(found.bytes, request.bytes_of(found.plan));
  found.summary = StrCat("all weights stay on the device: ", ToString(found.bytes.device));
  return found;
}

// An embedding table whose rows are gathered on the host is not streamed.
absl::StatusOr<int64_t> StreamableChunks(const Request& request, const StreamPlan& plan) {
  ASSIGN_OR_RETURN(const ChunkTable table, CutIntoChunks(request.spec, request.job, plan));
  return static_cast<int64_t>(table.chunks.size()) - (table.tied ? 0 : table.embedding.size());
}

absl::StatusOr<InferencePlan> StreamedPlan(const Request& request, const Streaming& streaming) {
  InferencePlan found{.plan = PlanWithThreads(request.limits.threads)};
  found.plan.chunk_bytes = streaming.chunk_bytes;
  found.plan.buffer_depth = streaming.depth;
  found.plan.resident_chunks = streaming.resident_chunks;
  ASSIGN_OR_RETURN(found.bytes, request.bytes_of(found.plan));
  ASSIGN_OR_RETURN(const int64_t chunks, StreamableChunks(request, found.plan));
  found.summary =
      StrCat("weights stream through ", streaming.depth, streaming.depth == 1 ? " slot" : " slots",
             ", ", streaming.resident_chunks, " of ", chunks,
             " chunks stay on the device: ", ToString(found.bytes.device), " there, ",
             ToString(found.bytes.host), " beside it");
  return found;
}

// Bisects for the most chunks that can stay on the device; `best` keeps none there and fits.
absl::StatusOr<InferencePlan> WithMostResidentChunks(const Request& request, InferencePlan best) {
  ASSIGN_OR_RETURN(const int64_t chunks, StreamableChunks(request, best.plan));
  int64_t fits = 0;
  int64_t too_many = chunks + 1;
  while (too_many - fits > 1) {
    const int64_t middle = fits + (too_many - fits) / 2;
    ASSIGN_OR_RETURN(InferencePlan tried,
                     StreamedPlan(request, {.chunk_bytes = best.plan.chunk_bytes,
                                            .depth = best.plan.buffer_depth,
                                            .resident_chunks = middle}));
    if (Fits(tried.bytes, request.limits)) {
      best = std::move(tried);
      fits = middle;
    } else {
      too_many = middle;
    }
  }
  return best;
}

// The bytes over the link of the largest run of `count` consecutive stages between embedding and
// head.
Bytes LargestStageRunBytes(const std::vector<Stage>& stages, size_t count, const TrainingJob& job) {
  uint64_t largest = 1;
  for (size_t i = 0; i < stages.size(); ++i) {
    uint64_t parameters = 0;
    for (size_t j = i; j < std::min(i + count, stages.size()); ++j) {
      const StageKind kind = stages[j].kind;
      if (kind == StageKind::kEmbedding || kind == StageKind::kHead) break;
      parameters += stages[j].parameters;
    }
    largest = std::max(largest, parameters);
  }
  return largest * BytesOfParameter(job).link;
}

absl::Status NothingFits(const Request& request, const InferenceBytes& least) {
  std::string there;
  const auto add = [&](std::string_view where, const std::optional<Bytes>& limit) {
    if (!limit.has_value()) return;
    there += StrCat(there.empty() ? "" : ", ", WithCommas(limit->value()), where);
  };
  add(" on the device", request.limits.device);
  add(" beside it", request.limits.host);
  add(" together", request.limits.sum);
  return absl::FailedPreconditionError(
      StrCat(request.spec.name, " takes at least ", WithCommas(least.device.value()),
             " bytes of the device and ", WithCommas(least.host.value()),
             " beside it, streamed matrix by matrix; there are ", there,
             ". Raise --device-memory, or lower the batch or the number of tokens"));
}

}  // namespace

absl::StatusOr<InferencePlan> PlanInference(const ModelSpec& spec, NumberType compute_type,
                                            const InferenceLimits& limits,
                                            const InferenceBytesOf& bytes_of) {
  TrainingJob job;
  job.compute_type = compute_type;
  job.sequence = 1;
  RETURN_IF_ERROR(CheckRunnable(spec, job, PlanWithThreads(limits.threads)));
  const Request request{.spec = spec, .job = job, .limits = limits, .bytes_of = bytes_of};
  ASSIGN_OR_RETURN(InferencePlan resident, ResidentPlan(request));
  if (Fits(resident.bytes, limits)) return resident;
  const std::vector<Stage> stages = ListStages(spec);
  const Bytes matrix_bytes = LeastChunkBytes(stages, job);
  const Bytes stage_bytes = std::max(matrix_bytes, LargestStageRunBytes(stages, 1, job));
  // A layer is two stages: attention and feed-forward.
  const Bytes layer_bytes = std::max(matrix_bytes, LargestStageRunBytes(stages, 2, job));
  InferencePlan smallest;
  for (const Streaming& streaming :
       {Streaming{.chunk_bytes = layer_bytes}, Streaming{.chunk_bytes = stage_bytes},
        Streaming{.chunk_bytes = matrix_bytes},
        Streaming{.chunk_bytes = matrix_bytes, .depth = 1}}) {
    absl::StatusOr<InferencePlan> streamed = StreamedPlan(request, streaming);
    // A feed-forward stage is not cut for a batch of several pieces of tokens.
    if (absl::IsFailedPrecondition(streamed.status()) && !smallest.summary.empty()) break;
    RETURN_IF_ERROR(streamed.status());
    smallest = *std::move(streamed);
    if (Fits(smallest.bytes, limits)) return WithMostResidentChunks(request, smallest);
  }
  return NothingFits(request, smallest.bytes);
}

}  // namespace horizon
