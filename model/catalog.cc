#include "model/catalog.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "model/catalog_data.h"

namespace horizon {
namespace {

absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

// In lower case and without what people put between the parts of a name.
std::string WithoutSeparators(std::string_view text) {
  std::string letters;
  for (const char letter : text) {
    if (letter == ' ' || letter == '-' || letter == '_') continue;
    letters += absl::ascii_tolower(static_cast<unsigned char>(letter));
  }
  return letters;
}

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
  for (const std::string_view site : {"https://huggingface.co/", "huggingface.co/", "hf.co/"}) {
    if (name_or_id.starts_with(site)) name_or_id.remove_prefix(site.size());
  }
  const std::string typed = WithoutSeparators(name_or_id);
  if (typed.empty()) return nullptr;
  for (const CatalogEntry& entry : Catalog()) {
    if (WithoutSeparators(entry.name) == typed) return &entry;
  }
  for (const CatalogId& id : CatalogIds()) {
    const std::string_view model = id.id.substr(id.id.find('/') + 1);
    if (WithoutSeparators(id.id) == typed || WithoutSeparators(model) == typed) {
      return FindCatalogName(id.name);
    }
  }
  return nullptr;
}

std::vector<std::string> CatalogNames() {
  std::vector<std::string> names;
  for (const CatalogEntry& entry : Catalog()) names.emplace_back(entry.name);
  return names;
}

}  // namespace horizon
