#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace horizon {

// One of the corpus's texts with one to eight random changes: bits flipped, bytes replaced, pieces
// removed, repeated, moved in from another text, or tokens that parsers stumble over put in. A pure
// function of its arguments, the same on every machine. The corpus is not empty.
std::string Mutated(const std::vector<std::string>& corpus, uint64_t number);

}  // namespace horizon
