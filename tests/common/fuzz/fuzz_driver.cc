#include "tests/common/fuzz/fuzz_driver.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "common/files/io.h"
#include "tests/common/fuzz/mutate.h"

namespace horizon {
namespace {

// No input may make a parser take more than 512 MiB. Sanitizers keep freed memory, so it is not
// checked there.
constexpr int64_t kMaxResidentKib = int64_t{512} * 1024;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCheckMemory = false;
#else
constexpr bool kCheckMemory = true;
#endif

struct Arguments {
  int64_t first = 0;
  int64_t runs = 2000;
  std::vector<std::string> files;
};

bool ReadArguments(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word != "--runs" && word != "--first") {
      arguments->files.push_back(word);
      continue;
    }
    int64_t* number = word == "--runs" ? &arguments->runs : &arguments->first;
    if (++i == argc || !absl::SimpleAtoi(argv[i], number) || *number < 0) return false;
  }
  return !arguments->files.empty();
}

bool ReadCorpus(const std::vector<std::string>& files, std::vector<std::string>* corpus) {
  const std::unique_ptr<Io> io = MakePosixIo();
  for (const std::string& file : files) {
    absl::StatusOr<std::string> text = ReadTextFile(*io, file);
    if (!text.ok()) {
      std::fprintf(stderr, "%s\n", text.status().ToString().c_str());
      return false;
    }
    corpus->push_back(*std::move(text));
  }
  return true;
}

void TryInput(std::string_view input) {
  // An exact allocation, so that a sanitizer sees the first byte read past the end.
  const auto exact = std::make_unique<uint8_t[]>(input.size());
  std::copy(input.begin(), input.end(), exact.get());
  LLVMFuzzerTestOneInput(exact.get(), input.size());
}

std::string InputOf(int64_t number, const std::vector<std::string>& corpus) {
  if (number < 0) return corpus[static_cast<size_t>(-number - 1)];
  return Mutated(corpus, static_cast<uint64_t>(number));
}

// Tells the parent which input is being tried: corpus file i is -1 - i, mutations count from 0.
int64_t* SharedNumber() {
  void* memory =
      mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) int64_t(0);
}

void TryAll(const Arguments& arguments, const std::vector<std::string>& corpus,
            volatile int64_t* current) {
  for (size_t i = 0; i < corpus.size(); ++i) {
    *current = -1 - static_cast<int64_t>(i);
    TryInput(corpus[i]);
  }
  for (int64_t run = arguments.first; run < arguments.first + arguments.runs; ++run) {
    *current = run;
    TryInput(Mutated(corpus, static_cast<uint64_t>(run)));
  }
}

int Report(int64_t number, std::string_view input, std::string_view what) {
  std::fprintf(stderr, "%.*s with input %lld (%s), %zu bytes:\n\"%s\"\n",
               static_cast<int>(what.size()), what.data(), static_cast<long long>(number),
               number < 0 ? "a corpus file" : "a mutation", input.size(),
               absl::CEscape({input.data(), std::min<size_t>(input.size(), 4096)}).c_str());
  return 1;
}

int Run(const Arguments& arguments, const std::vector<std::string>& corpus) {
  int64_t* current = SharedNumber();
  const pid_t child = current == nullptr ? -1 : fork();
  if (child == -1) {
    std::perror("cannot start the child process that tries the inputs");
    return 1;
  }
  if (child == 0) {
    TryAll(arguments, corpus, current);
    std::fflush(nullptr);
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child) return 1;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Report(*current, InputOf(*current, corpus), "the process ended");
  }
  if (kCheckMemory && usage.ru_maxrss > kMaxResidentKib) {
    return Report(*current, "", "more than 512 MiB were used by the inputs, ending");
  }
  std::printf("%zu corpus files and %lld mutations tried\n", corpus.size(),
              static_cast<long long>(arguments.runs));
  return 0;
}

}  // namespace
}  // namespace horizon

int main(int argc, char** argv) {
  horizon::Arguments arguments;
  std::vector<std::string> corpus;
  if (!horizon::ReadArguments(argc, argv, &arguments)) {
    std::fprintf(stderr, "use: %s [--runs N] [--first N] CORPUS_FILE...\n", argv[0]);
    return 2;
  }
  if (!horizon::ReadCorpus(arguments.files, &corpus)) return 1;
  return horizon::Run(arguments, corpus);
}
