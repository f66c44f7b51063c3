#pragma once

#include <cstdint>
#include <span>

#include "common/documents/enum_words.h"
#include "schedule/buffer.h"

namespace horizon {

// Operations of one lane run one after another, in the order of the schedule; lanes run beside each
// other and meet only through waits.
enum class Lane : uint8_t { kH2d, kCompute, kD2h, kHost, kOptimizer };
inline constexpr int kLaneCount = 5;

enum class OperationKind : uint8_t {
  kNextBatch,        // host: the tokens of a micro-batch into pinned memory
  kLoadTokens,       // h2d
  kGather,           // host: embedding rows of the tokens
  kLoadRows,         // h2d
  kPack,             // host: a chunk into a staging buffer (`reference`)
  kLoadChunk,        // h2d: weights into a slot, or again into a resident chunk
  kEmbed,            // compute: rows of a table that is on the device
  kForward,          // compute
  kSaveAnchor,       // d2h
  kLoadAnchor,       // h2d
  kRecompute,        // compute: forward again, keeping what backward needs
  kLogSumExp,        // compute: first pass over the shards of a head
  kLoss,             // compute: loss chunk: logits, loss, gradient of hidden state and head
  kHeadGradient,     // compute: the finished sum over loss chunks, rounded to leave
  kBackward,         // compute
  kEmbedBackward,    // compute: gradient of a table that is on the device
  kOffloadGradient,  // d2h: into a slab
  kAccumulate,       // host: a slab onto the kept gradient
  kOffloadRows,      // d2h: gradient of the embedding's output
  kScatter,          // host: row gradients onto the kept gradient of the table
  kTiedSum,          // host: both uses of a tied table added
  kNorm,             // host: squared norm of a chunk's gradient, in fixed blocks
  kOffloadNorms,     // d2h: a chunk's partial norms that the device took (`resident`)
  kClipFactor,       // host: all partial norms to one factor
  kClipGradient,     // host: factor times kept gradient, as a pass of its own (`reference`)
  kAdam,             // optimizer
  kOffloadFaults,    // d2h: which weights an update on the device could not hold (`resident`)
  kCheckUpdate,      // host: stops the run at those
  kOffloadLoss,      // d2h
  kLogits,           // compute: of the last position (prefill, decode)
  kOffloadLogits,    // d2h
  kReport,           // host: what a pass without updates computed, to whoever runs it
};
inline constexpr int kOperationKinds = static_cast<int>(OperationKind::kReport) + 1;

// What a buffer holds, in the words of the model: the forward of chunk 7 must find the weights of
// chunk 7, whichever slot they are in.
enum class ContentKind : uint8_t {
  kNothing,
  kWeights,            // a: chunk
  kLowHalf,            // a: chunk
  kMoments,            // a: chunk
  kGradient,           // a: chunk, b: last micro-batch in it, n: contributions summed
  kEmbeddingGradient,  // a: chunk, n: contributions summed
  kClippedGradient,    // a: chunk
  kNormPartials,       // a: chunk
  kClipFactor,
  kUpdateFaults,    // a: chunk
  kTokens,          // b: micro-batch
  kRows,            // b: micro-batch
  kRowGradients,    // b: micro-batch
  kHidden,          // a: link it enters, b: micro-batch, n: shards of the embedding summed
  kHiddenGradient,  // a: link it entered, b: micro-batch, n: parts of the loss summed
  kActivations,     // a: link, b: micro-batch, n: shards done
  kStageArrays,     // a: link, b: micro-batch, n: shards done; what they hand on in forward
  kStageGradients,  // the same in backward
  kLogSumExp,       // b: micro-batch, n: parts done
  kHeadGradient,    // a: chunk, b: micro-batch, n: loss chunks summed
  kHeadInputSum,    // b: micro-batch, n: parts of the loss summed
  kLoss,            // b: micro-batch, n: parts summed
  kKvCache,         // a: chunk
  kLogits,          // n: shards done
  kRotaryTable,
  kScratch,      // nothing that anybody reads later
  kTileScratch,  // the same, of kernels
};

std::span<const EnumWord<Lane>> WordsOf(Lane);
std::span<const EnumWord<OperationKind>> WordsOf(OperationKind);
std::span<const EnumWord<ContentKind>> WordsOf(ContentKind);

struct Content {
  ContentKind kind = ContentKind::kNothing;
  int32_t a = 0;
  int32_t b = 0;
  int32_t n = 0;
  friend bool operator==(const Content&, const Content&) = default;
};

enum class AccessMode : uint8_t { kRead, kWrite };

// One buffer an operation touches, and what it must find (or leaves) there. `age` counts the steps
// since the content was written: 0 in this step, 1 in the one before (read access only).
struct Access {
  BufferId buffer = 0;
  AccessMode mode = AccessMode::kRead;
  uint8_t age = 0;
  Content content;
};

using OperationId = int32_t;

// A wait for the end of another operation. `previous_step`: of the step before, where `operation`
// counts from the begin of that step's body (schedule.h).
struct Wait {
  OperationId operation = 0;
  bool previous_step = false;
  friend bool operator==(const Wait&, const Wait&) = default;
};

// A run of consecutive elements in one of a phase's pools.
struct PoolRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};

struct Operation {
  OperationKind kind = OperationKind::kForward;
  Lane lane = Lane::kCompute;
  int16_t threads = 1;  // of the host, where it works there
  int32_t chunk = -1;   // -1: not about a chunk
  int32_t micro_batch = -1;
  int32_t part = -1;  // loss chunk, or block of an anchor
  Bytes bytes;        // moved over the link, or through host memory
  uint64_t flops = 0;
  PoolRange accesses;
  PoolRange waits;
};

}  // namespace horizon
