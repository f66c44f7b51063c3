#include "schedule/build/pass_emitter.h"

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

struct PieceFlops {
  uint64_t forward = 0;
  uint64_t recompute = 0;  // without an output
  uint64_t backward = 0;
};

// Most layers are alike: the flops of each different piece are worked out once.
class KnownFlops {
 public:
  template <typename Make>
  const PieceFlops& Of(const ModelSpec& spec, const Stage& stage, UnitRange units, Make make) {
    const int64_t window =
        stage.layer < 0 ? 0 : spec.layers[static_cast<size_t>(stage.layer)].sliding_window;
    const Known piece{.kind = stage.kind,
                      .units = units,
                      .window = window,
                      .trained = stage.trained_roles,
                      .depth = stage.backward_depth()};
    for (const Known& known : known_) {
      if (known.IsLike(piece)) return known.flops;
    }
    known_.push_back(piece);
    known_.back().flops = make();
    return known_.back().flops;
  }

 private:
  struct Known {
    StageKind kind;
    UnitRange units;
    int64_t window = 0;
    RoleSet trained;
    BackwardDepth depth = BackwardDepth::kInput;
    PieceFlops flops = {};

    bool IsLike(const Known& other) const {
      return kind == other.kind && units == other.units && window == other.window &&
             trained == other.trained && depth == other.depth;
    }
  };
  std::vector<Known> known_;
};

}  // namespace

PassEmitter::PassEmitter(const ModelSpec& spec, const Schedule& schedule, const BufferMap& map)
    : spec_(spec),
      job_(schedule.job),
      plan_(schedule.plan),
      chunks_(schedule.chunks),
      map_(map),
      kind_(schedule.kind),
      rules_(RulesOf(schedule.job, schedule.plan)),
      each_(BytesOfParameter(schedule.job)),
      batch_(BatchOf(schedule)),
      hidden_bytes_(static_cast<uint64_t>(batch_.tokens() * spec.hidden) *
                    ActivationBytes(schedule.job)),
      loss_parts_(LossParts(schedule.job, schedule.plan)),
      weights_age_(
          kind_ == PassKind::kTrain &&
                  (rules_.all_on_device || job_.optimizer_place != OptimizerPlace::kBehindForward)
              ? 1
              : 0),
      writer_(schedule.memory.buffers.size()) {
  KnownFlops known;
  const StageOptions options = StageOptionsOf(job_, plan_);
  for (const Chunk& chunk : chunks_.chunks) {
    uint64_t forward = 0;
    uint64_t recompute = 0;
    uint64_t backward = 0;
    bool attends = false;
    for (const ChunkPiece& piece : chunks_.PiecesOf(chunk)) {
      const Stage& stage = chunks_.stages[piece.stage];
      if (stage.kind == StageKind::kEmbedding || stage.kind == StageKind::kHead) continue;
      attends |= stage.kind == StageKind::kAttention;
      const PieceFlops& flops = known.Of(spec_, stage, piece.units, [&] {
        PieceFlops made{.forward = ForwardWork(spec_, stage, piece.units, batch_, options).flops};
        if (kind_ == PassKind::kTrain) {
          made.recompute = RecomputeWork(spec_, stage, piece.units, batch_, options).flops;
          made.backward = BackwardWork(spec_, stage, piece.units, batch_, options).flops;
        }
        if (kind_ == PassKind::kDecode) {
          made.forward +=
              CachedAttentionFlops(spec_, stage, piece.units, job_.micro_batch, job_.sequence);
        }
        return made;
      });
      // Between the stages of a chunk the hidden state is needed.
      recompute = forward + flops.recompute;
      forward += flops.forward;
      backward += flops.backward;
    }
    has_attention_.push_back(attends ? 1 : 0);
    forward_flops_.push_back(forward);
    recompute_flops_.push_back(recompute);
    backward_flops_.push_back(backward);
  }
  BeginBody();
}

void PassEmitter::BeginBody() {
  writer_.BeginBody();
  const size_t count = chunks_.chunks.size();
  next_gradient_ = next_slab_ = next_anchor_stage_ = 0;
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
  draft.Writes(map_.tile_scratch, {ContentKind::kTileScratch});
  const std::array<int64_t, 1> before = {std::exchange(before_compute_, -1)};
  last_compute_ = writer_.Append(draft.operation, draft.accesses, before);
  return last_compute_;
}

BufferId PassEmitter::HiddenBuffer(int32_t group, int32_t mb) const {
  const int32_t place = map_.hidden_place[group];
  if (place != BufferMap::kInAnchor) {
    return map_.residuals[map_.residuals_each * flight(mb) + place];
  }
  const int32_t block = chunk(chunks_.groups[group].begin).recompute_block;
  return map_.anchors[block * map_.in_flight + flight(mb)];
}

int32_t PassEmitter::PlaceInBlock(int32_t group) const {
  return group -
         chunks_.recompute_blocks[chunk(chunks_.groups[group].begin).recompute_block].groups.begin;
}

BufferId PassEmitter::RecomputeInput(int32_t group, int32_t mb) const {
  const int32_t place = PlaceInBlock(group);
  if (rules_.recomputes_layer_by_layer && place > 0) return map_.anchor_stages[place - 1];
  if (place == 0 && plan_.anchor_home == AnchorHome::kHost) return anchor_stage_;
  return HiddenBuffer(group, mb);
}

BufferId PassEmitter::RecomputeOutput(int32_t group, int32_t mb) const {
  if (rules_.recomputes_layer_by_layer) return map_.anchor_stages[PlaceInBlock(group)];
  return HiddenBuffer(group + 1, mb);
}

BufferId PassEmitter::HiddenGradientBuffer(int32_t group, int32_t mb) const {
  const int32_t each = map_.residual_gradients_each;
  return map_.residual_gradients[each * flight(mb) + (groups() - group) % each];
}

BufferId PassEmitter::ActivationsBuffer(int32_t group, int32_t mb) const {
  if (!plan_.recompute) {
    const int32_t place = group - chunks_.first_differentiated_group;
    return map_.activations[place * map_.in_flight + flight(mb)];
  }
  if (rules_.recomputes_layer_by_layer) return map_.activations[0];
  return map_.activations[PlaceInBlock(group)];
}

BufferId PassEmitter::TokensBuffer(int32_t mb) const {
  return map_.tokens[mb % map_.tokens.size()];
}

int32_t PassEmitter::HiddenParts(int32_t group) const {
  const bool from_shards = group == 0 && plan_.embedding_home != EmbeddingHome::kHost;
  return from_shards ? chunks_.embedding.size() : 1;
}

int32_t PassEmitter::HiddenGradientParts(int32_t group) const {
  return group < groups() ? 1 : loss_parts_ * chunks_.head.size();
}

Content PassEmitter::Hidden(int32_t group, int32_t mb) const {
  return {ContentKind::kHidden, group, mb, HiddenParts(group)};
}

Content PassEmitter::HiddenGradient(int32_t group, int32_t mb) const {
  return {ContentKind::kHiddenGradient, group, mb, HiddenGradientParts(group)};
}

std::vector<Access> PassEmitter::InitialContents() const {
  std::vector<Access> initial;
  const auto holds = [&](const std::vector<BufferId>& buffers, ContentKind kind) {
    for (size_t c = 0; c < buffers.size(); ++c) {
      if (buffers[c] < 0) continue;
      const auto chunk = static_cast<int32_t>(c);
      initial.push_back({.buffer = buffers[c], .age = WeightsAge(chunk), .content = {kind, chunk}});
    }
  };
  holds(map_.weights_hi, ContentKind::kWeights);
  holds(map_.weights_lo, ContentKind::kLowHalf);
  holds(map_.moments, ContentKind::kMoments);
  holds(map_.framework_copy, ContentKind::kWeights);
  if (rules_.all_on_device) holds(map_.resident_weights, ContentKind::kWeights);
  if (kind_ == PassKind::kDecode) holds(map_.kv_cache, ContentKind::kKvCache);
  initial.push_back({.buffer = map_.rotary_table, .content = {ContentKind::kRotaryTable}});
  return initial;
}

}  // namespace horizon
