// What each kind of operation has to touch, and how many bytes it moves: the model's own rules,
// written down a second time, apart from the builder.
#include <algorithm>
#include <string>
#include <vector>

#include "common/status_macros.h"
#include "common/str_cat.h"
#include "schedule/chunk_tensors.h"
#include "schedule/offload_baselines.h"
#include "schedule/operation_view.h"
#include "schedule/verify_schedule.h"

namespace horizon {
namespace {

class Meaning : private OperationView {
 public:
  Meaning(const Schedule& schedule, const Phase& phase)
      : OperationView(schedule, phase),
        table_(schedule.chunks),
        each_(BytesOfParameter(schedule.job)) {
    for (const Chunk& chunk : table_.chunks) {
      Attention& found = attention_.emplace_back();
      for (const ChunkPiece& piece : table_.PiecesOf(chunk)) {
        const Stage& stage = table_.stages[piece.stage];
        if (stage.kind != StageKind::kAttention) continue;
        found.any = true;
        found.last |= piece.units.end == stage.units;
      }
    }
  }

  absl::Status Check(const Operation& op) {
    LookAt(op);
    if (op.chunk < -1 || op.chunk >= static_cast<int32_t>(table_.chunks.size())) {
      return absl::InternalError(
          StrCat("an operation is about chunk ", op.chunk, ", which does not exist"));
    }
    CheckLane();
    CheckKind();
    if (op.lane == Lane::kH2d || op.lane == Lane::kD2h) CheckCopy();
    // Kernels of the compute lane may need memory beside their arguments.
    if (op.lane == Lane::kCompute) {
      Writes({ContentKind::kTileScratch, -1, -1, -1}, {BufferKind::kTileScratch});
    }
    return Verdict();
  }

 private:
  bool resident() const { return schedule_.plan.strategy == Strategy::kResident; }
  bool reference() const { return schedule_.plan.strategy == Strategy::kReference; }
  bool tied_table() const { return table_.tied && table_.embedding.contains(op_->chunk); }
  const Chunk& chunk() const { return table_.chunks[op_->chunk]; }
  int32_t links() const { return static_cast<int32_t>(table_.links.size()); }
  int32_t accumulation() const { return static_cast<int32_t>(schedule_.job.accumulation); }

  void CheckLane() {
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

  // A copy over the link goes from pinned memory to the device or back, and fits where it lands.
  void CheckCopy() {
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

  void CheckKind() {
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
      case OperationKind::kOffloadLoss:
      case OperationKind::kOffloadLogits:
      case OperationKind::kReport:
        break;
    }
  }

  Content Hidden(int32_t link, int32_t parts) const {
    return {ContentKind::kHidden, link, op_->micro_batch, parts};
  }
  Content HiddenGradient(int32_t link, int32_t parts) const {
    return {ContentKind::kHiddenGradient, link, op_->micro_batch, parts};
  }
  // Shards of the embedding that add up to the hidden state entering `link`.
  int32_t PartsBefore(int32_t link) const {
    if (link > 0) return 1;
    return schedule_.plan.embedding_home == EmbeddingHome::kHost ? 1 : table_.embedding.size();
  }
  int32_t LossParts() const {
    const int64_t tokens = schedule_.job.micro_batch_tokens();
    const int64_t size = std::min(tokens, schedule_.plan.loss_chunk_tokens);
    return static_cast<int32_t>((tokens - 1) / size + 1);
  }
  void ReadsOwnWeights() {
    Fits(Reads({ContentKind::kWeights, op_->chunk, -1, -1},
               {BufferKind::kRingSlot, BufferKind::kResidentWeights, BufferKind::kWeightsHi}),
         each_.slot * chunk().parameters);
  }

  void CheckEmbedding() {
    if (op_->kind == OperationKind::kGather) {
      for (int32_t c = table_.embedding.begin; c < table_.embedding.end; ++c) {
        Reads({ContentKind::kWeights, c, -1, -1}, {BufferKind::kWeightsHi});
      }
      Reads({ContentKind::kTokens, -1, op_->micro_batch, -1});
      Writes({ContentKind::kRows, -1, op_->micro_batch, -1});
    } else if (op_->kind == OperationKind::kLoadRows) {
      Reads({ContentKind::kRows, -1, op_->micro_batch, -1});
      Writes(Hidden(0, 1));
    } else {
      ReadsOwnWeights();
      Reads({ContentKind::kTokens, -1, op_->micro_batch, -1});
      Writes(Hidden(0, chunk().shard + 1));
    }
  }

  void CheckLoad() {
    const uint64_t bytes = each_.link * chunk().parameters;
    const bool packs = op_->kind == OperationKind::kPack;
    const Access* packed = Find(AccessMode::kRead, {ContentKind::kWeights, op_->chunk, -1, -1},
                                {BufferKind::kPackSlab});
    if (packed == nullptr) {
      Reads({ContentKind::kWeights, op_->chunk, -1, -1}, {BufferKind::kWeightsHi});
      if (schedule_.job.compute_type == NumberType::kFp32) {
        Reads({ContentKind::kLowHalf, op_->chunk, -1, -1}, {BufferKind::kWeightsLo});
      }
    }
    if (const uint64_t copy = FrameworkBytes(schedule_.plan.strategy); copy > 0) {
      Fits(Reads({ContentKind::kWeights, op_->chunk, -1, -1}, {BufferKind::kFrameworkCopy}),
           copy * chunk().parameters);
    }
    if (packs) {
      Fits(Writes({ContentKind::kWeights, op_->chunk, -1, -1}, {BufferKind::kPackSlab}), bytes);
      return Moves(2 * bytes);
    }
    Fits(Writes({ContentKind::kWeights, op_->chunk, -1, -1},
                {BufferKind::kRingSlot, BufferKind::kResidentWeights}),
         each_.slot * chunk().parameters);
    Moves(bytes);
  }

  StageKind FirstStage() const {
    return table_.stages[table_.PiecesOf(chunk()).front().stage].kind;
  }
  void CheckCache() {
    const bool decodes = schedule_.kind == PassKind::kDecode;
    if (!decodes && schedule_.kind != PassKind::kPrefill) return;
    if (!attention_[op_->chunk].last) return;
    const Content cache{ContentKind::kKvCache, op_->chunk, -1, -1};
    if (decodes) Reads(cache, {BufferKind::kKvCache});
    Writes(cache, {BufferKind::kKvCache});
  }

  // What all passes over the layers need beside weights and hidden states. Shards of a stage hand
  // on what they made, those before having done `done` of it.
  void CheckLayerMemory(ContentKind handed_on, int32_t done) {
    Reads({ContentKind::kTokens, -1, op_->micro_batch, -1});
    if (attention_[op_->chunk].any) {
      Reads({ContentKind::kRotaryTable, -1, -1, -1}, {BufferKind::kRotaryTable});
    }
    if (chunk().shards == 1) {
      Writes({ContentKind::kScratch, -1, -1, -1}, {BufferKind::kWorkspace});
    } else {
      Continues({handed_on, chunk().link, op_->micro_batch, -1}, done, {BufferKind::kWorkspace});
    }
  }
  // Adds to what `done` operations before it began.
  void Continues(Content content, int32_t done, Places places) {
    content.n = done;
    if (done > 0) Reads(content, places);
    content.n = done + 1;
    Writes(content, places);
  }

  void CheckForward() {
    const int32_t link = chunk().link;
    const int32_t shard = chunk().shard;
    ReadsOwnWeights();
    Reads(Hidden(link, PartsBefore(link)));
    CheckLayerMemory(ContentKind::kStageArrays, shard);
    CheckCache();
    const bool forward = op_->kind == OperationKind::kForward;
    const Content activations{ContentKind::kActivations, link, op_->micro_batch, -1};
    const bool keeps = Find(AccessMode::kWrite, activations) != nullptr;
    if (keeps) Continues(activations, shard, {BufferKind::kActivations});
    if (shard + 1 == chunk().shards && (forward || !keeps)) Writes(Hidden(link + 1, 1));
    // A norm has none, and few tokens may leave a shard of experts without work.
    if (op_->flops == 0 &&
        (FirstStage() == StageKind::kAttention || FirstStage() == StageKind::kFeedForward)) {
      Problem("has no flops");
    }
  }

  void CheckAnchor() {
    const bool exists = op_->part >= 0 && op_->part < static_cast<int32_t>(table_.blocks.size());
    if (!exists) return Problem("is about a block that does not exist");
    const int32_t link = table_.blocks[op_->part].links.begin;
    Reads(Hidden(link, PartsBefore(link)));
    Writes(Hidden(link, PartsBefore(link)));
  }

  // Of the last token of each row, which the tokens tell.
  void CheckLogits() {
    if (!table_.head.contains(op_->chunk)) return Problem("is not about a chunk of the head");
    ReadsOwnWeights();
    Reads(Hidden(links(), PartsBefore(links())));
    Reads({ContentKind::kTokens, -1, op_->micro_batch, -1});
    Writes({ContentKind::kLogits, -1, -1, chunk().shard + 1});
    Writes({ContentKind::kScratch, -1, -1, -1}, {BufferKind::kWorkspace});
  }

  void CheckHead() {
    const int32_t parts = LossParts();
    if (!table_.head.contains(op_->chunk)) return Problem("is not about a chunk of the head");
    if (op_->kind == OperationKind::kHeadGradient) {
      Reads({ContentKind::kHeadGradient, op_->chunk, op_->micro_batch, parts});
      return CheckGradientWritten();
    }
    ReadsOwnWeights();
    Reads(Hidden(links(), PartsBefore(links())));
    Reads({ContentKind::kTokens, -1, op_->micro_batch, -1});
    Writes({ContentKind::kScratch, -1, -1, -1}, {BufferKind::kLogits});
    const int32_t done = chunk().shard * parts + op_->part;
    if (op_->kind == OperationKind::kLogSumExp) {
      Writes({ContentKind::kLogSumExp, -1, op_->micro_batch, done + 1});
      return;
    }
    if (table_.head.size() > 1) {
      Reads({ContentKind::kLogSumExp, -1, op_->micro_batch, parts * table_.head.size()});
    }
    Writes(HiddenGradient(links(), done + 1));
    Writes({ContentKind::kHeadGradient, op_->chunk, op_->micro_batch, op_->part + 1});
    Writes({ContentKind::kLoss, -1, op_->micro_batch, done + 1});
    // A gradient of bf16 is summed over the shards in fp32.
    if (table_.head.size() > 1 && ActivationBytes(schedule_.job) < 4) {
      Continues({ContentKind::kHeadInputSum, -1, op_->micro_batch, -1}, done,
                {BufferKind::kHeadInputSum});
    }
  }

  bool SumsOnDevice() const {
    return schedule_.plan.accumulation_order == AccumulationOrder::kChunkMajor &&
           accumulation() > 1;
  }
  uint64_t LeavingBytes() const {
    return (SumsOnDevice() ? 4 : each_.gradient) * chunk().parameters;
  }
  void CheckGradientWritten() {
    const int32_t summed = SumsOnDevice() ? op_->micro_batch + 1 : 1;
    const Content gradient{ContentKind::kGradient, op_->chunk, op_->micro_batch, summed};
    Fits(Writes(gradient, {BufferKind::kGradient}), LeavingBytes());
    if (summed > 1) Reads({ContentKind::kGradient, op_->chunk, op_->micro_batch - 1, summed - 1});
  }

  void CheckBackward() {
    if (op_->kind == OperationKind::kEmbedBackward) {
      Reads(HiddenGradient(0, 1));
      Reads({ContentKind::kTokens, -1, op_->micro_batch, -1});
      return CheckGradientWritten();
    }
    const int32_t link = chunk().link;
    const int32_t shards = chunk().shards;
    ReadsOwnWeights();
    Reads({ContentKind::kActivations, link, op_->micro_batch, shards}, {BufferKind::kActivations});
    const int32_t parts = link + 1 < links() ? 1 : LossParts() * table_.head.size();
    Reads(HiddenGradient(link + 1, parts));
    CheckLayerMemory(ContentKind::kStageGradients, shards - 1 - chunk().shard);
    if (chunk().shard == 0) Writes(HiddenGradient(link, 1));
    CheckGradientWritten();
  }

  void CheckOffload() {
    if (op_->kind == OperationKind::kOffloadRows) {
      Reads(HiddenGradient(0, 1));
      Writes({ContentKind::kRowGradients, -1, op_->micro_batch, -1});
      return;
    }
    const Content gradient{ContentKind::kGradient, op_->chunk, op_->micro_batch,
                           SumsOnDevice() ? accumulation() : 1};
    Reads(gradient, {BufferKind::kGradient});
    Writes(gradient, {Slab()});
    Moves(LeavingBytes());
  }

  // Which slabs the gradient leaves through: only `horizon` moves its tables like layers.
  BufferKind Slab() const {
    const bool table = schedule_.plan.strategy != Strategy::kHorizon && chunk().link < 0;
    return table ? BufferKind::kTableSlab : BufferKind::kGradientSlab;
  }

  // A contribution is added to the sum so far, and the sum grows by what came.
  void CheckContribution() {
    int32_t came = 1;
    if (op_->kind == OperationKind::kAccumulate) {
      const Access* arrived = Reads({ContentKind::kGradient, op_->chunk, op_->micro_batch, -1},
                                    {resident() ? BufferKind::kGradient : Slab()});
      if (arrived != nullptr) came = arrived->content.n;
    } else if (op_->kind == OperationKind::kScatter) {
      Reads({ContentKind::kRowGradients, -1, op_->micro_batch, -1});
      Reads({ContentKind::kTokens, -1, op_->micro_batch, -1});
    } else {
      came = accumulation();
      Reads({ContentKind::kEmbeddingGradient, op_->chunk, -1, came});
    }
    const bool apart =
        Find(AccessMode::kWrite, {ContentKind::kEmbeddingGradient, op_->chunk, -1, -1}) != nullptr;
    const ContentKind kind = apart ? ContentKind::kEmbeddingGradient : ContentKind::kGradient;
    const BufferKind place = apart ? BufferKind::kEmbeddingGradient : BufferKind::kKeptGradient;
    const Access* sum = Writes({kind, op_->chunk, -1, -1}, {place});
    Fits(sum, (apart ? 4 : each_.kept_gradient) * chunk().parameters);
    if (sum != nullptr && sum->content.n > came) {
      Reads({kind, op_->chunk, -1, sum->content.n - came}, {place});
    }
  }

  int32_t FullContributions() const { return accumulation() * (tied_table() ? 2 : 1); }

  void CheckNorm() {
    if (op_->kind == OperationKind::kClipFactor) {
      for (size_t c = 0; c < table_.chunks.size(); ++c) {
        Reads({ContentKind::kNormPartials, static_cast<int32_t>(c), -1, -1},
              {resident() ? BufferKind::kNormPartialsPinned : BufferKind::kNormPartials});
      }
      for (int32_t mb = 0; mb < accumulation(); ++mb) {
        Reads({ContentKind::kLoss, -1, mb, LossParts() * table_.head.size()},
              {BufferKind::kLossPinned});
      }
      Writes({ContentKind::kClipFactor, -1, -1, -1});
      return;
    }
    const Content partials{ContentKind::kNormPartials, op_->chunk, -1, -1};
    if (op_->kind == OperationKind::kOffloadNorms) {
      Reads(partials, {BufferKind::kNormPartials});
      Writes(partials, {BufferKind::kNormPartialsPinned});
      return Moves(8 * chunk().norm_blocks);
    }
    Reads({ContentKind::kGradient, op_->chunk, -1, FullContributions()});
    if (op_->kind == OperationKind::kNorm) {
      Fits(Writes(partials, {BufferKind::kNormPartials}), 8 * chunk().norm_blocks);
    } else {
      Reads({ContentKind::kClipFactor, -1, -1, -1});
      Writes({ContentKind::kClippedGradient, op_->chunk, -1, -1});
    }
  }

  void CheckAdam() {
    const bool clipped_before =
        Find(AccessMode::kRead, {ContentKind::kClippedGradient, op_->chunk, -1, -1}) != nullptr;
    if (!clipped_before) Reads({ContentKind::kGradient, op_->chunk, -1, FullContributions()});
    if (schedule_.job.optimizer_place != OptimizerPlace::kInBackward) {
      Reads({ContentKind::kClipFactor, -1, -1, -1});
    }
    const uint64_t parameters = chunk().parameters;
    const auto updates = [&](ContentKind kind, BufferKind place, uint64_t bytes) {
      Reads({kind, op_->chunk, -1, -1}, {place});
      Fits(Writes({kind, op_->chunk, -1, -1}, {place}), bytes);
    };
    updates(ContentKind::kWeights, BufferKind::kWeightsHi, 2 * parameters);
    if (each_.low_half > 0) {
      updates(ContentKind::kLowHalf, BufferKind::kWeightsLo, each_.low_half * parameters);
    }
    const bool late = resident() && schedule_.job.device == DeviceKind::kCuda;
    if (late) {
      Fits(Writes({ContentKind::kUpdateFaults, op_->chunk, -1, -1}, {BufferKind::kUpdateFaults}),
           8 * SlicesOf(table_, op_->chunk));
    }
    updates(ContentKind::kMoments, BufferKind::kMoments,
            MomentBytes(schedule_.job.state_format, parameters, chunk().moment_blocks));
    if (resident() && each_.slot != 2) {
      updates(ContentKind::kWeights, BufferKind::kResidentWeights, each_.slot * parameters);
    }
    if (const uint64_t copy = FrameworkBytes(schedule_.plan.strategy); copy > 0) {
      Fits(Writes({ContentKind::kWeights, op_->chunk, -1, -1}, {BufferKind::kFrameworkCopy}),
           copy * parameters);
    }
  }

  // An update on a device that works later tells there what it could not hold.
  void CheckFaults() {
    const Content faults{ContentKind::kUpdateFaults, op_->chunk, -1, -1};
    if (op_->kind == OperationKind::kOffloadFaults) {
      Reads(faults, {BufferKind::kUpdateFaults});
      Writes(faults, {BufferKind::kUpdateFaultsPinned});
    } else {
      Reads(faults, {BufferKind::kUpdateFaultsPinned});
    }
    Moves(8 * SlicesOf(table_, op_->chunk));
  }

  // Of a chunk: it has matrices of an attention stage, and the last of them, with which it attends.
  struct Attention {
    bool any = false;
    bool last = false;
  };

  const ChunkTable& table_;
  const ParameterBytes each_;
  std::vector<Attention> attention_;  // by chunk
};

// How often each chunk is the subject of a kind of operation in some phases.
std::vector<int> CountByChunk(const Schedule& schedule, OperationKind kind,
                              std::initializer_list<const Phase*> phases) {
  std::vector<int> counts(schedule.chunks.chunks.size(), 0);
  for (const Phase* phase : phases) {
    for (const Operation& op : phase->operations) {
      if (op.kind == kind && op.chunk >= 0) ++counts[op.chunk];
    }
  }
  return counts;
}

absl::Status CheckEachOnce(const Schedule& schedule, OperationKind kind,
                           std::initializer_list<const Phase*> phases, std::string_view when) {
  const std::vector<int> counts = CountByChunk(schedule, kind, phases);
  for (size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] != 1) {
      return absl::InternalError(StrCat("'", ToString(kind), " ",
                                        schedule.chunks.NameOf(static_cast<int32_t>(c)),
                                        "' happens ", counts[c], " times in ", when));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyMeaning(const Schedule& schedule) {
  for (const Phase* phase : {&schedule.first, &schedule.steady, &schedule.drain}) {
    Meaning meaning(schedule, *phase);
    for (const Operation& op : phase->operations) RETURN_IF_ERROR(meaning.Check(op));
  }
  if (schedule.kind != PassKind::kTrain) return absl::OkStatus();
  RETURN_IF_ERROR(CheckEachOnce(schedule, OperationKind::kAdam, {&schedule.first, &schedule.drain},
                                "first and drain"));
  RETURN_IF_ERROR(
      CheckEachOnce(schedule, OperationKind::kAdam, {&schedule.steady}, "a steady step"));
  if (schedule.plan.strategy == Strategy::kResident) {
    RETURN_IF_ERROR(
        CheckEachOnce(schedule, OperationKind::kOffloadNorms, {&schedule.steady}, "a steady step"));
    if (schedule.job.device == DeviceKind::kCuda) {
      RETURN_IF_ERROR(CheckEachOnce(schedule, OperationKind::kCheckUpdate, {&schedule.steady},
                                    "a steady step"));
    }
  }
  return CheckEachOnce(schedule, OperationKind::kNorm, {&schedule.steady}, "a steady step");
}

absl::Status VerifySchedule(const Schedule& schedule) {
  RETURN_IF_ERROR(VerifyMemory(schedule));
  RETURN_IF_ERROR(VerifyMeaning(schedule));
  return VerifyOrder(schedule);
}

}  // namespace horizon
