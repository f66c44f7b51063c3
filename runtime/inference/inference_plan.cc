#include "runtime/inference/inference_plan.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "model/stages.h"
#include "schedule/check_runnable.h"
#include "schedule/chunk_table.h"

namespace horizon {
namespace {

class Search {
 public:
  Search(const ModelSpec& spec, NumberType compute_type, const InferenceLimits& limits,
         const InferenceBytesOf& bytes_of)
      : spec_(spec), limits_(limits), bytes_of_(bytes_of) {
    job_.compute_type = compute_type;
    job_.sequence = 1;
  }

  absl::StatusOr<InferencePlan> Find() {
    RETURN_IF_ERROR(CheckRunnable(spec_, job_, Begin()));
    ASSIGN_OR_RETURN(InferencePlan found, Resident());
    if (Fits(found.bytes)) return found;
    InferencePlan smallest;
    for (const auto& [chunk_bytes, depth] : {std::pair<Bytes, int64_t>{LayerBytes(), 2},
                                             {StageBytes(), 2},
                                             {MatrixBytes(), 2},
                                             {MatrixBytes(), 1}}) {
      ASSIGN_OR_RETURN(smallest, Streamed(chunk_bytes, depth, 0));
      if (Fits(smallest.bytes)) return WithMostResident(smallest);
    }
    return Refusal(smallest.bytes);
  }

 private:
  bool Fits(const InferenceBytes& bytes) const {
    const auto within = [](Bytes needed, const std::optional<Bytes>& limit) {
      return !limit.has_value() || needed <= *limit;
    };
    return within(bytes.device, limits_.device) && within(bytes.host, limits_.host) &&
           within(bytes.device + bytes.host, limits_.sum);
  }

  StreamPlan Begin() const {
    StreamPlan plan;
    plan.compute_threads = limits_.threads;
    // Loading is done by the device's processors too, where the device is this machine.
    plan.h2d_threads = limits_.threads;
    return plan;
  }

  absl::StatusOr<InferencePlan> Resident() {
    InferencePlan found{.plan = Begin()};
    found.plan.strategy = Strategy::kResident;
    found.plan.embedding_home = EmbeddingHome::kDevice;
    found.plan.recompute = false;
    ASSIGN_OR_RETURN(found.bytes, bytes_of_(found.plan));
    found.summary = StrCat("all weights stay on the device: ", ToString(found.bytes.device));
    return found;
  }

  absl::StatusOr<InferencePlan> Streamed(Bytes chunk_bytes, int64_t depth, int64_t resident) {
    InferencePlan found{.plan = Begin()};
    found.plan.chunk_bytes = chunk_bytes;
    found.plan.buffer_depth = depth;
    found.plan.resident_chunks = resident;
    ASSIGN_OR_RETURN(found.bytes, bytes_of_(found.plan));
    ASSIGN_OR_RETURN(const int64_t chunks, StreamableChunks(found.plan));
    found.summary =
        StrCat("weights stream through ", depth, depth == 1 ? " slot" : " slots", ", ", resident,
               " of ", chunks, " chunks stay on the device: ", ToString(found.bytes.device),
               " there, ", ToString(found.bytes.host), " beside it");
    return found;
  }

  // A table that rows are gathered from on the host is not among them.
  absl::StatusOr<int64_t> StreamableChunks(const StreamPlan& plan) const {
    ASSIGN_OR_RETURN(const ChunkTable table, CutIntoChunks(spec_, job_, plan));
    return static_cast<int64_t>(table.chunks.size()) - (table.tied ? 0 : table.embedding.size());
  }

  absl::StatusOr<InferencePlan> WithMostResident(InferencePlan best) {
    ASSIGN_OR_RETURN(const int64_t chunks, StreamableChunks(best.plan));
    int64_t fits = 0;
    int64_t too_many = chunks + 1;
    while (too_many - fits > 1) {
      const int64_t middle = fits + (too_many - fits) / 2;
      ASSIGN_OR_RETURN(InferencePlan tried,
                       Streamed(best.plan.chunk_bytes, best.plan.buffer_depth, middle));
      if (Fits(tried.bytes)) {
        best = std::move(tried);
        fits = middle;
      } else {
        too_many = middle;
      }
    }
    return best;
  }

  // Of the layer, and of the stage of a layer, that has most; and the least a chunk can be.
  Bytes LayerBytes() const { return std::max(MatrixBytes(), LargestOf(2)); }
  Bytes StageBytes() const { return std::max(MatrixBytes(), LargestOf(1)); }
  Bytes MatrixBytes() const { return LeastChunkBytes(ListStages(spec_), job_); }
  Bytes LargestOf(size_t count) const {
    const std::vector<Stage> stages = ListStages(spec_);
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
    return largest * BytesOfParameter(job_).link;
  }

  absl::Status Refusal(const InferenceBytes& least) const {
    std::string there;
    const auto tell = [&](std::string_view where, const std::optional<Bytes>& limit) {
      if (!limit.has_value()) return;
      there += StrCat(there.empty() ? "" : ", ", WithCommas(limit->value()), where);
    };
    tell(" on the device", limits_.device);
    tell(" beside it", limits_.host);
    tell(" together", limits_.sum);
    return absl::FailedPreconditionError(
        StrCat(spec_.name, " takes at least ", WithCommas(least.device.value()),
               " bytes of the device and ", WithCommas(least.host.value()),
               " beside it, streamed matrix by matrix; there are ", there,
               ". Raise --device-memory, or lower the batch or the number of tokens"));
  }

  const ModelSpec& spec_;
  const InferenceLimits& limits_;
  const InferenceBytesOf& bytes_of_;
  TrainingJob job_;
};

}  // namespace

absl::StatusOr<InferencePlan> PlanInference(const ModelSpec& spec, NumberType compute_type,
                                            const InferenceLimits& limits,
                                            const InferenceBytesOf& bytes_of) {
  return Search(spec, compute_type, limits, bytes_of).Find();
}

}  // namespace horizon
