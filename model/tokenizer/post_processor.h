#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/documents/document.h"

namespace horizon {

// The ids that a model needs before and after a single text: the "post_processor" of a
// tokenizer.json.
struct PostProcessor {
  std::vector<int32_t> prefix;
  std::vector<int32_t> suffix;

  // Returns InvalidArgument with the name of a type that is not supported, and for a template that
  // does not contain the text exactly once.
  static absl::StatusOr<PostProcessor> Read(const Document& document);
};

}  // namespace horizon
