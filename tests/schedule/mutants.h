#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace horizon {

// A way to break a correct schedule. `make` returns every broken schedule that it can make from
// `good` (none where it does not apply). VerifySchedule must refuse each of them.
struct Mutant {
  std::string name;
  std::function<std::vector<Schedule>(const Schedule& good)> make;
};

std::vector<Mutant> AllMutants();

// Removes an operation from a phase, together with all waits for it.
void RemoveOperation(Phase& phase, OperationId id);

}  // namespace horizon
