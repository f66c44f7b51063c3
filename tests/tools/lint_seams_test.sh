#!/usr/bin/env bash
# Every way around a seam is found, in the right line, and nothing else is.
set -uo pipefail
failures=0
root=$TEST_TMPDIR/sources
fail() { printf 'FAILED %s\n' "$*"; failures=$((failures + 1)); }

# lint FILE LINE...: the findings in a repository that holds one such file.
lint() {
  rm -rf "$root"
  mkdir -p "$root/$(dirname "$1")"
  printf '%s\n' "${@:2}" >"$root/$1"
  tools/lint_seams.sh "$root"
}
refused() {
  local findings code=0
  findings=$(lint "$1" '#pragma once' "$2") || code=$?
  [[ $code == 1 && $findings == "$1:2: "* ]] || fail "not found in $1: $2 ($code: $findings)"
}
accepted() {
  local findings code=0
  findings=$(lint "$@") || code=$?
  [[ $code == 0 && -z $findings ]] || fail "wrongly found: $findings"
}

while read -r line; do refused model/a.cc "$line"; done <<'END'
int fd = ::open("x", 0);
int fd = openat(0, "x", 0);
#include <unistd.h>
int result = ::stat("x", &s);
if (read(fd, p, 1) < 0) return;
write(STDOUT_FILENO, p, 1);
return close(fd);
return ::pread(fd, p, 1, 0);
  x = (fsync(fd));
std::rename("a", "b");
FILE* f = std::fopen("x", "r");
std::ifstream in(path);
namespace fs = std::filesystem;
#include <filesystem>
#include <fcntl.h>
  #  include <sys/mman.h>
auto t = std::chrono::steady_clock::now();
auto t = Clock_clock::now();
std::this_thread::sleep_for(x);
const time_t t = time(nullptr);
std::random_device device;
int x = rand();
std::mt19937 generator(1);
std::signal(SIGTERM, handler);
sigaction(SIGINT, &a, nullptr);
#include <csignal>
const char* x = std::getenv("X");
system("ls");
void* l = dlopen("x.so", 0);
#include <boost/json.hpp>
#include "yaml-cpp/yaml.h"
#include <boost/program_options.hpp>
#include <cuda_runtime.h>
std::cout << 1;
std::fprintf(stderr, "x");
throw Error();
assert(size > 0);
using namespace std;
// TODO: later
END
refused kernels/a.cu '#include "absl/status/status.h"'
refused common/json.cc '#include <yaml-cpp/yaml.h>'
refused app/model_command.cc '#include <boost/program_options.hpp>'
refused common/a.h 'inline void F() { ::unlink("x"); }'
refused runtime/device/a.cc 'void* p = mmap(nullptr, 1, 0, 0, -1, 0);'
refused common/host_memory.cc 'FILE* f = std::fopen("x", "r");'
refused common/signal_flag.h '#include <signal.h>'
refused runtime/device/a.cc 'auto t = system_clock::now();'

accepted model/a.cc '// open(), time() and rand() are called elsewhere; throw nothing' \
  'Log("cannot open(x): throw");' 'auto f = io.Open(path, OpenMode::kRead);' 'file->close();' \
  'stream.read(p, 1);' 'ReopenFile(x);' 'Reader::read(1);' 'int opened(2);' \
  'for (size_t b = 0; b < 2; ++b) close(b, spans[b]);' 'std::vector<int> read(2);' 'runtime(3);' \
  'std::remove(a.begin(), a.end(), 1);' 'VirtualClock clock(mode);' 'int throws = 1;' \
  'static_assert(sizeof(int) == 4);' '#include "model/random_access.h"' 'std::snprintf(b, 1, x);'
accepted common/posix_io.cc '#include <fcntl.h>' 'int fd = ::open("x", 0);'
accepted common/host_memory.cc '#include <sys/mman.h>' 'madvise(p, 1, 0);' 'munmap(p, 1);'
accepted common/signal_flag.cc '#include <signal.h>' 'sigaction(number, &action, nullptr);'
accepted common/clock.cc 'auto t = std::chrono::steady_clock::now();'
accepted common/json.cc '#include <boost/json.hpp>'
accepted common/yaml.cc '#include <yaml-cpp/yaml.h>'
accepted app/command_line.cc '#include <boost/program_options.hpp>'
accepted app/main.cc 'std::getenv("NO_COLOR");'
accepted kernels/scale.cu '#include <cuda_runtime.h>'
accepted runtime/device/cuda_device.cc '#include <cuda_runtime.h>'
accepted tests/a_test.cc 'std::ifstream in(path);'

((failures == 0)) && echo 'all as expected'
exit "$failures"
