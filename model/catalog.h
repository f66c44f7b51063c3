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

// A Hugging Face id that has the architecture of an entry.
struct CatalogId {
  std::string_view id;    // "Qwen/Qwen2.5-7B-Instruct"
  std::string_view name;  // "qwen2.5-7b"
};

// By family, then size; lives as long as the program.
std::span<const CatalogEntry> Catalog();

// All ids in the order of their entries; lives as long as the program.
std::span<const CatalogId> CatalogIds();

// The entry of a catalog name in any case, or nullptr.
const CatalogEntry* FindCatalogName(std::string_view name);

// The entry of a catalog name or of a Hugging Face id, in any case; nullptr when it is neither.
// Nothing is guessed: an id that is not in the list is unknown. load_model_spec.h says what comes
// first where a file of that name exists.
const CatalogEntry* FindInCatalog(std::string_view name_or_id);

// All names in that order: for help texts and "did you mean".
std::vector<std::string> CatalogNames();

}  // namespace horizon
