#pragma once

#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// The defaults of job and plan for each strategy.

// The job as the strategy's own software would run it on the machine's device. Activations are bf16
// on `cuda` and fp32 on `host`. `reference` (the published system) and `resident` (native training)
// keep bf16 weights without a low half; the offloading baselines keep everything in fp32. All
// strategies but `horizon` update after the step.
//
// `reference` gets fp32 gradients, because only these can run: the published system clips bf16
// gradients in place, which rounds them twice (check_runnable.h). AsPublished undoes this.
TrainingJob JobFor(const HardwareProfile& profile, Strategy strategy);

// The job of `reference` as published, with bf16 gradients. It can only be simulated.
TrainingJob AsPublished(TrainingJob job);

// A plan that is valid with JobFor. For `reference` it has the published defaults: checkpoint
// interval K = 4, two staging buffers, 12 gradient slabs.
StreamPlan PlanFor(Strategy strategy);

}  // namespace horizon
