#pragma once

#include "model/model_spec.h"
#include "schedule/lay_out_memory.h"
#include "schedule/schedule.h"

namespace horizon {

// The builders behind BuildSchedule, one for each way of streaming. Each fills `initial`, the
// phases and the notes of a schedule that already has its kind, job, plan, chunks and memory.

// Chunks are streamed through the ring, `buffer_depth` ahead of compute, in forward and in
// backward.
void BuildHorizon(const ModelSpec& spec, const BufferMap& map, Schedule& schedule);
// The published implementation. Layers are packed and loaded three times, one layer ahead of
// compute where there are two staging buffers. Embedding and head stay on the device. A separate
// worker accumulates gradients. Clipping and Adam are passes after the step.
void BuildReference(const ModelSpec& spec, const BufferMap& map, Schedule& schedule);
// The systems of offload_baselines.h. Layers are loaded when they are needed, twice, and compute
// waits until each gradient has been accumulated. Embedding and head stay on the device. Adam runs
// after the step.
void BuildOffloadBaseline(const ModelSpec& spec, const BufferMap& map, Schedule& schedule);
// Everything is on the device. Only small arrays are copied over the PCIe link: tokens, losses or
// logits, partial norms, and on CUDA the report of weights that an update could not represent.
void BuildResident(const ModelSpec& spec, const BufferMap& map, Schedule& schedule);

}  // namespace horizon
