#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace horizon {

// Well-known models by name. Their config.json files (model/catalog/*.json) are part of the
// program, so a name works without any file beside it.
struct CatalogEntry {
  std::string_view name;    // "qwen2.5-7b": lower case, the file's name
  std::string_view config;  // the text of its config.json
};

// By family, then size; lives as long as the program.
std::span<const CatalogEntry> Catalog();

// The entry of a name in any case, or nullptr.
const CatalogEntry* FindInCatalog(std::string_view name);

// All names in that order: for help texts and "did you mean".
std::vector<std::string> CatalogNames();

}  // namespace horizon
