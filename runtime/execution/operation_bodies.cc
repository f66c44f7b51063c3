#include "runtime/execution/operation_bodies.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "common/text/str_cat.h"
#include "model/rotary_tables.h"
#include "runtime/execution/operation_body.h"
#include "schedule/chunk_tensors.h"

namespace horizon {
namespace {

static_assert(Bytes(sizeof(TokenRecord)) == kTokenBytes);
static_assert(Bytes(sizeof(TokenSums)) == kTokenSumBytes);
static_assert(Bytes(sizeof(LossSum)) == kLossBytes);
static_assert(Bytes(sizeof(ClipRecord)) == kClipFactorBytes);
static_assert(kLossTileTokens == kLossTile);
static_assert(CudaLogitStride(1) == LogitStride(DeviceKind::kCuda, 1));

int64_t TokensOf(const Schedule& schedule) {
  return schedule.job.micro_batch *
         (schedule.kind == PassKind::kDecode ? 1 : schedule.job.sequence);
}

}  // namespace

OperationBodies::OperationBodies(const ModelSpec& spec, const Schedule& schedule,
                                 const RunMemory& memory)
    : spec_(spec),
      schedule_(schedule),
      places_(memory.places()),
      each_(BytesOfParameter(schedule.job)),
      templates_(spec, TokensOf(schedule), ActivationTypeOf(schedule.job),
                 StageOptionsOf(schedule.job, schedule.plan, schedule.chunks)) {
  const BufferId rotary = memory.Find(BufferKind::kRotaryTable, 0);
  positions_ = static_cast<int64_t>(memory.BytesOf(rotary).value() / sizeof(float)) /
               RotaryTablesWidth(spec);
  std::unordered_map<const TensorSpec*, int32_t> number;
  for (const Stage& stage : schedule.chunks.stages) {
    for (const TensorSpec& tensor : stage.tensors) {
      if (!tensor.trained) continue;
      number.emplace(&tensor, static_cast<int32_t>(tensor_names_.size()));
      tensor_names_.push_back(tensor.name);
    }
  }
  for (int32_t c = 0; c < static_cast<int32_t>(schedule.chunks.chunks.size()); ++c) {
    ForEachTrainedSlice(schedule.chunks, c, [&](const TensorSlice& slice) {
      tensor_of_slice_.push_back(number.at(slice.tensor));
    });
  }
}

absl::Status OperationBodies::Run(const Call& call, const KernelTable& kernels,
                                  const KernelContext& context) const {
  return Body(*this, call, kernels, context).Run();
}

bool OperationBodies::IsTransfer(OperationKind kind) const {
  switch (kind) {
    case OperationKind::kLoadChunk:
      return each_.slot == 2_B;  // the device computes with the high half as it is
    case OperationKind::kLoadTokens:
    case OperationKind::kLoadRows:
    case OperationKind::kLoadAnchor:
    case OperationKind::kSaveAnchor:
    case OperationKind::kOffloadGradient:
    case OperationKind::kOffloadRows:
    case OperationKind::kOffloadNorms:
    case OperationKind::kOffloadFaults:
    case OperationKind::kOffloadLoss:
    case OperationKind::kOffloadRouting:
    case OperationKind::kOffloadLogits:
      return true;
    default:
      return false;
  }
}

OperationBodies::Transfer OperationBodies::TransferOf(const Call& call) const {
  Transfer transfer{.bytes = call.operation.bytes};
  for (const Access& access : call.phase.AccessesOf(call.operation)) {
    const bool on_device = schedule_.memory.buffers[access.buffer].memory == Memory::kDevice;
    (on_device ? transfer.device : transfer.host) = places_[access.buffer].begin;
  }
  CHECK(transfer.device != nullptr && transfer.host != nullptr);
  return transfer;
}

std::vector<KernelMemory> OperationBodies::DeviceMemoryOf(const Call& call) const {
  std::vector<KernelMemory> declared;
  for (const Access& access : call.phase.AccessesOf(call.operation)) {
    if (schedule_.memory.buffers[access.buffer].memory != Memory::kDevice) continue;
    const BufferPlace& place = places_[access.buffer];
    auto known = std::find_if(declared.begin(), declared.end(), [&](const KernelMemory& one) {
      return one.memory.data() == place.begin;
    });
    if (known == declared.end()) {
      known = declared.insert(known, {.memory = {place.begin, place.bytes.value()}});
    }
    (access.mode == AccessMode::kRead ? known->reads : known->writes) = true;
  }
  return declared;
}

std::span<std::byte> OperationBodies::ScratchOf(Lane lane) const {
  for (const Phase* phase : {&schedule_.first, &schedule_.steady, &schedule_.drain}) {
    for (const Operation& operation : phase->operations) {
      if (operation.lane != lane) continue;
      for (const Access& access : phase->AccessesOf(operation)) {
        if (access.content.kind != ContentKind::kTileScratch) continue;
        return {places_[access.buffer].begin, places_[access.buffer].bytes.value()};
      }
    }
  }
  return {};
}

absl::Status OperationBodies::Body::Run() {
  switch (op_.kind) {
    case OperationKind::kNextBatch:
      return NextBatch();
    case OperationKind::kGather:
      return Gather();
    case OperationKind::kPack:
      return Pack();
    case OperationKind::kLoadChunk:
      return LoadChunk();
    case OperationKind::kEmbed:
      return Embed();
    case OperationKind::kForward:
    case OperationKind::kRecompute:
      return ForwardChunk();
    case OperationKind::kLogSumExp:
      return LogSumExp();
    case OperationKind::kLoss:
      return Loss();
    case OperationKind::kLogits:
      return Logits();
    case OperationKind::kHeadGradient:
      return StoreHeadGradient();
    case OperationKind::kBackward:
      return BackwardChunk();
    case OperationKind::kEmbedBackward:
      return EmbedGradient();
    case OperationKind::kAccumulate:
      return AccumulateGradient();
    case OperationKind::kScatter:
      return Scatter();
    case OperationKind::kTiedSum:
      return TiedSum();
    case OperationKind::kNorm:
      return Norm();
    case OperationKind::kClipFactor:
      return ClipFactor();
    case OperationKind::kClipGradient:
      return ClipGradient();
    case OperationKind::kAdam:
      return Adam();
    case OperationKind::kCheckUpdate:
      return CheckUpdate();
    case OperationKind::kReport:
      return Report();
    default:
      return absl::UnimplementedError("the runtime has no body for this operation");
  }
}

absl::Status OperationBodies::Body::NextBatch() const {
  const TokenRecord* tokens = call_.input.tokens.data() + op_.micro_batch * tokens_;
  for (int64_t i = 0; i < tokens_; ++i) {
    const bool known =
        tokens[i].id >= 0 && tokens[i].id < o_.spec_.vocab && tokens[i].label < o_.spec_.vocab;
    if (!known) {
      return absl::InvalidArgumentError(
          StrCat("token ", i, " of micro-batch ", op_.micro_batch, " has id ", tokens[i].id,
                 " and label ", tokens[i].label, "; the vocabulary has ", o_.spec_.vocab));
    }
    // A position is an offset into memory, like an id, so it is checked too: samples count up from
    // 0 within their row. A token that is decoded continues what its row's KV cache holds.
    const bool begins = tokens[i].position == 0;
    const bool goes_on = i % sequence_ != 0 && tokens[i].position == tokens[i - 1].position + 1;
    const bool decodes = decodes_ && tokens[i].position >= 0 && tokens[i].position < o_.positions_;
    if (!begins && !goes_on && !decodes) {
      return absl::InvalidArgumentError(
          StrCat("token ", i, " of micro-batch ", op_.micro_batch, " has position ",
                 tokens[i].position, ", which neither begins a sample nor goes on with one"));
    }
  }
  TokenRecord* written = At<TokenRecord>(Writes(ContentKind::kTokens));
  std::memcpy(written, tokens, static_cast<size_t>(tokens_) * sizeof(TokenRecord));
  // The sum of a row's gradients begins at the id's first token; the padding token has none.
  if (o_.spec_.padding_token >= 0) {
    for (int64_t i = 0; i < tokens_; ++i) {
      if (written[i].id == o_.spec_.padding_token) written[i].is_first = 0;
    }
  }
  return absl::OkStatus();
}

absl::Status OperationBodies::Body::Report() const {
  if (const Access* logits = Find(AccessMode::kRead, ContentKind::kLogits)) {
    const float* values = At<float>(*logits);
    const int64_t vocab = o_.spec_.vocab;
    call_.result.logits.clear();
    call_.result.logits.reserve(static_cast<size_t>(job_.micro_batch * vocab));
    for (int64_t row = 0; row < job_.micro_batch; ++row, values += LogitStride(vocab)) {
      call_.result.logits.insert(call_.result.logits.end(), values, values + vocab);
    }
    return absl::OkStatus();
  }
  const TokenSums* sums = At<TokenSums>(Reads(ContentKind::kLogSumExp));
  std::vector<float>& losses = call_.result.token_losses;
  losses.assign(static_cast<size_t>(tokens_), 0.0f);
  for (size_t i = 0; i < losses.size(); ++i) {
    if (call_.input.tokens[i].label < 0) continue;
    losses[i] = sums[i].largest - sums[i].label_logit + std::log(sums[i].sum);
    call_.result.loss += double{losses[i]};
    ++call_.result.counted;
  }
  return absl::OkStatus();
}

absl::Status OperationBodies::Body::Gather() const {
  for (int32_t c = chunks_.embedding.begin; c < chunks_.embedding.end; ++c) {
    const UnitRange rows = Rows(c);
    const Access* lo = Find(AccessMode::kRead, ContentKind::kLowHalf, c);
    RETURN_IF_ERROR(
        k_.gather_rows(context_, {.tokens = tokens_,
                                  .hidden = hidden_,
                                  .first_row = rows.begin,
                                  .rows = rows.end - rows.begin,
                                  .scale = EmbeddingScale(),
                                  .records = At<TokenRecord>(Reads(ContentKind::kTokens)),
                                  .hi = At<uint16_t>(Reads(ContentKind::kWeights, c)),
                                  .lo = lo == nullptr ? nullptr : At<int16_t>(*lo),
                                  .output = Activations(Writes(ContentKind::kRows))}));
  }
  return absl::OkStatus();
}

// A staging buffer holds the high halves, then (with fp32 compute) the low halves.
absl::Status OperationBodies::Body::Pack() const {
  std::byte* staging = At<std::byte>(Writes(ContentKind::kWeights));
  const int64_t bytes = 2 * parameters();
  RETURN_IF_ERROR(k_.copy_bytes(
      context_,
      {.bytes = bytes, .from = At<std::byte>(Reads(ContentKind::kWeights)), .to = staging}));
  const Access* lo = Find(AccessMode::kRead, ContentKind::kLowHalf);
  if (lo == nullptr) return absl::OkStatus();
  return k_.copy_bytes(context_,
                       {.bytes = bytes, .from = At<std::byte>(*lo), .to = staging + bytes});
}

absl::Status OperationBodies::Body::LoadChunk() const {
  const Access& source = Reads(ContentKind::kWeights);
  const Access* low = Find(AccessMode::kRead, ContentKind::kLowHalf);
  const int16_t* lo = low == nullptr ? nullptr : At<int16_t>(*low);
  if (KindOf(source) == BufferKind::kStagingBuffer && job_.compute_type == NumberType::kFp32) {
    lo = At<int16_t>(source) + parameters();
  }
  return k_.expand_weights(context_, {.count = parameters(),
                                      .hi = At<uint16_t>(source),
                                      .lo = lo,
                                      .weights = At<float>(Writes(ContentKind::kWeights))});
}

}  // namespace horizon
