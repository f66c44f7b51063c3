#pragma once

#include <span>

#include "model/catalog.h"

namespace horizon {

// The files of model/catalog as text; the body is written by the build (see CATALOG in BUILD).
std::span<const CatalogEntry> CatalogData();

}  // namespace horizon
