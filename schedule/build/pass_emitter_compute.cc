// The verbs of PassEmitter that bring inputs and weights to the device and compute with them.
#include <algorithm>
#include <array>
#include <utility>

#include "schedule/build/pass_emitter.h"

namespace horizon {

void PassEmitter::FetchBatch(int32_t mb) {
  const Content tokens{ContentKind::kTokens, 0, mb};
  const size_t place = mb % map_.tokens_pinned.size();
  const BufferId pinned = map_.tokens_pinned[place];
  const Bytes bytes = static_cast<uint64_t>(batch_.tokens()) * kTokenBytes;
  Draft next = Begin(OperationKind::kNextBatch, Lane::kHost, -1, mb);
  next.Writes(pinned, tokens).operation.bytes = bytes;
  const std::array<int64_t, 1> updated = {std::exchange(before_batch_, -1)};
  Append(next, updated);
  Draft load = Begin(OperationKind::kLoadTokens, Lane::kH2d, -1, mb);
  load.Reads(pinned, tokens).Writes(TokensBuffer(mb), tokens).operation.bytes = bytes;
  Append(load);
  if (plan_.embedding_home != EmbeddingHome::kHost) return;
  Draft gather = Begin(OperationKind::kGather, Lane::kHost, -1, mb);
  gather.Reads(pinned, tokens);
  for (int32_t c = chunks_.embedding.begin; c < chunks_.embedding.end; ++c) {
    gather.Reads(map_.weights_hi[c], {ContentKind::kWeights, c}, WeightsAge(c));
    if (job_.compute_type == NumberType::kFp32) {
      gather.Reads(map_.weights_lo[c], {ContentKind::kLowHalf, c}, WeightsAge(c));
    }
  }
  gather.Writes(map_.embedding_rows[place], {ContentKind::kRows, 0, mb});
  gather.operation.bytes = 2 * hidden_bytes_;
  Append(gather);
}

void PassEmitter::EmbedFromRows(int32_t mb) {
  Draft load = Begin(OperationKind::kLoadRows, Lane::kH2d, -1, mb);
  load.Reads(map_.embedding_rows[mb % map_.embedding_rows.size()], {ContentKind::kRows, 0, mb});
  load.Writes(HiddenBuffer(0, mb), Hidden(0, mb));
  load.operation.bytes = hidden_bytes_;
  Append(load);
}

void PassEmitter::Embed(int32_t c, int32_t mb, BufferId weights) {
  Draft embed = Begin(OperationKind::kEmbed, Lane::kCompute, c, mb);
  ReadWeights(embed, c, weights);
  embed.Reads(TokensBuffer(mb), {ContentKind::kTokens, 0, mb});
  AddPart(embed, HiddenBuffer(0, mb), Hidden(0, mb), chunk(c).shard);
  Append(embed);
}

void PassEmitter::LoadChunk(int32_t c, BufferId target, std::span<const int64_t> after) {
  Draft load = Begin(OperationKind::kLoadChunk, Lane::kH2d, c, -1);
  load.Reads(map_.weights_hi[c], {ContentKind::kWeights, c}, WeightsAge(c));
  if (map_.framework_copy[c] >= 0) {
    load.Reads(map_.framework_copy[c], {ContentKind::kWeights, c}, WeightsAge(c));
  }
  if (job_.compute_type == NumberType::kFp32) {
    load.Reads(map_.weights_lo[c], {ContentKind::kLowHalf, c}, WeightsAge(c));
  }
  load.Writes(target, {ContentKind::kWeights, c});
  load.operation.bytes = each_.link * parameters(c);
  Append(load, after);
}

void PassEmitter::PackAndLoadChunk(int32_t c, BufferId staging, BufferId target,
                                   std::span<const int64_t> after) {
  Draft pack = Begin(OperationKind::kPack, Lane::kHost, c, -1);
  pack.Reads(map_.weights_hi[c], {ContentKind::kWeights, c}, WeightsAge(c));
  if (job_.compute_type == NumberType::kFp32) {
    pack.Reads(map_.weights_lo[c], {ContentKind::kLowHalf, c}, WeightsAge(c));
  }
  pack.Writes(staging, {ContentKind::kWeights, c});
  pack.operation.bytes = 2 * each_.link * parameters(c);
  Append(pack, after);
  Draft load = Begin(OperationKind::kLoadChunk, Lane::kH2d, c, -1);
  load.Reads(staging, {ContentKind::kWeights, c}).Writes(target, {ContentKind::kWeights, c});
  load.operation.bytes = each_.link * parameters(c);
  Append(load, after);
}

// Weights on the device were loaded in this step; those of `resident` were updated in place.
void PassEmitter::ReadWeights(Draft& draft, int32_t c, BufferId weights) const {
  draft.Reads(weights, {ContentKind::kWeights, c}, rules_.all_on_device ? WeightsAge(c) : 0);
}

void PassEmitter::AddPart(Draft& draft, BufferId target, Content content, int32_t done) {
  content.n = done;
  if (done > 0) draft.Reads(target, content);
  ++content.n;
  draft.Writes(target, content);
}

void PassEmitter::PassThroughWorkspace(Draft& draft, int32_t c, Content content,
                                       int32_t done) const {
  if (chunk(c).shards == 1) {
    draft.Writes(map_.workspace, {ContentKind::kScratch});
  } else {
    AddPart(draft, map_.workspace, content, done);
  }
}

void PassEmitter::ReadRotaryTable(Draft& draft, int32_t c) const {
  if (has_attention_[c]) draft.Reads(map_.rotary_table, {ContentKind::kRotaryTable});
}

bool PassEmitter::IsLastShard(int32_t c) const { return chunk(c).shard + 1 == chunk(c).shards; }

void PassEmitter::Forward(int32_t c, int32_t mb, BufferId weights, Keep keep) {
  const int32_t group = chunk(c).group;
  const int32_t shard = chunk(c).shard;
  Draft forward = Begin(OperationKind::kForward, Lane::kCompute, c, mb);
  ReadWeights(forward, c, weights);
  forward.Reads(HiddenBuffer(group, mb), Hidden(group, mb));
  forward.Reads(TokensBuffer(mb), {ContentKind::kTokens, 0, mb});
  ReadRotaryTable(forward, c);
  if (IsLastShard(c)) forward.Writes(HiddenBuffer(group + 1, mb), Hidden(group + 1, mb));
  if (keep == Keep::kActivations) {
    AddPart(forward, ActivationsBuffer(group, mb), {ContentKind::kActivations, group, mb}, shard);
  }
  if (!map_.kv_cache.empty() && map_.kv_cache[c] >= 0) {
    const Content cache{ContentKind::kKvCache, c};
    if (kind_ == PassKind::kDecode) forward.Reads(map_.kv_cache[c], cache);
    forward.Writes(map_.kv_cache[c], cache);
  }
  if (!map_.router_sums.empty() && chunk(c).routers.size() > 0) {
    const BufferId sums = map_.router_sums[flight(mb)];
    const IndexRange routers = chunk(c).routers;
    if (routers.begin > 0) forward.Reads(sums, {ContentKind::kRouterSums, 0, mb, routers.begin});
    forward.Writes(sums, {ContentKind::kRouterSums, 0, mb, routers.end});
  }
  PassThroughWorkspace(forward, c, {ContentKind::kStageArrays, group, mb}, shard);
  forward.operation.flops = forward_flops_[c];
  Append(forward);
}

void PassEmitter::Recompute(int32_t c, int32_t mb, BufferId weights, Keep keep) {
  const int32_t group = chunk(c).group;
  const int32_t shard = chunk(c).shard;
  Draft recompute = Begin(OperationKind::kRecompute, Lane::kCompute, c, mb);
  ReadWeights(recompute, c, weights);
  recompute.Reads(RecomputeInput(group, mb), Hidden(group, mb));
  recompute.Reads(TokensBuffer(mb), {ContentKind::kTokens, 0, mb});
  ReadRotaryTable(recompute, c);
  const bool passes_on =
      rules_.recomputes_layer_by_layer ? keep == Keep::kNothing : chunks_.RecomputePassesOn(c);
  const bool has_output = passes_on && IsLastShard(c);
  if (has_output) {
    recompute.Writes(RecomputeOutput(group, mb), Hidden(group + 1, mb));
  }
  if (keep == Keep::kActivations) {
    AddPart(recompute, ActivationsBuffer(group, mb), {ContentKind::kActivations, group, mb}, shard);
  }
  PassThroughWorkspace(recompute, c, {ContentKind::kStageArrays, group, mb}, shard);
  const bool kept_alone = rules_.recomputes_kept_alone && !passes_on;
  recompute.operation.flops = kept_alone ? recompute_flops_[c] : forward_flops_[c];
  Append(recompute);
}

void PassEmitter::SaveAnchor(int32_t block, int32_t mb) {
  const int32_t group = chunks_.recompute_blocks[block].groups.begin;
  Draft save = Begin(OperationKind::kSaveAnchor, Lane::kD2h, -1, mb, block);
  save.Reads(HiddenBuffer(group, mb), Hidden(group, mb));
  save.Writes(map_.anchors[block * map_.in_flight + flight(mb)], Hidden(group, mb));
  save.operation.bytes = hidden_bytes_;
  Append(save);
}

void PassEmitter::LoadAnchor(int32_t block, int32_t mb) {
  const int32_t group = chunks_.recompute_blocks[block].groups.begin;
  anchor_stage_ = map_.anchor_stages[next_anchor_stage_++ % map_.anchor_stages.size()];
  Draft load = Begin(OperationKind::kLoadAnchor, Lane::kH2d, -1, mb, block);
  load.Reads(map_.anchors[block * map_.in_flight + flight(mb)], Hidden(group, mb));
  load.Writes(anchor_stage_, Hidden(group, mb));
  load.operation.bytes = hidden_bytes_;
  Append(load);
}

uint64_t PassEmitter::LossFlops(int32_t c, int32_t part, bool backward) const {
  const int64_t begin = part * plan_.loss_chunk_tokens;
  const TokenBatch tokens{.batch = 1,
                          .sequence = std::min(plan_.loss_chunk_tokens, batch_.tokens() - begin)};
  const UnitRange rows = chunks_.PiecesOf(chunk(c)).front().units;
  const Stage& head = chunks_.stages.back();
  return backward ? BackwardWork(spec_, head, rows, tokens).flops
                  : ForwardWork(spec_, head, rows, tokens).flops;
}

void PassEmitter::LogSumExp(int32_t c, int32_t mb, int32_t part, BufferId weights) {
  Draft op = Begin(OperationKind::kLogSumExp, Lane::kCompute, c, mb, part);
  ReadWeights(op, c, weights);
  op.Reads(HiddenBuffer(groups(), mb), Hidden(groups(), mb));
  op.Reads(TokensBuffer(mb), {ContentKind::kTokens, 0, mb});
  const int32_t done = chunk(c).shard * loss_parts_ + part;
  const BufferId sums = map_.log_sum_exp[flight(mb)];
  if (done > 0) op.Reads(sums, {ContentKind::kLogSumExp, 0, mb, done});
  op.Writes(sums, {ContentKind::kLogSumExp, 0, mb, done + 1});
  op.Writes(map_.logits, {ContentKind::kScratch});
  op.operation.flops = LossFlops(c, part, false);
  Append(op);
}

void PassEmitter::Loss(int32_t c, int32_t mb, int32_t part, BufferId weights) {
  Draft op = Begin(OperationKind::kLoss, Lane::kCompute, c, mb, part);
  ReadWeights(op, c, weights);
  op.Reads(HiddenBuffer(groups(), mb), Hidden(groups(), mb));
  op.Reads(TokensBuffer(mb), {ContentKind::kTokens, 0, mb});
  if (chunks_.head.size() > 1) {
    op.Reads(map_.log_sum_exp[flight(mb)],
             {ContentKind::kLogSumExp, 0, mb, loss_parts_ * chunks_.head.size()});
  }
  const int32_t done = chunk(c).shard * loss_parts_ + part;
  AddPart(op, map_.losses[flight(mb)], {ContentKind::kLoss, 0, mb}, done);
  if (chunks_.NeedsHiddenGradient(groups())) {
    AddPart(op, HiddenGradientBuffer(groups(), mb), {ContentKind::kHiddenGradient, groups(), mb},
            done);
  }
  if (!chunk(c).frozen()) {
    AddPart(op, map_.head_gradient, {ContentKind::kHeadGradient, c, mb}, part);
  }
  if (!map_.head_input_sums.empty()) {
    AddPart(op, map_.head_input_sums[flight(mb)], {ContentKind::kHeadInputSum, 0, mb}, done);
  }
  op.Writes(map_.logits, {ContentKind::kScratch});
  op.operation.flops = LossFlops(c, part, false) + LossFlops(c, part, true);
  Append(op);
}

void PassEmitter::HeadGradient(int32_t c, int32_t mb) {
  Draft op = Begin(OperationKind::kHeadGradient, Lane::kCompute, c, mb);
  op.Reads(map_.head_gradient, {ContentKind::kHeadGradient, c, mb, loss_parts_});
  WriteGradient(op, c, mb);
  Append(op);
}

void PassEmitter::Backward(int32_t c, int32_t mb, BufferId weights) {
  const int32_t group = chunk(c).group;
  Draft op = Begin(OperationKind::kBackward, Lane::kCompute, c, mb);
  ReadWeights(op, c, weights);
  op.Reads(ActivationsBuffer(group, mb), {ContentKind::kActivations, group, mb, chunk(c).shards});
  op.Reads(TokensBuffer(mb), {ContentKind::kTokens, 0, mb});
  ReadRotaryTable(op, c);
  op.Reads(HiddenGradientBuffer(group + 1, mb), HiddenGradient(group + 1, mb));
  if (chunk(c).shard == 0 && chunks_.NeedsHiddenGradient(group)) {
    op.Writes(HiddenGradientBuffer(group, mb), HiddenGradient(group, mb));
  }
  // Between its stages the gradient of the hidden state goes where it came from, for want of a
  // buffer that it would leave in.
  if (!chunks_.NeedsHiddenGradient(group) && chunk(c).pieces.size() > 1) {
    op.Writes(HiddenGradientBuffer(group + 1, mb), {ContentKind::kScratch});
  }
  if (!chunk(c).frozen()) WriteGradient(op, c, mb);
  // The auxiliary loss of a router depends on what all of them chose.
  if (job_.router_aux_loss > 0 && chunk(c).routers.size() > 0) {
    op.Reads(map_.router_sums[flight(mb)], {ContentKind::kRouterSums, 0, mb, chunks_.routers});
  }
  PassThroughWorkspace(op, c, {ContentKind::kStageGradients, group, mb},
                       chunk(c).shards - 1 - chunk(c).shard);
  op.operation.flops = backward_flops_[c];
  Append(op);
}

void PassEmitter::EmbedBackward(int32_t c, int32_t mb) {
  Draft op = Begin(OperationKind::kEmbedBackward, Lane::kCompute, c, mb);
  op.Reads(TokensBuffer(mb), {ContentKind::kTokens, 0, mb});
  op.Reads(HiddenGradientBuffer(0, mb), HiddenGradient(0, mb));
  WriteGradient(op, c, mb);
  Append(op);
}

void PassEmitter::Logits(int32_t c, BufferId weights) {
  Draft op = Begin(OperationKind::kLogits, Lane::kCompute, c, 0);
  ReadWeights(op, c, weights);
  op.Reads(HiddenBuffer(groups(), 0), Hidden(groups(), 0));
  op.Reads(TokensBuffer(0), {ContentKind::kTokens, 0, 0});
  AddPart(op, map_.logits, {ContentKind::kLogits}, chunk(c).shard);
  op.Writes(map_.workspace, {ContentKind::kScratch});
  const UnitRange rows = chunks_.PiecesOf(chunk(c)).front().units;
  op.operation.flops =
      ForwardWork(spec_, chunks_.stages.back(), rows, {.batch = job_.micro_batch, .sequence = 1})
          .flops;
  Append(op);
}

void PassEmitter::OffloadLoss(int32_t mb) {
  Draft op = Begin(OperationKind::kOffloadLoss, Lane::kD2h, -1, mb);
  const int32_t parts = loss_parts_ * chunks_.head.size();
  const BufferId target = map_.loss_pinned[mb];
  if (kind_ == PassKind::kTrain) {
    const Content loss{ContentKind::kLoss, 0, mb, parts};
    op.Reads(map_.losses[flight(mb)], loss).Writes(target, loss).operation.bytes = kLossBytes;
  } else {
    const Content sums{ContentKind::kLogSumExp, 0, mb, parts};
    op.Reads(map_.log_sum_exp[0], sums).Writes(target, sums);
    op.operation.bytes = static_cast<uint64_t>(batch_.tokens()) * kTokenSumBytes;
  }
  Append(op);
  if (kind_ != PassKind::kTrain) Report(target, {ContentKind::kLogSumExp, 0, mb, parts}, mb);
  if (map_.router_sums.empty()) return;
  const Content sums{ContentKind::kRouterSums, 0, mb, chunks_.routers};
  Draft routing = Begin(OperationKind::kOffloadRouting, Lane::kD2h, -1, mb);
  routing.Reads(map_.router_sums[flight(mb)], sums).Writes(map_.router_sums_pinned[mb], sums);
  routing.operation.bytes = RouterSumsBytes(chunks_);
  Append(routing);
}

// As they lie in memory.
Bytes PassEmitter::LogitBytes() const {
  return 4_B * static_cast<uint64_t>(job_.micro_batch * LogitStride(job_.device, spec_.vocab));
}

// The buffer is read before the next step writes it.
void PassEmitter::Report(BufferId buffer, Content content, int32_t mb) {
  Draft op = Begin(OperationKind::kReport, Lane::kHost, -1, mb);
  op.Reads(buffer, content);
  op.operation.bytes = content.kind == ContentKind::kLogits
                           ? LogitBytes()
                           : static_cast<uint64_t>(batch_.tokens()) * kTokenSumBytes;
  Append(op);
}

void PassEmitter::OffloadLogits() {
  const Content logits{ContentKind::kLogits, 0, 0, chunks_.head.size()};
  Draft op = Begin(OperationKind::kOffloadLogits, Lane::kD2h, -1, 0);
  op.Reads(map_.logits, logits).Writes(map_.logits_pinned, logits);
  op.operation.bytes = LogitBytes();
  Append(op);
  Report(map_.logits_pinned, logits, 0);
}

}  // namespace horizon
