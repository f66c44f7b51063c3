// The verbs of PassEmitter that take gradients from the device to the update.
#include "schedule/build/pass_emitter.h"
#include "schedule/chunk_tensors.h"

namespace horizon {

// The first micro-batch takes the next gradient buffer; where micro-batches are summed on the
// device the later ones add to it.
void PassEmitter::WriteGradient(Draft& draft, int32_t c, int32_t mb) {
  if (summed_[c] == 0) {
    gradient_of_[c] = map_.gradients[next_gradient_++ % map_.gradients.size()];
  } else {
    draft.Reads(gradient_of_[c], {ContentKind::kGradient, c, mb - 1, summed_[c]});
  }
  ++summed_[c];
  draft.Writes(gradient_of_[c], {ContentKind::kGradient, c, mb, summed_[c]});
}

BufferId PassEmitter::NextSlab(int32_t c) {
  if (map_.table_slabs[c] >= 0) return map_.table_slabs[c];
  return map_.gradient_slabs[next_slab_++ % map_.gradient_slabs.size()];
}

void PassEmitter::SendGradient(int32_t c, int32_t mb, Use use) {
  const Bytes each = SummedOnDevice(job_, plan_) > 1 ? 4_B : each_.gradient;
  Arrived arrived{.buffer = gradient_of_[c],
                  .content = {ContentKind::kGradient, c, mb, summed_[c]},
                  .bytes = each * trained(c)};
  summed_[c] = 0;
  if (rules_.gradients_leave) {
    const BufferId slab = NextSlab(c);
    Draft offload = Begin(OperationKind::kOffloadGradient, Lane::kD2h, c, mb);
    offload.Reads(arrived.buffer, arrived.content).Writes(slab, arrived.content);
    offload.operation.bytes = arrived.bytes;
    Append(offload);
    arrived.buffer = slab;
  }
  if (map_.kept_gradient[c] >= 0) return Accumulate(c, mb, arrived, use);
  Norm(c, arrived);
  Update(c, arrived, 0);
}

void PassEmitter::Accumulate(int32_t c, int32_t mb, const Arrived& arrived, Use use) {
  Draft op = Begin(OperationKind::kAccumulate, rules_.gradient_lane, c, mb);
  op.Reads(arrived.buffer, arrived.content);
  op.operation.bytes = arrived.bytes;
  AddContribution(op, c, arrived.content.n, use);
  const int64_t accumulated = Append(op);
  const bool awaited = chunks_.layers.contains(c) ? rules_.compute_awaits_layer_gradients
                                                  : rules_.compute_awaits_table_gradients;
  if (awaited) before_compute_ = accumulated;
  AfterContribution(c);
}

// With several micro-batches the two uses of a tied table have a sum each, so that their order does
// not depend on the plan; with one they are added one after the other.
void PassEmitter::AddContribution(Draft& draft, int32_t c, int32_t count, Use use) {
  const bool apart = use == Use::kEmbedding && map_.embedding_gradient[c] >= 0;
  const BufferId target = apart ? map_.embedding_gradient[c] : map_.kept_gradient[c];
  const ContentKind kind = apart ? ContentKind::kEmbeddingGradient : ContentKind::kGradient;
  int32_t& sum = apart ? embedding_sum_[c] : kept_[c];
  const Bytes bytes = (apart ? 4_B : each_.kept_gradient) * trained(c);
  if (sum > 0) {
    draft.Reads(target, {kind, c, 0, sum});
    draft.operation.bytes += bytes;
  }
  sum += count;
  draft.Writes(target, {kind, c, 0, sum});
  draft.operation.bytes += bytes;
}

int32_t PassEmitter::FullContributions(int32_t c) const {
  const int32_t uses = chunks_.tied && chunks_.embedding.contains(c) ? 2 : 1;
  return uses * static_cast<int32_t>(job_.accumulation);
}

PassEmitter::Arrived PassEmitter::Kept(int32_t c) const {
  const Content sum{ContentKind::kGradient, c, 0, FullContributions(c)};
  return {.buffer = map_.kept_gradient[c],
          .content = clipped_ ? Content{ContentKind::kClippedGradient, c} : sum,
          .bytes = each_.kept_gradient * trained(c)};
}

void PassEmitter::AfterContribution(int32_t c) {
  if (kept_[c] < FullContributions(c)) return;
  Norm(c, Kept(c));
  if (in_backward()) Update(c, Kept(c), 0);
}

void PassEmitter::SendRows(int32_t mb) {
  const Content rows{ContentKind::kRowGradients, 0, mb};
  const BufferId pinned = map_.row_gradients[mb % map_.row_gradients.size()];
  Draft offload = Begin(OperationKind::kOffloadRows, Lane::kD2h, -1, mb);
  offload.Reads(HiddenGradientBuffer(0, mb), HiddenGradient(0, mb)).Writes(pinned, rows);
  offload.operation.bytes = hidden_bytes_;
  Append(offload);
  for (int32_t c = chunks_.embedding.begin; c < chunks_.embedding.end; ++c) {
    Draft scatter = Begin(OperationKind::kScatter, Lane::kHost, c, mb);
    scatter.Reads(pinned, rows);
    scatter.Reads(map_.tokens_pinned[mb % map_.tokens_pinned.size()],
                  {ContentKind::kTokens, 0, mb});
    // Rows are read and added where they belong; the first contribution also clears the table.
    const bool clears =
        kept_[c] == 0 || (map_.embedding_gradient[c] >= 0 && embedding_sum_[c] == 0);
    AddContribution(scatter, c, 1, Use::kEmbedding);
    scatter.operation.bytes = 2 * hidden_bytes_ + (clears ? each_.kept_gradient * trained(c) : 0_B);
    Append(scatter);
    AfterContribution(c);
  }
}

void PassEmitter::SumTiedTable() {
  for (int32_t c = chunks_.embedding.begin; c < chunks_.embedding.end; ++c) {
    if (map_.embedding_gradient[c] < 0) continue;
    Draft sum = Begin(OperationKind::kTiedSum, rules_.gradient_lane, c, -1);
    sum.Reads(map_.embedding_gradient[c],
              {ContentKind::kEmbeddingGradient, c, 0, embedding_sum_[c]});
    sum.operation.bytes = 4_B * trained(c);
    AddContribution(sum, c, embedding_sum_[c], Use::kModel);
    Append(sum);
    AfterContribution(c);
  }
}

void PassEmitter::Norm(int32_t c, const Arrived& gradient) {
  Draft norm = Begin(OperationKind::kNorm, rules_.gradient_lane, c, -1);
  norm.Reads(gradient.buffer, gradient.content);
  norm.Writes(map_.norm_partials[c], {ContentKind::kNormPartials, c});
  norm.operation.bytes = gradient.bytes;
  Append(norm);
  if (map_.norm_partials_on_host[c] == map_.norm_partials[c]) return;
  const Content partials{ContentKind::kNormPartials, c};
  Draft offload = Begin(OperationKind::kOffloadNorms, Lane::kD2h, c, -1);
  offload.Reads(map_.norm_partials[c], partials).Writes(map_.norm_partials_on_host[c], partials);
  offload.operation.bytes = 8_B * chunk(c).norm_blocks;
  Append(offload);
}

void PassEmitter::ClipFactor() {
  Draft factor = Begin(OperationKind::kClipFactor, rules_.clip_lane, -1, -1);
  for (size_t c = 0; c < chunks_.chunks.size(); ++c) {
    if (chunks_.chunks[c].frozen()) continue;
    factor.Reads(map_.norm_partials_on_host[c],
                 {ContentKind::kNormPartials, static_cast<int32_t>(c)});
    factor.operation.bytes += 8_B * chunks_.chunks[c].norm_blocks;
  }
  // A loss that is not finite must stop the update too.
  for (int32_t mb = 0; mb < static_cast<int32_t>(job_.accumulation); ++mb) {
    factor.Reads(map_.loss_pinned[mb],
                 {ContentKind::kLoss, 0, mb, loss_parts_ * chunks_.head.size()});
    factor.operation.bytes += kLossBytes;
    if (map_.router_sums_pinned.empty()) continue;
    factor.Reads(map_.router_sums_pinned[mb], {ContentKind::kRouterSums, 0, mb, chunks_.routers});
    factor.operation.bytes += RouterSumsBytes(chunks_);
  }
  factor.Writes(map_.clip_factor, {ContentKind::kClipFactor});
  Append(factor);
}

void PassEmitter::ClipGradients() {
  for (int32_t c = 0; c < static_cast<int32_t>(chunks_.chunks.size()); ++c) {
    if (chunk(c).frozen()) continue;
    const Arrived kept = Kept(c);
    Draft clip = Begin(OperationKind::kClipGradient, rules_.gradient_lane, c, -1);
    clip.Reads(map_.clip_factor, {ContentKind::kClipFactor}).Reads(kept.buffer, kept.content);
    clip.Writes(kept.buffer, {ContentKind::kClippedGradient, c});
    clip.operation.bytes = 2 * kept.bytes;
    Append(clip);
  }
  clipped_ = true;
}

void PassEmitter::UpdateAll(uint8_t age) {
  for (int32_t c = 0; c < static_cast<int32_t>(chunks_.chunks.size()); ++c) {
    if (!chunk(c).frozen()) Update(c, Kept(c), age);
  }
}

void PassEmitter::Update(int32_t c, const Arrived& gradient, uint8_t age) {
  Draft adam = Begin(OperationKind::kAdam, rules_.optimizer_lane, c, -1);
  adam.Reads(gradient.buffer, gradient.content, age);
  // The factor is also the sign that every gradient was finite, so it is read even without clip.
  if (!in_backward()) adam.Reads(map_.clip_factor, {ContentKind::kClipFactor}, age);
  const auto update = [&](BufferId buffer, ContentKind kind) {
    if (buffer < 0) return;
    adam.Reads(buffer, {kind, c}, 1).Writes(buffer, {kind, c});
  };
  update(map_.weights_hi[c], ContentKind::kWeights);
  update(map_.weights_lo[c], ContentKind::kLowHalf);
  update(map_.moments[c], ContentKind::kMoments);
  if (rules_.all_on_device) update(map_.resident_weights[c], ContentKind::kWeights);
  const Bytes state = (2_B + each_.low_half) * trained(c) +
                      MomentBytes(job_.state_format, trained(c), chunk(c).moment_blocks);
  adam.operation.bytes = gradient.bytes + 2 * state;
  if (const BufferId copy = map_.framework_copy[c]; copy >= 0) {
    adam.Writes(copy, {ContentKind::kWeights, c});
    adam.operation.bytes += rules_.framework_bytes * trained(c);
  }
  const Content faults{ContentKind::kUpdateFaults, c};
  const bool late = rules_.update_faults_come_late;
  if (late) adam.Writes(map_.update_faults[c], faults);
  last_update_ = Append(adam);
  if (!late) return;
  const Bytes bytes = 8_B * TrainedSlicesOf(chunks_, c);
  Draft offload = Begin(OperationKind::kOffloadFaults, Lane::kD2h, c, -1);
  offload.Reads(map_.update_faults[c], faults).Writes(map_.update_faults_pinned[c], faults);
  offload.operation.bytes = bytes;
  Append(offload);
  Draft check = Begin(OperationKind::kCheckUpdate, Lane::kHost, c, -1);
  check.Reads(map_.update_faults_pinned[c], faults).operation.bytes = bytes;
  Append(check);
}

}  // namespace horizon
