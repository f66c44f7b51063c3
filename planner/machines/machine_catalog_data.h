#pragma once

#include <span>

#include "planner/machines/machine_catalog.h"

namespace horizon {

// The files planner/machines/*.json as text. The build generates the body (see MACHINES in BUILD).
std::span<const MachineEntry> MachineCatalogData();

}  // namespace horizon
