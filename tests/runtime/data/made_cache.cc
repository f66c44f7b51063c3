#include "tests/runtime/data/made_cache.h"

#include <gtest/gtest.h>

#include "common/text/str_cat.h"
#include "tests/model/test_files.h"

namespace horizon {

std::unique_ptr<TokenCache> MakeCache(Io& io, const std::string& folder,
                                      const std::vector<TokenLine>& samples, int64_t sequence) {
  std::string lines;
  for (const TokenLine& sample : samples) {
    std::string ids;
    std::string labels;
    for (size_t i = 0; i < sample.ids.size(); ++i) {
      ids += StrCat(i == 0 ? "" : ",", sample.ids[i]);
      labels += StrCat(i == 0 ? "" : ",", sample.labels[i]);
    }
    lines += StrCat("{\"input_ids\": [", ids, "], \"labels\": [", labels, "]}\n");
  }
  DataFiles files = {.paths = {JoinPath(folder, "samples.jsonl")},
                     .tokenise = {.vocab = 1'000'000, .sequence = sequence}};
  WriteBytes(io, files.paths[0], lines);
  const auto contents = HashFiles(io, files.paths);
  EXPECT_TRUE(contents.ok()) << contents.status();
  if (!contents.ok()) return nullptr;
  const Hash128 key = TokenCacheKey(files, *contents);
  const std::string path = JoinPath(folder, "samples.tokens");
  const auto written = WriteTokenCache(io, path, key, files, *contents, 1);
  EXPECT_TRUE(written.ok()) << written.status();
  auto cache = TokenCache::Open(io, path, key);
  EXPECT_TRUE(cache.ok()) << cache.status();
  return cache.ok() ? *std::move(cache) : nullptr;
}

std::vector<TokenLine> NumberedSamples(int count, int64_t sequence, uint32_t seed) {
  std::vector<TokenLine> samples;
  uint32_t state = seed;
  for (int i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    const size_t length = 2 + (state >> 8) % static_cast<size_t>(sequence - 1);
    TokenLine line;
    line.ids.assign(length, i);
    line.labels.assign(length, i);
    for (size_t t = 0; t + 1 < length; ++t) {
      if ((state >> (t % 20) & 3) == 0) line.labels[t] = -100;
    }
    samples.push_back(line);
  }
  return samples;
}

}  // namespace horizon
