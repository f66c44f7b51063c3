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
int s = ::socket(AF_INET, SOCK_STREAM, 0);
if (::bind(s, address, size) != 0) return;
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast.hpp>
#include <netinet/in.h>
ioctl(1, TIOCGWINSZ, &window);
#include <termios.h>
getrandom(p, 16, 0);
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
refused report/live/http_server.h '#include <boost/asio.hpp>'
refused report/terminal/frame.cc '#include <unistd.h>'
refused report/live/http_server.cc 'return ::unlink("x");'
refused kernels/a.cu '#include "absl/status/status.h"'
while read -r line; do refused kernels/a_cuda.cu "$line"; done <<'END'
Scale<<<blocks, 256, 0, stream>>>(values);
Scale<float> <<< blocks, 256 >>>(values);
return cudaLaunchKernel(Scale, grid, block, arguments, 0, stream);
__shared__ float tile[256];
extern __shared__ char all[];
  asm volatile("bar.sync 0;");
__shared__ Shares<float, 256> tile;
__shared__ SharedTile tile;
__shared__ S tile;
__shared__
cudaError_t error = cudaMalloc(&memory, bytes);
cudaMallocAsync(&memory, bytes, stream);
cudaFree(memory);
return cudaHostAlloc(&memory, bytes, 0);
cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
cudaMemcpy2D(to, 1, from, 1, 1, 1, cudaMemcpyDeviceToDevice);
cudaMemset(to, 0, bytes);
cudaDeviceSynchronize();
return ::cudaStreamSynchronize(stream);
if (cudaEventQuery(event) == cudaSuccess) return;
cudaStreamCreateWithFlags(&stream, 0);
END
refused kernels/cuda/cuda_reduce.cuh '  __shared__ float sums[8];'
refused kernels/cuda/cuda_launch.cuh 'cudaMalloc(&memory, bytes);'
refused runtime/device/cuda_image.cu 'DoNothing<<<1, 1>>>();'
refused runtime/device/cuda_device.cc 'cudaDeviceSynchronize();'
refused runtime/device/cuda_device.cc 'cudaMemcpy(to, from, bytes, kind);'
refused runtime/cuda_kernels.cc 'cudaMalloc(&memory, bytes);'
refused common/documents/json.cc '#include <yaml-cpp/yaml.h>'
refused experiments/fit.cc '#include <eigen3/Eigen/Dense>'
refused app/commands/model_command.cc '#include <boost/program_options.hpp>'
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
accepted common/files/posix_io.cc '#include <fcntl.h>' 'int fd = ::open("x", 0);'
accepted common/host_memory.cc '#include <sys/mman.h>' 'madvise(p, 1, 0);' 'munmap(p, 1);'
accepted common/signal_flag.cc '#include <signal.h>' 'sigaction(number, &action, nullptr);'
accepted common/clock.cc 'auto t = std::chrono::steady_clock::now();'
accepted common/documents/json.cc '#include <boost/json.hpp>'
accepted report/live/http_server.cc '#include <boost/asio/ip/tcp.hpp>'
accepted report/live/access_token.cc '#include <sys/random.h>' 'getrandom(p, 16, 0);'
accepted report/terminal/screen.cc '#include <termios.h>' '#include <unistd.h>' \
  'ioctl(1, TIOCGWINSZ, &window);' '::read(STDIN_FILENO, &key, 1);'
accepted common/documents/yaml.cc '#include <yaml-cpp/yaml.h>'
accepted common/least_squares.cc '#include <eigen3/Eigen/Dense>'
accepted app/options/command_line.cc '#include <boost/program_options.hpp>'
accepted app/main.cc 'std::getenv("NO_COLOR");'
accepted kernels/scale.cu '#include <cuda_runtime.h>' '__shared__ Shared<float, 256> tile;' \
  '  __shared__   Shared<T, kWarps> sums;' '// Scale<<<1, 1>>>() and cudaMalloc() are elsewhere' \
  'cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);' \
  'cudaMemsetAsync(to, 0, bytes, stream);' 'x = a << b;' 'return Launch(Scale, shape, stream, x);'
accepted kernels/cuda/cuda_launch.cuh 'kernel<<<grid, block, 0, stream>>>(x);' '__shared__ T values[N];'
accepted kernels/cuda/mma.cuh '  asm("mma.sync" : : );'
accepted runtime/device/cuda_handles.h 'cudaMalloc(&made, bytes);' 'cudaFree(memory);' \
  'cudaStreamSynchronize(stream);'
accepted runtime/device/cuda_device.cc '#include <cuda_runtime.h>'
accepted tests/a_test.cc 'std::ifstream in(path);'

((failures == 0)) && echo 'all as expected'
exit "$failures"
