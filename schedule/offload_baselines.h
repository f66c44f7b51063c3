#pragma once

#include <cstdint>

#include "common/units.h"
#include "schedule/stream_plan.h"

namespace horizon {

// The offloading systems that the paper compares with, as far as they differ from each other. All
// of them keep the optimizer state of every parameter on the host and work layer by layer without
// overlap: a layer is copied to the device when compute needs it, in forward and again in backward,
// and the next layer starts when the gradient of this one has been accumulated
// (build_offload_baselines.cc).
struct OffloadBaseline {
  Strategy strategy;
  // Pinned bytes that the framework keeps for each parameter, beyond the job's state format. Adam
  // writes them, loads read them.
  Bytes framework_bytes;
};

inline constexpr OffloadBaseline kOffloadBaselines[] = {
    // DeepSpeed ZeRO-3 with parameters and optimizer on the host: a bf16 copy next to the fp32
    // master.
    {.strategy = Strategy::kZero3Offload, .framework_bytes = 2_B},
    // PyTorch FSDP with CPU offload: a bf16 copy, and pinned fp32 copies of parameters and
    // gradients.
    {.strategy = Strategy::kFsdpOffload, .framework_bytes = 2_B + 4_B + 4_B},
    // Colossal-AI Gemini: bf16 chunks next to the fp32 master.
    {.strategy = Strategy::kGemini, .framework_bytes = 2_B},
};

// The entry of a strategy; nullptr for a strategy that is none of these.
constexpr const OffloadBaseline* FindOffloadBaseline(Strategy strategy) {
  for (const OffloadBaseline& baseline : kOffloadBaselines) {
    if (baseline.strategy == strategy) return &baseline;
  }
  return nullptr;
}

// framework_bytes of a strategy; 0 for a strategy that is none of these.
constexpr Bytes FrameworkBytes(Strategy strategy) {
  const OffloadBaseline* baseline = FindOffloadBaseline(strategy);
  return baseline == nullptr ? 0_B : baseline->framework_bytes;
}

}  // namespace horizon
