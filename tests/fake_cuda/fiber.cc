#include "tests/fake_cuda/fiber.h"

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <utility>

#include "tests/fake_cuda/fault.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace fake_cuda {
namespace {

namespace context = boost::context::detail;

constexpr size_t kPage = 4096;
// Kernels keep a few hundred bytes; messages and the sanitizers need more.
constexpr size_t kStackBytes = size_t{128} << 10;

std::byte* MapStack() {
  void* mapped = mmap(nullptr, kPage + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED || mprotect(mapped, kPage, PROT_NONE) != 0) {
    Fault("no memory for the stack of a device thread");
  }
  return static_cast<std::byte*>(mapped) + kPage;
}

}  // namespace

struct Fiber::Switches {
  context::fcontext_t fiber = nullptr;
  context::fcontext_t scheduler = nullptr;
  const void* scheduler_stack = nullptr;  // address sanitizer
  size_t scheduler_bytes = 0;
  void* own_frames = nullptr;
  void* tsan_fiber = nullptr;  // thread sanitizer
  void* tsan_scheduler = nullptr;

  static void Begin(context::transfer_t from) {
    auto* self = static_cast<Fiber*>(from.data);
    self->switches_->scheduler = from.fctx;
    self->switches_->Arrived();
    self->body_();
  }

  void Arrived() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(own_frames, &scheduler_stack, &scheduler_bytes);
#endif
  }
};

Fiber::Fiber(std::function<void()> body)
    : body_(std::move(body)), stack_(MapStack()), switches_(new Switches) {
#if defined(__SANITIZE_THREAD__)
  switches_->tsan_fiber = __tsan_create_fiber(0);
#endif
  Restart();
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(switches_->tsan_fiber);
#endif
  munmap(stack_ - kPage, kPage + kStackBytes);
  delete switches_;
}

void Fiber::Restart() {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack_, kStackBytes);
#endif
  switches_->own_frames = nullptr;
  switches_->fiber = context::make_fcontext(stack_ + kStackBytes, kStackBytes, &Switches::Begin);
}

void Fiber::Resume() {
#if defined(__SANITIZE_THREAD__)
  switches_->tsan_scheduler = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(switches_->tsan_fiber, 0);
#endif
#if defined(__SANITIZE_ADDRESS__)
  void* frames = nullptr;
  __sanitizer_start_switch_fiber(&frames, stack_, kStackBytes);
#endif
  switches_->fiber = context::jump_fcontext(switches_->fiber, this).fctx;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(frames, nullptr, nullptr);
#endif
}

void Fiber::Yield() {
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(switches_->tsan_scheduler, 0);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&switches_->own_frames, switches_->scheduler_stack,
                                 switches_->scheduler_bytes);
#endif
  switches_->scheduler = context::jump_fcontext(switches_->scheduler, nullptr).fctx;
  switches_->Arrived();
}

}  // namespace fake_cuda
