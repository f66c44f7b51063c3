#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/documents/enum_words.h"
#include "common/units.h"

namespace horizon {

// The memories a schedule uses. Pinned is host memory that is page-locked, so that the link can
// reach it; on device `host` all three are RAM, counted apart all the same.
enum class Memory : uint8_t { kDevice, kPinned, kHost };
inline constexpr int kMemoryCount = 3;

// What a buffer is for. Several exist of most kinds; Buffer::index tells which.
enum class BufferKind : uint8_t {
  // The parameter store, one a chunk.
  kWeightsHi,
  kWeightsLo,
  kMoments,
  kKeptGradient,
  kEmbeddingGradient,  // sum over the embedding's use of a tied table, until both uses are added
  kNormPartials,
  kNormPartialsPinned,
  kUpdateFaults,
  kUpdateFaultsPinned,
  kClipFactor,     // one
  kFrameworkCopy,  // offload baselines: what the framework keeps beside the state, one a chunk
  // What streams.
  kRingSlot,
  kResidentWeights,  // one a resident chunk
  kStagingBuffer,    // `reference`: where a layer is packed before it crosses
  kGradient,         // on the device, until it has left
  kGradientSlab,
  kTableSlab,    // where the gradient of a table leaves that always stays on the device
  kAnchor,       // one a block and micro-batch in flight
  kAnchorStage,  // on the device, for anchors that come back from the host
  // What compute holds.
  kTokensPinned,
  kTokens,
  kEmbeddingRows,
  kRowGradients,
  kResidual,          // two a micro-batch in flight
  kResidualGradient,  // two a micro-batch in flight
  kActivations,
  kLogits,
  kLogSumExp,
  kHeadGradient,  // fp32 sum over loss chunks
  kHeadInputSum,  // one a micro-batch in flight: fp32 sum of a bf16 gradient over the head's shards
  kLoss,
  kLossPinned,
  kKvCache,
  kLogitsPinned,
  kWorkspace,
  kTileScratch,  // what kernels work in beside their arguments
  kRotaryTable,  // cosines and sines of every position; filled once
};

std::span<const EnumWord<Memory>> WordsOf(Memory);
std::span<const EnumWord<BufferKind>> WordsOf(BufferKind);

using BufferId = int32_t;

// A piece of one memory, reserved for the whole of a pass.
struct Buffer {
  BufferKind kind = BufferKind::kWorkspace;
  Memory memory = Memory::kDevice;
  int32_t index = 0;
  uint64_t offset = 0;
  Bytes bytes;
};

// Buffers start at multiples of this in their memory.
inline constexpr uint64_t kBufferAlignment = 256;

using MemoryTotals = std::array<Bytes, kMemoryCount>;

}  // namespace horizon
