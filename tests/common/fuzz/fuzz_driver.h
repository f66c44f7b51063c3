#pragma once

#include <cstddef>
#include <cstdint>

// The function that every fuzz target defines, with libFuzzer's signature. It returns 0, or ends
// the process if something is wrong. fuzz_driver.cc has a main() that calls it:
//   json_fuzz_test --runs 5000 [--first N] CORPUS_FILE...
// It tries every corpus file unchanged, then `runs` mutations of them. Mutation number n depends
// only on n and the corpus, so "--first n --runs 1" repeats it. The inputs run in a child process.
// If that dies, the driver prints the input that it died on; it also fails if the child used more
// than 512 MiB. With --config=fuzz the same target is linked with libFuzzer, which has its own
// main() (tools/fuzz.sh).
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
