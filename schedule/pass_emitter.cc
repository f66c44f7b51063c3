#include "schedule/pass_emitter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/check.h"

namespace horizon {
namespace {

TokenBatch BatchOf(const Schedule& schedule) {
  return {.batch = schedule.job.micro_batch,
          .sequence = schedule.kind == PassKind::kDecode ? 1 : schedule.job.sequence};
}

}  // namespace

PassEmitter::PassEmitter(const ModelSpec& spec, const Schedule& schedule, const BufferMap& map)
    : spec_(spec),
      job_(schedule.job),
      plan_(schedule.plan),
      chunks_(schedule.chunks),
      map_(map),
      kind_(schedule.kind),
      each_(BytesOfParameter(schedule.job)),
      batch_(BatchOf(schedule)),
      hidden_bytes_(static_cast<uint64_t>(batch_.tokens() * spec.hidden) *
                    ActivationBytes(schedule.job)),
      loss_parts_(LossParts(schedule.job, schedule.plan)),
      weights_age_(kind_ == PassKind::kTrain &&
                           (resident() || job_.optimizer_place != OptimizerPlace::kBehindForward)
                       ? 1
                       : 0),
      writer_(schedule.memory.buffers.size()) {
  for (const Chunk& chunk : chunks_.chunks) {
    uint64_t forward = 0;
    uint64_t backward = 0;
    for (const ChunkPiece& piece : chunks_.PiecesOf(chunk)) {
      const Stage& stage = chunks_.stages[piece.stage];
      if (stage.kind == StageKind::kEmbedding || stage.kind == StageKind::kHead) continue;
      forward += ForwardWork(spec_, stage, piece.units, batch_).flops;
      if (kind_ == PassKind::kTrain) {
        backward += BackwardWork(spec_, stage, piece.units, batch_).flops;
      }
      if (kind_ == PassKind::kDecode)
        forward += CacheFlops(spec_, stage, piece.units, job_.micro_batch, job_.sequence);
    }
    forward_flops_.push_back(forward);
    backward_flops_.push_back(backward);
  }
  BeginBody();
}

void PassEmitter::BeginBody() {
  writer_.BeginBody();
  const size_t count = chunks_.chunks.size();
  next_gradient_ = next_slab_ = next_stage_ = 0;
  clipped_ = false;
  gradient_of_.assign(count, -1);
  summed_.assign(count, 0);
  kept_.assign(count, 0);
  embedding_sum_.assign(count, 0);
}

PassEmitter::Draft& PassEmitter::Draft::Reads(BufferId buffer, Content content, uint8_t age) {
  accesses.push_back({.buffer = buffer, .mode = AccessMode::kRead, .age = age, .content = content});
  return *this;
}

PassEmitter::Draft& PassEmitter::Draft::Writes(BufferId buffer, Content content) {
  accesses.push_back({.buffer = buffer, .mode = AccessMode::kWrite, .content = content});
  return *this;
}

PassEmitter::Draft PassEmitter::Begin(OperationKind kind, Lane lane, int32_t chunk, int32_t mb,
                                      int32_t part) const {
  int64_t threads = 1;
  switch (lane) {
    case Lane::kH2d:
      threads = plan_.h2d_threads;
      break;
    case Lane::kCompute:
      threads = plan_.compute_threads;
      break;
    case Lane::kD2h:
      threads = plan_.d2h_threads;
      break;
    case Lane::kHost:
      threads = plan_.host_threads;
      break;
    case Lane::kOptimizer:
      threads = plan_.optimizer_threads;
      break;
    case Lane::kDisk:
      break;
  }
  Draft draft;
  draft.operation = {.kind = kind,
                     .lane = lane,
                     .threads = static_cast<int16_t>(threads),
                     .chunk = chunk,
                     .micro_batch = mb,
                     .part = part};
  return draft;
}

int64_t PassEmitter::Append(Draft& draft, std::span<const int64_t> after) {
  if (draft.operation.lane != Lane::kCompute) {
    return writer_.Append(draft.operation, draft.accesses, after);
  }
  CHECK(after.empty());
  const std::array<int64_t, 1> before = {std::exchange(before_compute_, -1)};
  last_compute_ = writer_.Append(draft.operation, draft.accesses, before);
  return last_compute_;
}

BufferId PassEmitter::HiddenBuffer(int32_t link, int32_t mb) const {
  const int32_t place = map_.hidden_place[link];
  if (place != BufferMap::kInAnchor) {
    return map_.residuals[map_.residuals_each * flight(mb) + place];
  }
  const int32_t block = chunk(chunks_.links[link].begin).block;
  return map_.anchors[block * map_.in_flight + flight(mb)];
}

int32_t PassEmitter::PlaceInBlock(int32_t link) const {
  return link - chunks_.blocks[chunk(chunks_.links[link].begin).block].links.begin;
}

BufferId PassEmitter::RecomputeInput(int32_t link, int32_t mb) const {
  const int32_t place = PlaceInBlock(link);
  if (plan_.strategy == Strategy::kReference && place > 0) return map_.anchor_stages[place - 1];
  if (place == 0 && plan_.anchor_home == AnchorHome::kHost) return stage_;
  return HiddenBuffer(link, mb);
}

BufferId PassEmitter::RecomputeOutput(int32_t link, int32_t mb) const {
  if (plan_.strategy == Strategy::kReference) return map_.anchor_stages[PlaceInBlock(link)];
  return HiddenBuffer(link + 1, mb);
}

BufferId PassEmitter::HiddenGradientBuffer(int32_t link, int32_t mb) const {
  return map_.residual_gradients[2 * flight(mb) + link % 2];
}

BufferId PassEmitter::ActivationsBuffer(int32_t c, int32_t mb) const {
  if (!plan_.recompute) {
    return map_.activations[(c - chunks_.layers.begin) * map_.in_flight + flight(mb)];
  }
  if (plan_.strategy == Strategy::kReference) return map_.activations[0];
  return map_.activations[c - chunks_.blocks[chunk(c).block].chunks.begin];
}

BufferId PassEmitter::TokensBuffer(int32_t mb) const {
  return map_.tokens[mb % map_.tokens.size()];
}

int32_t PassEmitter::HiddenParts(int32_t link) const {
  if (link > 0) return chunks_.links[link - 1].size();
  return plan_.embedding_home == EmbeddingHome::kHost ? 1 : chunks_.embedding.size();
}

int32_t PassEmitter::HiddenGradientParts(int32_t link) const {
  return link < links() ? chunks_.links[link].size() : loss_parts_ * chunks_.head.size();
}

Content PassEmitter::Hidden(int32_t link, int32_t mb) const {
  return {ContentKind::kHidden, link, mb, HiddenParts(link)};
}

Content PassEmitter::HiddenGradient(int32_t link, int32_t mb) const {
  return {ContentKind::kHiddenGradient, link, mb, HiddenGradientParts(link)};
}

std::vector<Access> PassEmitter::InitialContents() const {
  std::vector<Access> initial;
  const auto holds = [&](const std::vector<BufferId>& buffers, ContentKind kind) {
    for (size_t c = 0; c < buffers.size(); ++c) {
      if (buffers[c] < 0) continue;
      initial.push_back(
          {.buffer = buffers[c], .age = weights_age_, .content = {kind, static_cast<int32_t>(c)}});
    }
  };
  holds(map_.weights_hi, ContentKind::kWeights);
  holds(map_.weights_lo, ContentKind::kLowHalf);
  holds(map_.moments, ContentKind::kMoments);
  holds(map_.framework_copy, ContentKind::kWeights);
  if (resident()) holds(map_.resident_weights, ContentKind::kWeights);
  if (kind_ == PassKind::kDecode) holds(map_.kv_cache, ContentKind::kKvCache);
  return initial;
}

void PassEmitter::WriteState() {
  for (int32_t c = 0; c < static_cast<int32_t>(chunks_.chunks.size()); ++c) {
    Draft write = Begin(OperationKind::kWriteChunk, Lane::kDisk, c, -1);
    write.Reads(map_.weights_hi[c], {ContentKind::kWeights, c});
    if (map_.weights_lo[c] >= 0) write.Reads(map_.weights_lo[c], {ContentKind::kLowHalf, c});
    write.Reads(map_.moments[c], {ContentKind::kMoments, c});
    write.Writes(map_.disk_stage, {ContentKind::kScratch});
    write.operation.bytes = (2 + each_.low_half) * parameters(c) +
                            MomentBytes(job_.state_format, parameters(c), chunk(c).moment_blocks);
    Append(write);
  }
  Draft commit = Begin(OperationKind::kCommit, Lane::kDisk, -1, -1);
  Append(commit);
}

}  // namespace horizon
