#pragma once

#include <cstddef>
#include <cstdint>

// What every fuzz target defines, with libFuzzer's signature: it returns 0 and ends the process
// when something is wrong. fuzz_driver.cc brings a main() that calls it:
//   json_fuzz_test --runs 5000 [--first N] CORPUS_FILE...
// Every corpus file is tried as it is, then `runs` mutations of them. Mutation number n depends on
// n and the corpus only, so "--first n --runs 1" repeats it. The inputs run in a child process;
// when it dies, hangs the parent's patience or uses too much memory, the guilty input is printed.
// With --config=fuzz the same target is linked with libFuzzer, which brings its own main()
// (tools/fuzz.sh).
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
