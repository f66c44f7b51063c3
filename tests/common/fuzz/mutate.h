#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace horizon {

// Returns one of the corpus texts with one to eight random changes: flips bits, replaces bytes,
// removes, repeats or splices in pieces of another text, or inserts tokens that parsers often
// mishandle. It is a pure function of its arguments, the same on every machine. The corpus must not
// be empty.
std::string Mutated(const std::vector<std::string>& corpus, uint64_t number);

}  // namespace horizon
