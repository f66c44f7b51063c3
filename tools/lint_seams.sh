#!/usr/bin/env bash
# tools/lint_seams.sh [ROOT]: files, time, randomness, signals, the environment, CUDA and the libraries
# that throw are reached in few places only, so that tests can stand in for each. Prints every line that
# goes around one of them, with the place it should have gone through; exit code 1 if there is any.
set -euo pipefail
root=${1:-$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/..}
cd "$root"

# A call of one of these names that is nobody's member and no function of ours (Io::Open has capitals).
call() { printf '(^|[^A-Za-z0-9_.>:]|[^A-Za-z0-9_>]::|return |std::)(%s)[[:space:]]*\\(' "$1"; }
include() { printf '#[[:space:]]*include[[:space:]]*[<"](%s)' "$1"; }

# Each rule: what it is about, a pattern, and the files (as a pattern) where it is right.
rules=''
rule() { rules+="$1"$'\t'"$2"$'\t'"$3"$'\n'; }

posix_io='common/files/posix_[a-z_]*\.(cc|h)'
anonymous_memory='common/host_memory\.cc'
terminal='(report/terminal/screen|common/terminal_width)\.cc'
token='report/live/access_token\.cc'
# Short names that are also good words for functions of ours count when they name the global one or
# take a descriptor.
short='open|creat|read|write|close|stat|truncate|dup|dup2|pipe|link|remove'
rule 'file access goes through common/files/io.h' \
  "(^|[^A-Za-z0-9_>])::($short)[[:space:]]*\\(|$(call "$short")(fd|STD(IN|OUT|ERR)_FILENO)" \
  "$posix_io|app/output\.cc|common/signal_flag\.cc|$terminal"
rule 'file access goes through common/files/io.h' \
  "$(call 'openat|pread|readv|pwrite|writev|fsync|fdatasync|ftruncate|rename|renameat2?|unlink|unlinkat|mkdir|mkdirat|rmdir|opendir|readdir|lstat|fstat|statvfs|msync|flock|lockf|fcntl|fopen|freopen|fdopen|tmpfile|mkstemp')" \
  "$posix_io|app/output\.cc"
rule 'large memory goes through common/host_memory.h' \
  "$(call 'mmap|munmap|madvise|mlock|munlock')|$(include 'sys/mman\.h')" \
  "$posix_io|$anonymous_memory"
rule 'file access goes through common/files/io.h' \
  "$(include 'fcntl\.h|dirent\.h|sys/stat\.h|sys/statvfs\.h|sys/file\.h|fstream|filesystem')|std::[io]?fstream|std::filesystem" \
  "$posix_io|app/output\.cc"
rule 'the operating system is asked in few places' "$(include 'unistd\.h|sys/')" \
  "$posix_io|$anonymous_memory|app/output\.cc|common/(files/io|log|progress|signal_flag|threads/thread_pool|threads/thread_turns)\.cc|$terminal|$token"
rule 'time goes through common/clock.h' \
  "_clock::now|sleep_(for|until)|$(call 'time|gettimeofday|clock_gettime|usleep|nanosleep|sleep')|$(include 'ctime|time\.h|sys/time\.h')" \
  'common/clock\.cc'
rule 'randomness comes from a seed and a counter' \
  "std::(random_device|mt19937|default_random_engine|shuffle)|$(call 'rand|srand|random|drand48|getrandom')|$(include 'random')" \
  "$token"
rule 'signals are handled in one place' \
  "$(call 'signal|sigaction|raise|kill|sigprocmask|pthread_sigmask|pthread_kill|alarm')|$(include 'csignal|signal\.h')" \
  'common/signal_flag\.cc'
rule 'the environment is read by main' "$(call 'getenv|secure_getenv|setenv|putenv|unsetenv')" \
  'app/main\.cc'
rule 'nothing starts other programs' \
  "$(call 'system|popen|fork|vfork|execv|execve|execvp|execl|posix_spawn')" '-'
rule 'libraries are opened through common/shared_library.h' \
  "$(call 'dlopen|dlmopen|dlsym')|$(include 'dlfcn\.h')" 'common/shared_library\.cc|kernels/gemm/cublas_lt_library\.cc'
# hwloc reads /sys by itself, past Io: only how the machine is built, and with made-up machines in tests.
rule 'hwloc stays in planner/profile/host/hwloc_topology.cc' "$(include 'hwloc')" 'planner/profile/host/hwloc_topology\.cc'
rule 'sockets stay in report/live/http_server.cc' \
  "$(call 'socket|socketpair|listen|accept4?|recv|recvfrom|recvmsg|sendto|sendmsg|getaddrinfo')|(^|[^A-Za-z0-9_>])::(bind|connect|send)[[:space:]]*\\(|$(include 'boost/(asio|beast)|sys/socket\.h|netinet/|arpa/|netdb\.h')" \
  'report/live/http_server\.cc'
rule 'terminals are asked in report/terminal/screen.cc' \
  "$(call 'ioctl|tcgetattr|tcsetattr|openpty|forkpty')|$(include 'termios\.h|pty\.h|poll\.h|curses\.h')" "$terminal"
rule 'Boost.JSON stays in common/documents/json.cc' "$(include 'boost/json')" 'common/documents/json\.cc'
rule 'Eigen stays in common/least_squares.cc' "$(include '(eigen3/|unsupported/)?Eigen/')" 'common/least_squares\.cc'
rule 'yaml-cpp stays in common/documents/yaml.cc' "$(include 'yaml-cpp')" 'common/documents/yaml\.cc'
rule 'Boost.Program_options stays in app/options/command_line.cc' "$(include 'boost/program_options')" \
  'app/options/command_line\.cc'
rule 'CUDA stays in .cu, .cuh and the files named cuda' "$(include 'cuda|cublas|nvml|nvtx')" \
  '.*\.cuh?|(.*/)?[a-z_]*cuda[a-z_]*\.(cc|h)|kernels/gemm/cublas_lt_library\.cc'
# These are what tests/fake_cuda puts its checks into.
rule 'kernels are launched through Launch of kernels/cuda/cuda_launch.cuh' \
  "<<<|$(call 'cudaLaunch[A-Za-z]*|cuLaunch[A-Za-z]*')" 'kernels/cuda/cuda_launch\.cuh'
not_shared='[^[:space:]S]|S[^h]|Sh[^a]|Sha[^r]|Shar[^e]|Share[^d]|Shared[^<]'
rule 'shared memory is Shared<T, N> of kernels/cuda/cuda_launch.cuh' \
  "__shared__[[:space:]]*($not_shared|$)" 'kernels/cuda/cuda_launch\.cuh'
rule 'PTX is written in kernels/cuda/mma.cuh' '(^|[^A-Za-z0-9_])asm([^A-Za-z0-9_]|$)' \
  'kernels/cuda/mma\.cuh|common/threads/workers\.cc'
rule 'memory, streams, events and waiting of a CUDA device belong to runtime/device' \
  "$(call 'cuda(Malloc|Free|HostAlloc|HostRegister|HostUnregister|StreamCreate|EventCreate)[A-Za-z]*|cuda(Stream|Event)(Synchronize|Query)')" \
  'runtime/device/.*'
rule 'nothing waits for a whole CUDA device' \
  "$(call 'cudaDeviceSynchronize|cuda(Memcpy|Memset)(2D|3D)?|cudaMemcpy(To|From)Symbol')" '-'
rule 'a .cu file does not include Abseil' "$(include 'absl/')" '.*\.(cc|h|cuh)'
rule 'libraries do not print' \
  "std::(cout|cerr|clog)|$(call 'printf|fprintf|puts|fputs|putchar|perror')|$(include 'iostream')" \
  'common/(log|progress)\.cc|common/check\.h|experiments/(fit_calibration|prediction_errors)\.cc'
rule 'errors are Status, not exceptions' '(^|[^A-Za-z0-9_])throw([^A-Za-z0-9_]|$)' \
  'common/documents/yaml\.cc'
rule 'bad input is no assertion' "$(call 'assert')|$(include 'cassert|assert\.h')" '-'
rule 'names are spelled out' 'using namespace ' '-'
rule 'what is not done has an issue' 'TODO|FIXME|XXX' '-'

# One pass over all sources. Comments and strings are blanked first: they may speak of open().
for folder in app common experiments kernels model planner presentation report runtime schedule selftest simulator training; do
  [[ ! -d $folder ]] || find "$folder" -type f \
    \( -name '*.cc' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \)
done | LC_ALL=C sort |
  rules=$rules awk '
    BEGIN {
      count = split(ENVIRON["rules"], lines, "\n") - 1
      for (i = 1; i <= count; ++i) {
        split(lines[i], parts, "\t")
        about[i] = parts[1]; pattern[i] = parts[2]; allowed[i] = "^(" parts[3] ")$"
      }
    }
    {
      file = $0
      for (number = 1; (getline line < file) > 0; ++number) {
        code = line
        if (code !~ /^[ \t]*#[ \t]*include/) {
          gsub(/"([^"\\]|\\.)*"/, "\"\"", code)
          if (code !~ /TODO|FIXME|XXX/) sub(/\/\/.*/, "", code)
        }
        for (i = 1; i <= count; ++i) {
          if (code ~ pattern[i] && file !~ allowed[i]) {
            sub(/^[ \t]+/, "", line)
            printf "%s:%d: %s: %s\n", file, number, about[i], line
            found = 1
          }
        }
      }
      close(file)
    }
    END { exit found }'
