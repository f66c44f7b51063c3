#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/io.h"

namespace horizon {

// Arithmetic word problems made by rule, in any number: data to learn from that needs no download.
// Everything is a pure function of seed and number.

enum class StoryKind { kAdd, kSubtract, kMultiply, kTwoSteps };

struct StoryProblem {
  StoryKind kind = StoryKind::kAdd;
  std::string question;  // "Mia has 12 apples. She finds 7 more. How many apples does ..."
  std::string answer;    // "12 + 7 = 19. The answer is 19."
  int64_t result = 0;    // 19; never negative
};

// How hard they are.
enum class StoryLevel {
  kMixed,      // all kinds, results up to 204
  kSmallSums,  // one sum or difference of numbers from 1 to 9; results up to 18
};

// Problem `number` of those of `seed`. ASCII text, no newlines.
StoryProblem MakeStoryProblem(uint64_t seed, uint64_t number,
                              StoryLevel level = StoryLevel::kMixed);

// Tokens are bytes; the separator stands behind each problem.
inline constexpr int32_t kStorySeparator = 256;
inline constexpr int64_t kStoryVocab = 257;

struct StoryFile {
  int64_t lines = 0;
  int64_t sequence = 0;  // tokens of each line
  uint64_t seed = 0;
};
// Writes a file for `--data-format tokens` (runtime/data/token_line.h), whole or not at all: each
// line is filled with problems, "QUESTION ANSWER" and a separator, the last one cut at the line's
// end. No problem is in two lines.
absl::Status WriteStoryFile(Io& io, const std::string& path, const StoryFile& file);

}  // namespace horizon
