#include "planner/plan_space.h"

#include <algorithm>

#include "model/stages.h"
#include "schedule/chunk_table.h"

namespace horizon {
namespace {

// Shards smaller than this are proposed only where they are the finest cut the model allows.
constexpr Bytes kSmallestChunk = 8_MiB;

// A layer, its larger stage, two layers, and what the larger stage can be cut into: chunks end
// where stages, matrices or experts do, so sizes in between only change what is left unused. None
// is smaller than the largest part that is never cut.
std::vector<Bytes> ChunkSizes(const ModelSpec& spec, const TrainingJob& job) {
  const std::vector<Stage> stages = ListStages(spec);
  const Bytes each = BytesOfParameter(job).link;
  const Stage* largest_stage = nullptr;
  uint64_t largest_layer = 0;
  uint64_t layer_sum = 0;
  int64_t layer = -1;
  for (const Stage& stage : stages) {
    if (stage.layer < 0) continue;
    if (stage.layer != layer) layer_sum = 0;
    layer = stage.layer;
    layer_sum += stage.parameters;
    largest_layer = std::max(largest_layer, layer_sum);
    if (largest_stage == nullptr || stage.parameters > largest_stage->parameters) {
      largest_stage = &stage;
    }
  }
  const Bytes least = LeastChunkBytes(stages, job);
  std::vector<Bytes> sizes;
  const auto add = [&](uint64_t parameters) {
    const Bytes size = std::max(least, parameters * each);
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
  };
  add(largest_layer);
  add(largest_stage->parameters);
  add(2 * largest_layer);
  for (const int64_t shards : {2, 3, 8}) {
    const uint64_t largest = LargestOfShards(*largest_stage, shards);
    if (largest * each >= kSmallestChunk) add(largest);
  }
  add(0);  // the least
  return sizes;
}

// The other systems give passes over tensors all cores; the published one packs with one thread.
PlanThreads ThreadsOfPublished(Strategy strategy, const TrainingJob& job, int64_t cores) {
  return {.compute = job.device == DeviceKind::kHost ? cores : 1,
          .host = strategy == Strategy::kReference ? 1 : cores,
          .optimizer = cores};
}

std::vector<PlanThreads> ThreadChoices(const TrainingJob& job, int64_t cores) {
  const auto some = [&](int64_t count) { return std::clamp<int64_t>(count, 1, cores); };
  std::vector<PlanThreads> choices;
  const auto add = [&](PlanThreads threads) {
    if (std::find(choices.begin(), choices.end(), threads) == choices.end()) {
      choices.push_back(threads);
    }
  };
  if (job.device == DeviceKind::kHost) {
    add({cores, some(cores / 4), some(cores / 2)});
    add({some(cores - 1), 1, 1});
    return choices;
  }
  add({1, some(cores / 2), some(cores - 2)});
  add({1, some(cores / 4), some(cores / 2)});
  return choices;
}

std::vector<int64_t> LossChunks(const TrainingJob& job) {
  std::vector<int64_t> chunks;
  for (const int64_t tokens : {1024, 8192}) {
    const int64_t chunk = std::min<int64_t>(tokens, job.micro_batch_tokens());
    if (std::find(chunks.begin(), chunks.end(), chunk) == chunks.end()) chunks.push_back(chunk);
  }
  return chunks;
}

// What strategies that are not ours leave to choose; the rest they decide by themselves.
void NarrowTo(Strategy strategy, const TrainingJob& job, int64_t cores, PlanSpace& space) {
  if (strategy == Strategy::kHorizon) return;
  if (strategy != Strategy::kResident) {
    space.threads = {ThreadsOfPublished(strategy, job, cores)};
    space.keep_feed_forward = {true};
  }
  space.chunk_bytes.resize(1);
  space.resident_chunks = {0};
  space.anchor_home = {AnchorHome::kDevice};
  space.accumulation_order = {AccumulationOrder::kBatchMajor};
  space.embedding_home = {EmbeddingHome::kDevice};
  space.buffer_depth = {2, 1};
  if (strategy == Strategy::kResident) {  // it has neither a ring nor slabs
    space.buffer_depth = {2};
    space.gradient_slabs = {2};
  }
  if (strategy == Strategy::kReference) {
    space.recompute = {true};
    space.gradient_slabs = {12, 4, 2};
  }
}

bool Contains(const std::vector<std::string>& fields, std::string_view field) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

// Sets one member of every choice, and drops the choices that become equal.
void SetThreads(int64_t value, int64_t PlanThreads::*member, std::vector<PlanThreads>& choices) {
  for (PlanThreads& threads : choices) threads.*member = value;
  choices.erase(std::unique(choices.begin(), choices.end()), choices.end());
}

}  // namespace

PlanSpace SpaceFor(const ModelSpec& spec, const TrainingJob& job, const HardwareProfile& profile,
                   const StreamPlan& fixed, const std::vector<std::string>& fixed_fields) {
  PlanSpace space{
      .base = fixed,
      .chunk_bytes = ChunkSizes(spec, job),
      .buffer_depth = {3, 2, 4, 6, 1},
      .resident_chunks = {0, kAsManyAsFit},
      .anchor_interval = {1, 2, 4, 8},
      .anchor_home = {AnchorHome::kDevice, AnchorHome::kHost},
      .recompute = {true, false},
      .keep_feed_forward = {true, false},
      .several_pieces = job.micro_batch_tokens() > job.piece_tokens,
      .gradient_slabs = {4, 1},
      .accumulation_order = {AccumulationOrder::kBatchMajor},
      .loss_chunk_tokens = LossChunks(job),
      .embedding_home = {EmbeddingHome::kHost, EmbeddingHome::kStreamed, EmbeddingHome::kDevice},
      .threads = ThreadChoices(job, profile.host.cores)};
  NameModel(spec, space.base);
  if (job.accumulation > 1) space.accumulation_order.push_back(AccumulationOrder::kChunkMajor);
  NarrowTo(fixed.strategy, job, profile.host.cores, space);
  const auto fix = [&](std::string_view field, const auto& value, auto& values) {
    if (Contains(fixed_fields, field)) values = {value};
  };
  const auto fix_threads = [&](std::string_view field, int64_t value,
                               int64_t PlanThreads::*member) {
    if (Contains(fixed_fields, field)) SetThreads(value, member, space.threads);
  };
  fix("chunk_bytes", fixed.chunk_bytes, space.chunk_bytes);
  fix("buffer_depth", fixed.buffer_depth, space.buffer_depth);
  fix("resident_chunks", fixed.resident_chunks, space.resident_chunks);
  fix("anchor_interval", fixed.anchor_interval, space.anchor_interval);
  fix("anchor_home", fixed.anchor_home, space.anchor_home);
  fix("recompute", fixed.recompute, space.recompute);
  fix("keep_feed_forward", fixed.keep_feed_forward, space.keep_feed_forward);
  fix("gradient_slabs", fixed.gradient_slabs, space.gradient_slabs);
  fix("accumulation_order", fixed.accumulation_order, space.accumulation_order);
  fix("loss_chunk_tokens", fixed.loss_chunk_tokens, space.loss_chunk_tokens);
  fix("embedding_home", fixed.embedding_home, space.embedding_home);
  fix_threads("compute_threads", fixed.compute_threads, &PlanThreads::compute);
  fix_threads("host_threads", fixed.host_threads, &PlanThreads::host);
  fix_threads("optimizer_threads", fixed.optimizer_threads, &PlanThreads::optimizer);
  return space;
}

PlanSpace CoarseSpace(PlanSpace space) {
  const auto keep = [](auto& values, size_t count) {
    values.resize(std::min(values.size(), count));
  };
  // The whole layer, and the smallest chunk for where memory is scarce.
  if (space.chunk_bytes.size() > 2)
    space.chunk_bytes = {space.chunk_bytes[0], space.chunk_bytes.back()};
  keep(space.buffer_depth, 2);
  keep(space.anchor_interval, 1);
  keep(space.gradient_slabs, 2);
  keep(space.loss_chunk_tokens, 1);
  keep(space.embedding_home, 1);
  keep(space.threads, 1);
  return space;
}

PlanSpace FrugalSpace(PlanSpace space) {
  const auto keep_least = [](auto& values) {
    values = {*std::min_element(values.begin(), values.end())};
  };
  const Bytes largest = space.chunk_bytes.front();
  keep_least(space.chunk_bytes);
  // A head in many shards needs a buffer for each of its sums, so whole layers may need less.
  if (largest != space.chunk_bytes.front()) space.chunk_bytes.push_back(largest);
  // Chunk-major order cannot be built without a ring that holds a block.
  std::sort(space.buffer_depth.begin(), space.buffer_depth.end());
  const bool batch_major =
      std::find(space.accumulation_order.begin(), space.accumulation_order.end(),
                AccumulationOrder::kBatchMajor) != space.accumulation_order.end();
  if (batch_major) space.buffer_depth.resize(1);
  keep_least(space.gradient_slabs);
  keep_least(space.loss_chunk_tokens);
  if (space.resident_chunks.size() > 1) space.resident_chunks = {0};
  space.threads.resize(1);
  return space;
}

void ForEachPlan(const PlanSpace& space, const std::function<void(const StreamPlan&)>& visit) {
  StreamPlan plan = space.base;
  const auto each = [](const auto& values, auto set, auto next) {
    for (const auto& value : values) {
      set(value);
      next();
    }
  };
  // Without recompute there are no anchors and no blocks.
  const auto without_anchors = [&](auto next) {
    plan.anchor_interval = space.anchor_interval.front();
    plan.anchor_home = space.anchor_home.front();
    next();
  };
  // Slabs innermost: they do not change the bound of a plan.
  const auto threads = [&] {
    for (const PlanThreads& choice : space.threads) {
      plan.compute_threads = choice.compute;
      plan.host_threads = choice.host;
      plan.optimizer_threads = choice.optimizer;
      each(
          space.gradient_slabs, [&](int64_t v) { plan.gradient_slabs = v; }, [&] { visit(plan); });
    }
  };
  const auto buffers = [&] {
    each(
        space.buffer_depth, [&](int64_t v) { plan.buffer_depth = v; },
        [&] {
          each(
              space.accumulation_order, [&](AccumulationOrder v) { plan.accumulation_order = v; },
              [&] {
                each(
                    space.loss_chunk_tokens, [&](int64_t v) { plan.loss_chunk_tokens = v; },
                    threads);
              });
        });
  };
  const auto homes = [&] {
    each(
        space.embedding_home, [&](EmbeddingHome v) { plan.embedding_home = v; },
        [&] {
          each(
              space.resident_chunks, [&](int64_t v) { plan.resident_chunks = v; }, buffers);
        });
  };
  const auto residents = [&] {
    const bool alike = plan.recompute && plan.anchor_interval == 1 && !space.several_pieces;
    for (const bool keep : space.keep_feed_forward) {
      if (alike && keep != space.keep_feed_forward.front()) continue;
      plan.keep_feed_forward = keep;
      homes();
    }
  };
  each(
      space.recompute, [&](bool v) { plan.recompute = v; },
      [&] {
        each(
            space.chunk_bytes, [&](Bytes v) { plan.chunk_bytes = v; },
            [&] {
              if (!plan.recompute) return without_anchors(residents);
              each(
                  space.anchor_interval, [&](int64_t v) { plan.anchor_interval = v; },
                  [&] {
                    each(
                        space.anchor_home, [&](AnchorHome v) { plan.anchor_home = v; }, residents);
                  });
            });
      });
}

}  // namespace horizon
