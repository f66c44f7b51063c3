#pragma once

#include "planner/machines/machine_description.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Derives the profile of a described machine. Every rate is a data-sheet figure times the share of
// its class, and its source says so ("0.7 x 312 TFLOPS (vendor data sheet), the share of class
// a100: ..."). Two descriptions with the same figures give the same rates.
HardwareProfile DeriveProfile(const MachineDescription& machine);

// The bytes of host memory that AdamW reads and writes for each parameter: weights and moments are
// read and written, and a bf16 gradient is read.
double AdamBytes(StateFormat format);

}  // namespace horizon
