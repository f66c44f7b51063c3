#pragma once

#include <cstdio>
#include <cstdlib>

// CHECK(x) guards against our own bugs only: nothing a flag, a file or a machine can cause may
// reach it (those return absl::Status). It is active in every build and ends the process at once.
#define CHECK(condition)                                                                    \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      std::fprintf(stderr, "%s:%d: internal error: CHECK(%s) failed\n", __FILE__, __LINE__, \
                   #condition);                                                             \
      std::abort();                                                                         \
    }                                                                                       \
  } while (false)
