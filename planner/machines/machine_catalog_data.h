#pragma once

#include <span>

#include "planner/machines/machine_catalog.h"

namespace horizon {

// The files of planner/machines as text; the body is written by the build (see MACHINES in BUILD).
std::span<const MachineEntry> MachineCatalogData();

}  // namespace horizon
