#pragma once

#include <cstdint>
#include <span>

#include "common/documents/enum_words.h"
#include "schedule/buffer.h"

namespace horizon {

// A lane is a queue of operations, like a CUDA stream: its operations run one after another in the
// order of the schedule. Lanes run concurrently; only waits order operations of different lanes.
enum class Lane : uint8_t { kH2d, kCompute, kD2h, kHost, kOptimizer };
inline constexpr int kLaneCount = 5;

// What an operation does. The comments begin with the lane it runs on in strategy `horizon`.
enum class OperationKind : uint8_t {
  kNextBatch,        // host: write the tokens of a micro-batch into pinned memory
  kLoadTokens,       // h2d: copy them to the device
  kGather,           // host: look up the embedding rows of the tokens
  kLoadRows,         // h2d: copy the rows to the device
  kPack,             // host: copy a chunk into a staging buffer (`reference`)
  kLoadChunk,        // h2d: copy weights into a ring slot, or again into a resident chunk
  kEmbed,            // compute: look up the rows of a table that is on the device
  kForward,          // compute
  kSaveAnchor,       // d2h: copy an activation checkpoint to the host
  kLoadAnchor,       // h2d: copy it back
  kRecompute,        // compute: run forward again, keeping what backward needs
  kLogSumExp,        // compute: first pass over the shards of a head
  kLoss,             // compute: logits, loss, gradients of hidden state and head, of one loss chunk
  kHeadGradient,     // compute: round the finished sum over loss chunks to the gradient's type
  kBackward,         // compute
  kEmbedBackward,    // compute: gradient of a table that is on the device
  kOffloadGradient,  // d2h: copy a gradient into a gradient slab
  kAccumulate,       // host: add a gradient slab to the kept gradient
  kOffloadRows,      // d2h: copy the gradient of the embedding's output
  kScatter,          // host: add row gradients to the kept gradient of the table
  kTiedSum,          // host: add the gradients of both uses of a tied table
  kNorm,             // host: squared norm of a chunk's gradient, one partial sum per norm block
  kOffloadNorms,     // d2h: copy the partial norms that the device computed (`resident`)
  kClipFactor,       // host: compute the clip factor from all partial norms
  kClipGradient,     // host: multiply the kept gradient with it, as a separate pass (`reference`)
  kAdam,             // optimizer
  kOffloadFaults,    // d2h: which weights an update on the device could not represent (`resident`)
  kCheckUpdate,      // host: stop the run if there are any
  kOffloadLoss,      // d2h
  kOffloadRouting,   // d2h: copy what the routers of experts chose
  kLogits,           // compute: logits of the last position (prefill, decode)
  kOffloadLogits,    // d2h
  kReport,           // host: hand the results of a pass without updates to its caller
};
inline constexpr int kOperationKinds = static_cast<int>(OperationKind::kReport) + 1;

// What a buffer holds, in terms of the model. The verifier uses it: the forward of chunk 7 must
// find the weights of chunk 7, whichever ring slot they are in. The comments say what the members
// a, b and n of Content mean for each kind; members without a meaning are 0.
enum class ContentKind : uint8_t {
  kNothing,
  kWeights,            // a: chunk
  kLowHalf,            // a: chunk
  kMoments,            // a: chunk
  kGradient,           // a: chunk, b: the last micro-batch summed, n: contributions summed
  kEmbeddingGradient,  // a: chunk, n: contributions summed
  kClippedGradient,    // a: chunk
  kNormPartials,       // a: chunk
  kClipFactor,
  kUpdateFaults,    // a: chunk
  kTokens,          // b: micro-batch
  kRows,            // b: micro-batch
  kRowGradients,    // b: micro-batch
  kHidden,          // a: chunk group it enters, b: micro-batch, n: shards of the embedding summed
  kHiddenGradient,  // a: chunk group it entered, b: micro-batch, n: parts of the loss summed
  kActivations,     // a: chunk group, b: micro-batch, n: shards done
  kStageArrays,     // a, b, n as above: arrays that shards pass on in forward
  kStageGradients,  // a, b, n as above: arrays that shards pass on in backward
  kLogSumExp,       // b: micro-batch, n: parts done
  kHeadGradient,    // a: chunk, b: micro-batch, n: loss chunks summed
  kHeadInputSum,    // b: micro-batch, n: parts of the loss summed
  kLoss,            // b: micro-batch, n: parts summed
  kRouterSums,      // b: micro-batch, n: routers done
  kKvCache,         // a: chunk
  kLogits,          // n: shards done
  kRotaryTable,
  kScratch,      // nothing that a later operation reads
  kTileScratch,  // the same, in the scratch memory of kernels
};

std::span<const EnumWord<Lane>> WordsOf(Lane);
std::span<const EnumWord<OperationKind>> WordsOf(OperationKind);
std::span<const EnumWord<ContentKind>> WordsOf(ContentKind);

// The content of a buffer: its kind, with the members that the kind uses.
struct Content {
  ContentKind kind = ContentKind::kNothing;
  int32_t a = 0;
  int32_t b = 0;
  int32_t n = 0;
  friend bool operator==(const Content&, const Content&) = default;
};

// Whether an operation reads or writes a buffer.
enum class AccessMode : uint8_t { kRead, kWrite };

// A buffer that an operation reads or writes, with the content that it must find (or leaves) there.
// `age` counts the steps since the content was written: 0 in this step, 1 in the step before. Only
// reads use it.
struct Access {
  BufferId buffer = 0;
  AccessMode mode = AccessMode::kRead;
  uint8_t age = 0;
  Content content;
};

using OperationId = int32_t;

// A wait for the end of another operation. With `previous_step` it is an operation of the step
// before, and `operation` counts from the beginning of that step's body (schedule.h).
struct Wait {
  OperationId operation = 0;
  bool previous_step = false;
  friend bool operator==(const Wait&, const Wait&) = default;
};

// Consecutive elements in one of the pools of a Phase.
struct PoolRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};

// One unit of work on one lane. Its accesses and waits are ranges in the pools of its Phase.
struct Operation {
  OperationKind kind = OperationKind::kForward;
  Lane lane = Lane::kCompute;
  int16_t threads = 1;  // host threads, where it runs on the host
  int32_t chunk = -1;   // -1: not about a chunk
  int32_t micro_batch = -1;
  int32_t part = -1;  // loss chunk, or the recompute block of an activation checkpoint
  Bytes bytes;        // moved over the PCIe link, or through host memory
  uint64_t flops = 0;
  PoolRange accesses;
  PoolRange waits;
};

}  // namespace horizon
