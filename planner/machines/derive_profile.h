#pragma once

#include "planner/machines/machine_description.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// The profile of a described machine: every rate is a data-sheet figure times the share of its
// class, and its source says so ("0.7 x 312 TFLOPS (vendor data sheet), the share of class a100:
// ..."). Two descriptions with the same figures give the same rates.
HardwareProfile DeriveProfile(const MachineDescription& machine);

// What AdamW reads and writes for each parameter in host memory: weights and moments both ways, and
// a bf16 gradient.
double AdamBytes(StateFormat format);

}  // namespace horizon
