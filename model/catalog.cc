#include "model/catalog.h"

#include "absl/strings/match.h"
#include "model/catalog_data.h"

namespace horizon {
namespace {

absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

std::span<const CatalogEntry> Catalog() { return CatalogData(); }

std::span<const CatalogId> CatalogIds() { return CatalogIdData(); }

const CatalogEntry* FindCatalogName(std::string_view name) {
  for (const CatalogEntry& entry : Catalog()) {
    if (absl::EqualsIgnoreCase(ToAbsl(entry.name), ToAbsl(name))) return &entry;
  }
  return nullptr;
}

const CatalogEntry* FindInCatalog(std::string_view name_or_id) {
  if (const CatalogEntry* entry = FindCatalogName(name_or_id)) return entry;
  for (const CatalogId& id : CatalogIds()) {
    if (absl::EqualsIgnoreCase(ToAbsl(id.id), ToAbsl(name_or_id))) return FindCatalogName(id.name);
  }
  return nullptr;
}

std::vector<std::string> CatalogNames() {
  std::vector<std::string> names;
  for (const CatalogEntry& entry : Catalog()) names.emplace_back(entry.name);
  return names;
}

}  // namespace horizon
