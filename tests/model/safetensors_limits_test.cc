// The worst headers the format allows: what they cost in memory, measured in a process of its own.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>

#include "common/text/str_cat.h"
#include "model/files/safetensors_header.h"
#include "tests/model/safetensors_cases.h"

namespace horizon {
namespace {

// Sanitizers keep freed memory and shadows of the rest, so the bound says nothing there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCheckMemory = false;
#else
constexpr bool kCheckMemory = true;
#endif

constexpr size_t kHeaderBytes = kMaxSafetensorsHeaderBytes.value();
constexpr int64_t kLimitKib = int64_t{1} << 20;  // 1 GiB
constexpr rlim_t kCpuSeconds = 60;

// Runs in a child: builds the header, parses it, leaves with 0 if it was accepted and the peak
// memory of the whole process stayed below 1 GiB. The child dies of SIGXCPU where the cost is not
// linear: a minute is ten times what a slow machine needs and a thousandth of a quadratic search.
int ParseInChild(const std::function<std::string()>& make_header) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit cpu{.rlim_cur = kCpuSeconds, .rlim_max = kCpuSeconds};
    setrlimit(RLIMIT_CPU, &cpu);
    const std::string text = make_header();
    const bool accepted =
        text.size() <= kHeaderBytes && ParseSafetensorsHeader("worst.safetensors", text, 0_B).ok();
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::fprintf(stderr, "%zu bytes of header, peak %ld KiB, %ld.%03ld s in user mode\n",
                 text.size(), usage.ru_maxrss, usage.ru_utime.tv_sec,
                 usage.ru_utime.tv_usec / 1000);
    if (!accepted) _exit(1);
    _exit(!kCheckMemory || usage.ru_maxrss < kLimitKib ? 0 : 2);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Appends `entry(i)` until the header is full.
std::string Fill(std::string_view start, const std::function<std::string(size_t)>& entry,
                 std::string_view end, size_t most) {
  std::string text;
  text.reserve(kHeaderBytes);
  text += start;
  for (size_t i = 0; i < most; ++i) {
    const std::string next = StrCat(i == 0 ? "" : ",", entry(i));
    if (text.size() + next.size() + end.size() > kHeaderBytes) break;
    text += next;
  }
  text += end;
  return text;
}

// Four printable characters that need no escape, different for each of 88^4 numbers.
std::string ShortName(size_t i) {
  std::string name;
  for (int digit = 0; digit < 4; ++digit) {
    name.push_back(static_cast<char>(']' + 1 + i % 32));  // '^' to '}'
    i /= 32;
  }
  for (; i > 0; i /= 10) name.push_back(static_cast<char>('0' + i % 10));
  return name;
}

TEST(WorstHeader, OfAMillionTensors) {
  EXPECT_EQ(ParseInChild([] {
              return Fill(
                  "{",
                  [](size_t i) {
                    return EntryText(StrCat("model.layers.a.b.c.", i), "U8", "[0,1,1,1]", "[0,0]");
                  },
                  "}", kMaxSafetensorsTensors);
            }),
            0);
}

TEST(WorstHeader, OfOneTensorWithMillionsOfDimensions) {
  EXPECT_EQ(ParseInChild([] {
              return Fill(R"({"a":{"dtype":"U8","data_offsets":[0,0],"shape":[0,)",
                          [](size_t) { return std::string("1"); }, "]}}", kHeaderBytes);
            }),
            0);
}

TEST(WorstHeader, OfMillionsOfMetadata) {
  EXPECT_EQ(ParseInChild([] {
              return Fill(R"({"__metadata__":{)",
                          [](size_t i) { return StrCat("\"", ShortName(i), "\":\"\""); }, "}}",
                          kHeaderBytes);
            }),
            0);
}

TEST(WorstHeader, OfOneLongString) {
  EXPECT_EQ(ParseInChild([] {
              std::string text = R"({"__metadata__":{"k":")";
              text.resize(kHeaderBytes - 3, 'x');
              return text + "\"}}";
            }),
            0);
}

TEST(WorstHeader, OfSpacesAlone) {
  EXPECT_EQ(ParseInChild([] {
              std::string text = "{}";
              text.resize(kHeaderBytes, ' ');
              return text;
            }),
            0);
}

TEST(WorstHeader, OfNewLinesInside) {
  EXPECT_EQ(ParseInChild([] {
              std::string text = "{";
              text.resize(kHeaderBytes - 1, '\n');
              return text + "}";
            }),
            0);
}

}  // namespace
}  // namespace horizon
