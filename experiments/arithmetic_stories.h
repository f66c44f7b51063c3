#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/files/io.h"

namespace horizon {

// Generates arithmetic word problems, as many as needed: training data that needs no download.
// Every problem is a pure function of the seed and its number.

// The arithmetic that a problem asks for.
enum class StoryKind { kAdd, kSubtract, kMultiply, kTwoSteps };

// One word problem with its answer.
struct StoryProblem {
  StoryKind kind = StoryKind::kAdd;
  std::string question;  // "Mia has 12 apples. She finds 7 more. How many apples does ..."
  std::string answer;    // "12 + 7 = 19. The answer is 19."
  int64_t result = 0;    // 19; never negative
};

// How hard the problems are.
enum class StoryLevel {
  kMixed,      // all kinds, results up to 204
  kSmallSums,  // one sum or difference of numbers from 1 to 9 in plain words; results up to 18
};

// Problem `number` of the series of `seed`. The texts are ASCII without newlines.
StoryProblem MakeStoryProblem(uint64_t seed, uint64_t number,
                              StoryLevel level = StoryLevel::kMixed);

// What WriteStoryFile writes.
struct StoryFile {
  int64_t problems = 0;
  uint64_t seed = 0;
};
// Writes the problems from number 0 on as JSON lines {"question", "answer"}. The file appears whole
// or not at all. Io's errors.
absl::Status WriteStoryFile(Io& io, const std::string& path, const StoryFile& file);

}  // namespace horizon
