#pragma once

#include <span>

#include "model/catalog.h"

namespace horizon {

// The files of model/catalog as text and the ids beside their names; the body is written by the
// build (see CATALOG in catalog.bzl).
std::span<const CatalogEntry> CatalogData();
std::span<const CatalogId> CatalogIdData();

}  // namespace horizon
