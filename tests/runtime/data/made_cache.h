#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/files/io.h"
#include "runtime/data/cache/token_cache.h"
#include "runtime/data/token_line.h"

namespace horizon {

// A cache of these samples in `folder`, made from a file of tokens. A failure fails the test and
// gives null. Samples have ids below 1,000,000 and at most `sequence` tokens.
std::unique_ptr<TokenCache> MakeCache(Io& io, const std::string& folder,
                                      const std::vector<TokenLine>& samples, int64_t sequence);

// `count` samples of lengths 2 to `sequence` that differ by seed; sample i's ids are all i, so that
// a token says whose it is. Some labels are not trained, never all.
std::vector<TokenLine> NumberedSamples(int count, int64_t sequence, uint32_t seed);

}  // namespace horizon
