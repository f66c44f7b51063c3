#pragma once

#include "model/model_spec.h"
#include "schedule/lay_out_memory.h"
#include "schedule/schedule.h"

namespace horizon {

// The builders behind BuildSchedule, one a way of streaming. Each fills `initial`, the phases and
// the notes of a schedule whose kind, job, plan, chunks and memory are set.

// Chunks stream through the ring, `buffer_depth` ahead of compute, in forward and in backward.
void BuildHorizon(const ModelSpec& spec, const BufferMap& map, Schedule& schedule);
// The published implementation: layers are packed and loaded three times, one ahead of compute
// where there are two staging buffers; embedding and head stay on the device; gradients are
// accumulated by a worker of their own; clip and Adam are passes after the step.
void BuildReference(const ModelSpec& spec, const BufferMap& map, Schedule& schedule);
// The systems of offload_baselines.h: layers are loaded when they are needed, twice, and gradients
// leave before compute goes on; embedding and head stay on the device; Adam comes after the step.
void BuildOffloadBaseline(const ModelSpec& spec, const BufferMap& map, Schedule& schedule);
// Everything is on the device; nothing but tokens and losses crosses the link.
void BuildResident(const ModelSpec& spec, const BufferMap& map, Schedule& schedule);

}  // namespace horizon
