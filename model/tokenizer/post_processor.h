#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/documents/document.h"

namespace horizon {

// What a model wants around a single text: the "post_processor" of a tokenizer.json.
struct PostProcessor {
  std::vector<int32_t> prefix;
  std::vector<int32_t> suffix;

  // InvalidArgument for a kind that is not known, by its name, or a template in which the text does
  // not stand exactly once.
  static absl::StatusOr<PostProcessor> Read(const Document& document);
};

}  // namespace horizon
