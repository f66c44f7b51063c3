#include "schedule/verify/operation_rules.h"

#include "common/text/str_cat.h"

namespace horizon {

OperationRules::OperationRules(const Schedule& schedule, const Phase& phase)
    : OperationView(schedule, phase),
      table_(schedule.chunks),
      each_(BytesOfParameter(schedule.job)) {
  for (const Chunk& chunk : table_.chunks) {
    Attention& found = attention_.emplace_back();
    for (const ChunkPiece& piece : table_.PiecesOf(chunk)) {
      const Stage& stage = table_.stages[piece.stage];
      if (stage.kind == StageKind::kExperts && piece.units.begin == 0) ++routers_;
      if (stage.kind != StageKind::kAttention) continue;
      found.any = true;
      found.last |= piece.units.end == stage.units;
    }
    routers_up_to_.push_back(routers_);
  }
  // Every stage before `stage` has been scanned; `trains`: one of them has a trained tensor.
  int32_t stage = 0;
  bool trains = false;
  const auto scan_up_to = [&](int32_t end) {
    for (; stage < end; ++stage) {
      for (const TensorSpec& tensor : table_.stages[stage].tensors) trains |= tensor.trained;
    }
    trains_before_.push_back(trains ? 1 : 0);
  };
  for (const IndexRange& group : table_.groups) {
    scan_up_to(table_.PiecesOf(table_.chunks[group.begin]).front().stage);
  }
  scan_up_to(static_cast<int32_t>(table_.stages.size()) - 1);
}

bool OperationRules::TrainsIn(int32_t group) const {
  for (int32_t c = table_.groups[group].begin; c < table_.groups[group].end; ++c) {
    if (table_.chunks[c].trained > 0) return true;
  }
  return false;
}

void OperationRules::CheckFrozen() {
  for (const Access& access : accesses_) {
    const Buffer& buffer = schedule_.memory.buffers[access.buffer];
    const bool is_weights =
        buffer.kind == BufferKind::kWeightsHi || buffer.kind == BufferKind::kWeightsLo;
    if (access.mode != AccessMode::kWrite || !is_weights) continue;
    if (table_.chunks[buffer.index].trained == 0) {
      Problem(StrCat("writes ", schedule_.NameOf(buffer), ", which is frozen"));
    }
  }
}

absl::Status OperationRules::Check(const Operation& op) {
  SetOperation(op);
  if (op.chunk < -1 || op.chunk >= static_cast<int32_t>(table_.chunks.size())) {
    return absl::InternalError(
        StrCat("an operation is about chunk ", op.chunk, ", which does not exist"));
  }
  CheckLane();
  CheckKind();
  CheckFrozen();
  if (op.lane == Lane::kH2d || op.lane == Lane::kD2h) CheckCopy();
  // Kernels of the compute lane may need memory beside their arguments.
  if (op.lane == Lane::kCompute) {
    Writes({ContentKind::kTileScratch, -1, -1, -1}, {BufferKind::kTileScratch});
  }
  return Verdict();
}

void OperationRules::CheckLane() {
  Lane expected = Lane::kCompute;
  switch (op_->kind) {
    case OperationKind::kLoadTokens:
    case OperationKind::kLoadRows:
    case OperationKind::kLoadChunk:
    case OperationKind::kLoadAnchor:
      expected = Lane::kH2d;
      break;
    case OperationKind::kSaveAnchor:
    case OperationKind::kOffloadGradient:
    case OperationKind::kOffloadRows:
    case OperationKind::kOffloadNorms:
    case OperationKind::kOffloadFaults:
    case OperationKind::kOffloadLoss:
    case OperationKind::kOffloadRouting:
    case OperationKind::kOffloadLogits:
      expected = Lane::kD2h;
      break;
    case OperationKind::kNextBatch:
    case OperationKind::kGather:
    case OperationKind::kPack:
    case OperationKind::kScatter:
    case OperationKind::kCheckUpdate:
    case OperationKind::kReport:
      expected = Lane::kHost;
      break;
    case OperationKind::kClipFactor:
      expected = reference() ? Lane::kOptimizer : Lane::kHost;
      break;
    case OperationKind::kAccumulate:
    case OperationKind::kTiedSum:
    case OperationKind::kNorm:
    case OperationKind::kClipGradient:
      expected = resident() ? Lane::kCompute : reference() ? Lane::kOptimizer : Lane::kHost;
      break;
    case OperationKind::kAdam:
      expected = resident() ? Lane::kCompute : Lane::kOptimizer;
      break;
    default:
      break;
  }
  if (op_->lane != expected) {
    Problem(StrCat("is on the ", ToString(op_->lane), " lane, not ", ToString(expected)));
  }
}

void OperationRules::CheckCopy() {
  for (const Access& access : accesses_) {
    const Buffer& buffer = schedule_.memory.buffers[access.buffer];
    const bool device_side = (op_->lane == Lane::kH2d) == (access.mode == AccessMode::kWrite);
    const bool pageable = reference() && (buffer.kind == BufferKind::kWeightsHi ||
                                          buffer.kind == BufferKind::kWeightsLo);
    if (device_side ? buffer.memory != Memory::kDevice
                    : buffer.memory != Memory::kPinned && !pageable) {
      Problem(StrCat("cannot reach ", schedule_.NameOf(buffer), " over the link"));
    }
    // Weights are read as two halves and written in the device's type: checked with the chunk.
    if (access.content.kind != ContentKind::kWeights &&
        access.content.kind != ContentKind::kLowHalf) {
      Fits(&access, op_->bytes);
    }
  }
}

void OperationRules::CheckKind() {
  switch (op_->kind) {
    case OperationKind::kNextBatch:
    case OperationKind::kLoadTokens:
      Writes({ContentKind::kTokens, -1, op_->micro_batch, -1});
      break;
    case OperationKind::kGather:
    case OperationKind::kLoadRows:
    case OperationKind::kEmbed:
      CheckEmbedding();
      break;
    case OperationKind::kPack:
    case OperationKind::kLoadChunk:
      CheckLoad();
      break;
    case OperationKind::kForward:
    case OperationKind::kRecompute:
      CheckForward();
      break;
    case OperationKind::kSaveAnchor:
    case OperationKind::kLoadAnchor:
      CheckAnchor();
      break;
    case OperationKind::kLogSumExp:
    case OperationKind::kLoss:
    case OperationKind::kHeadGradient:
      CheckHead();
      break;
    case OperationKind::kBackward:
    case OperationKind::kEmbedBackward:
      CheckBackward();
      break;
    case OperationKind::kOffloadGradient:
    case OperationKind::kOffloadRows:
      CheckOffload();
      break;
    case OperationKind::kAccumulate:
    case OperationKind::kScatter:
    case OperationKind::kTiedSum:
      CheckContribution();
      break;
    case OperationKind::kNorm:
    case OperationKind::kOffloadNorms:
    case OperationKind::kClipFactor:
    case OperationKind::kClipGradient:
      CheckNorm();
      break;
    case OperationKind::kAdam:
      CheckAdam();
      break;
    case OperationKind::kOffloadFaults:
    case OperationKind::kCheckUpdate:
      CheckFaults();
      break;
    case OperationKind::kLogits:
      CheckLogits();
      break;
    case OperationKind::kOffloadRouting:
      CheckRouting();
      break;
    case OperationKind::kOffloadLoss:
    case OperationKind::kOffloadLogits:
    case OperationKind::kReport:
      break;
  }
}

}  // namespace horizon
