#pragma once

#include <span>

#include "model/catalog.h"

namespace horizon {

// The raw catalog: the text of each file of model/catalog, and the Hugging Face ids with the
// catalog names they stand for. The build generates the definitions (see CATALOG in catalog.bzl).
// Use catalog.h to look something up.
std::span<const CatalogEntry> CatalogData();
std::span<const CatalogId> CatalogIdData();

}  // namespace horizon
