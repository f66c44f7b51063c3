#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/files/io.h"

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
  kSmallSums,  // one sum or difference of numbers from 1 to 9, plainly told; results up to 18
};

// Problem `number` of those of `seed`. ASCII text, no newlines.
StoryProblem MakeStoryProblem(uint64_t seed, uint64_t number,
                              StoryLevel level = StoryLevel::kMixed);

struct StoryFile {
  int64_t problems = 0;
  uint64_t seed = 0;
};
// Writes a file of JSON lines {"question", "answer"}, whole or not at all: the problems from number
// 0 on.
absl::Status WriteStoryFile(Io& io, const std::string& path, const StoryFile& file);

}  // namespace horizon
