#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace horizon {

// The catalog lets a user name a well-known model ("qwen2.5-7b") without having its files. The
// config.json files (model/catalog/*.json) are compiled into the program.
struct CatalogEntry {
  std::string_view name;    // "qwen2.5-7b": lower case, the name of its file
  std::string_view config;  // the text of its config.json
};

// A Hugging Face id of a model that has the architecture of a catalog entry.
struct CatalogId {
  std::string_view id;    // "Qwen/Qwen2.5-7B-Instruct"
  std::string_view name;  // "qwen2.5-7b"
};

// All entries, ordered by family and then by size. The span is valid for the life of the program.
std::span<const CatalogEntry> Catalog();

// All ids, in the order of their entries. The span is valid for the life of the program.
std::span<const CatalogId> CatalogIds();

// Finds an entry by its catalog name, ignoring case. Returns nullptr if there is none.
const CatalogEntry* FindCatalogName(std::string_view name);

// Finds an entry by its catalog name or by a Hugging Face id. Returns nullptr if the argument is
// neither. Case, spaces, '-' and '_' make no difference ("Qwen2.5 7B" is qwen2.5-7b), an id may be
// without its organisation ("Llama-3.1-8B-Instruct") or be the address of its page
// ("https://huggingface.co/Qwen/Qwen2.5-7B"). Everything else must be equal: an id that is not in
// the list is unknown, even if it resembles one, since its shape is not certain. LoadModelSpec
// (load_model_spec.h) says which comes first when a file of that name exists.
const CatalogEntry* FindInCatalog(std::string_view name_or_id);

// All catalog names in the order of Catalog(), for help texts and "did you mean".
std::vector<std::string> CatalogNames();

}  // namespace horizon
