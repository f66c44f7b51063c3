#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace horizon {

// A way to break a good schedule. `make` returns every schedule this breakage gives from `good`
// (none where it does not apply); each must be refused by VerifySchedule.
struct Mutant {
  std::string name;
  std::function<std::vector<Schedule>(const Schedule& good)> make;
};

std::vector<Mutant> AllMutants();

// Takes an operation out of a phase. Waits for it become waits for nothing (they are removed).
void RemoveOperation(Phase& phase, OperationId id);

}  // namespace horizon
