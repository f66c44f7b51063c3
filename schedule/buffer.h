#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/documents/enum_words.h"
#include "common/units.h"

namespace horizon {

// The memories that a schedule places buffers in. Pinned is page-locked host memory, which the PCIe
// link can read and write. On device `host` all three are RAM, but they are still counted
// separately.
enum class Memory : uint8_t { kDevice, kPinned, kHost };
inline constexpr int kMemoryCount = 3;

// What a buffer is for. Most kinds have several buffers, which Buffer::index tells apart.
enum class BufferKind : uint8_t {
  // The parameter store: one buffer of each kind per chunk.
  kWeightsHi,          // bf16 high halves of the master weights
  kWeightsLo,          // 16-bit low halves of the fp32 master weights
  kMoments,            // first and second moments
  kKeptGradient,       // the accumulated gradient, until the update
  kEmbeddingGradient,  // tied table: the sum of its use as embedding, until both uses are added
  kNormPartials,
  kNormPartialsPinned,
  kUpdateFaults,
  kUpdateFaultsPinned,
  kClipFactor,     // a single buffer
  kFrameworkCopy,  // offload baselines: copies the framework keeps beside the state, one per chunk
  // Streaming.
  kRingSlot,
  kResidentWeights,  // one per resident chunk
  kStagingBuffer,    // `reference`: the layer is packed here on the host before it is copied
  kGradient,         // on the device, until it has been copied to the host
  kGradientSlab,     // pinned: a gradient arrives here from the device
  kTableSlab,        // the gradient slab of an embedding or head that always stays on the device
  kAnchor,           // activation checkpoint, one per recompute block and micro-batch in flight
  kAnchorStage,      // on the device: an activation checkpoint that came back from the host
  // Compute.
  kTokensPinned,
  kTokens,
  kEmbeddingRows,
  kRowGradients,
  kResidual,          // hidden states: at most two per micro-batch in flight
  kResidualGradient,  // gradients of hidden states: at most two per micro-batch in flight
  kActivations,
  kLogits,
  kLogSumExp,
  kHeadGradient,  // fp32 sum over loss chunks
  kHeadInputSum,  // fp32 sum of a bf16 gradient over the head's shards, per micro-batch in flight
  kLoss,
  kLossPinned,
  kRouterSums,  // per micro-batch in flight: how often the routers chose each expert, and their
                // summed probabilities
  kRouterSumsPinned,
  kKvCache,
  kLogitsPinned,
  kWorkspace,
  kTileScratch,  // scratch memory of kernels, beside their arguments
  kRotaryTable,  // cosines and sines of every position; filled once
};

std::span<const EnumWord<Memory>> WordsOf(Memory);
std::span<const EnumWord<BufferKind>> WordsOf(BufferKind);

using BufferId = int32_t;

// A range of one memory, reserved for the whole of a pass.
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
