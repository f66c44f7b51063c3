#pragma once

#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// What is assumed of a job and a plan before anybody says more.

// A job as the strategy's own software would run it on the machine's device: bf16 activations on
// `cuda`, fp32 on `host`; the published system and native training keep bf16 weights without a low
// half; the offloading baselines keep everything in fp32; all but ours update after the step.
//
// `reference` gets fp32 gradients, because only those can be run: the published system clips bf16
// gradients in place, which rounds them twice (check_runnable.h). AsPublished undoes this.
TrainingJob JobFor(const HardwareProfile& profile, Strategy strategy);

// The job of `reference` as published, which can be simulated only.
TrainingJob AsPublished(TrainingJob job);

// A plan that is valid with JobFor, with the published defaults (K = 4, two staging buffers, 12
// slabs) for strategy `reference`.
StreamPlan PlanFor(Strategy strategy);

}  // namespace horizon
