#include "kernels/gemm/blas.h"

#include <cblas.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "common/check.h"
#include "common/host_memory.h"
#include "common/shared_library.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {
namespace {

constexpr char kLibrary[] = "libopenblas.so.0";
// What the library itself takes of the address space: its code, and what it allocates when loaded.
constexpr Bytes kLibraryBytes = 64_MiB;
// BUFFER_SIZE of OpenBLAS 0.3 on x86-64 (common_x86_64.h); on other processors it is less.
constexpr Bytes kBufferBytes = 128_MiB;
// Left to others who map something between our look and the library's mapping.
constexpr Bytes kHeadroomBytes = 16_MiB;

// OpenBLAS's own functions for its buffers (driver/others/memory.c). A buffer that was given back
// stays mapped and is the next one taken.
using TakeBuffer = void*(int);
using GiveBackBuffer = void(void*);

struct Functions {
  decltype(cblas_sgemm)* sgemm = nullptr;
  TakeBuffer* take_buffer = nullptr;  // null where the library does not show it
  GiveBackBuffer* give_back_buffer = nullptr;
};

absl::StatusOr<Functions> FunctionsOf(const SharedLibrary& library) {
  const Functions found{.sgemm = library.Find<decltype(cblas_sgemm)>("cblas_sgemm"),
                        .take_buffer = library.Find<TakeBuffer>("blas_memory_alloc"),
                        .give_back_buffer = library.Find<GiveBackBuffer>("blas_memory_free")};
  auto* set_threads = library.Find<decltype(openblas_set_num_threads)>("openblas_set_num_threads");
  if (found.sgemm == nullptr || set_threads == nullptr) {
    return absl::UnavailableError(
        StrCat(kLibrary, " is not OpenBLAS: it has no cblas_sgemm; install libopenblas0-pthread"));
  }
  // OpenBLAS would use threads of its own, and give other bits with them.
  set_threads(1);
  return found;
}

// Whether so much address space is left. The mapping is given back at once.
absl::Status CheckRoom(Bytes bytes, int threads) {
  const absl::StatusOr<HostMemory> room =
      HostMemory::Create(bytes, {.populate = false, .huge_pages = false});
  if (room.ok()) return absl::OkStatus();
  return absl::ResourceExhaustedError(StrCat(
      "matrix multiplies on ", threads, threads == 1 ? " thread take " : " threads take ",
      ToString(bytes),
      " of address space (OpenBLAS reserves 128 MiB for each thread and uses a small part), and "
      "the system refuses it: raise ulimit -v and ulimit -d, or use fewer threads"));
}

// The library and how many of its buffers are mapped and leased. Made once and never destroyed: a
// thread may still compute while the process ends.
class Library {
 public:
  static Library& Get() {
    static auto* const library = new Library();
    return *library;
  }

  absl::Status Take(int threads) {
    if (leased_.fetch_add(threads) + threads <= mapped_) return absl::OkStatus();
    absl::Status status = Grow(threads);
    if (!status.ok()) leased_ -= threads;
    return status;
  }
  void GiveBack(int threads) { leased_ -= threads; }
  // After a lease was taken, which orders this after the load.
  const Functions& functions() const { return functions_; }

 private:
  absl::Status Grow(int threads) {
    const std::scoped_lock lock(mutex_);
    const int wanted = std::max(leased_.load(), threads);
    if (wanted <= mapped_) return absl::OkStatus();
    // Others may hold those that are mapped while new ones are taken.
    const Bytes buffers = kBufferBytes * static_cast<uint64_t>(wanted);
    RETURN_IF_ERROR(CheckRoom(buffers + kHeadroomBytes + (loaded_ ? 0_B : kLibraryBytes), wanted));
    if (!loaded_) RETURN_IF_ERROR(Load());
    if (functions_.take_buffer != nullptr && functions_.give_back_buffer != nullptr) {
      // Held together, so that each is another one.
      std::vector<void*> held;
      held.reserve(static_cast<size_t>(wanted));
      for (int i = 0; i < wanted; ++i) held.push_back(functions_.take_buffer(0));
      for (void* buffer : held) functions_.give_back_buffer(buffer);
    }
    mapped_ = wanted;
    return absl::OkStatus();
  }

  absl::Status Load() {
    absl::StatusOr<SharedLibrary> library = SharedLibrary::Open(kLibrary);
    if (!library.ok()) {
      return absl::UnavailableError(
          StrCat(library.status().message(), "; install libopenblas0-pthread"));
    }
    ASSIGN_OR_RETURN(functions_, FunctionsOf(*library));
    // It stays open for as long as the process lives.
    new SharedLibrary(*std::move(library));
    loaded_ = true;
    return absl::OkStatus();
  }

  std::atomic<int> leased_{0};
  std::atomic<int> mapped_{0};  // written under mutex_
  std::mutex mutex_;
  bool loaded_ = false;  // guarded by mutex_
  Functions functions_;  // written under mutex_ before mapped_ rises above 0
};

}  // namespace

absl::StatusOr<BlasLease> BlasLease::Take(int threads) {
  CHECK(threads >= 1);
  RETURN_IF_ERROR(Library::Get().Take(threads));
  return BlasLease(threads);
}

BlasLease::~BlasLease() {
  if (threads_ > 0) Library::Get().GiveBack(threads_);
}

void MultiplyTile(const BlasTile& tile) {
  Library::Get().functions().sgemm(
      CblasRowMajor, tile.a_transposed == Transposed::kYes ? CblasTrans : CblasNoTrans,
      tile.b_transposed == Transposed::kYes ? CblasTrans : CblasNoTrans, static_cast<int>(tile.m),
      static_cast<int>(tile.n), static_cast<int>(tile.k), tile.alpha, tile.a,
      static_cast<int>(tile.a_stride), tile.b, static_cast<int>(tile.b_stride), tile.beta, tile.c,
      static_cast<int>(tile.c_stride));
}

}  // namespace horizon
