#pragma once

#include <rapidcheck.h>

#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "model/model_spec.h"
#include "model/read_config.h"

namespace horizon {

// Specs for tests. The tiny ones are the goldens' shapes; AnySpec gives valid ones with odd sizes.

// Parses and reads a config.json given as text; the file is called "config.json" in messages.
absl::StatusOr<ModelConfig> ReadConfigText(std::string_view text);

std::span<const std::string_view> TestedFamilies();

// hidden 64, 4 heads of 16 (2 for keys and values), intermediate 176, vocabulary 320, 2 layers;
// experts: 4 of 176 (2 a token); not tied, no windows.
ModelSpec TinySpec(std::string_view family);

// Any family, sizes 1 to some dozens, some layers sliding, tied or not, experts as the family has;
// places of norms, q/k norms, activation, multipliers and ropes whatever the family has.
rc::Gen<ModelSpec> AnySpec();

}  // namespace horizon
