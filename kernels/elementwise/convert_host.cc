#include <algorithm>

#include "common/check.h"
#include "kernels/elementwise/convert.h"
#include "kernels/host/pieces.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/convert_host.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {
namespace {

// How many elements lie before the first address that a vector of the tag may be streamed to.
template <class D, class T>
int64_t BeforeAligned(D d, const T* to) {
  const auto vector_bytes = static_cast<uintptr_t>(hn::Lanes(d) * sizeof(T));
  const uintptr_t past = reinterpret_cast<uintptr_t>(to) % vector_bytes;
  return static_cast<int64_t>((vector_bytes - past) % vector_bytes / sizeof(T));
}

// to[i .. i + n) = values(i, n) for a whole array, past the caches when `stream`: an array larger
// than they are is then written without being read first.
template <class D, class T, class Values>
HWY_INLINE void Fill(D d, T* to, int64_t count, bool stream, const Values& values) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  if (stream) {
    const int64_t before = std::min(count, BeforeAligned(d, to));
    if (before > 0) StorePart(d, values(0, before), to, before);
    for (i = before; i + lanes <= count; i += lanes) hn::Stream(values(i, lanes), d, to + i);
    hwy::FlushStream();
  }
  for (; i + lanes <= count; i += lanes) hn::StoreU(values(i, lanes), d, to + i);
  if (i < count) StorePart(d, values(i, count - i), to + i, count - i);
}

void ExpandRun(const ExpandWeights& args, int64_t first, int64_t count, bool stream) {
  const uint16_t* hi = args.hi + first;
  if (args.lo == nullptr) {
    Fill(F32(), args.weights + first, count, stream, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
      return ExpandBf16(LoadPart(U16(), hi + i, n));
    });
    return;
  }
  const int16_t* lo = args.lo + first;
  Fill(F32(), args.weights + first, count, stream, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    const I32Vec low = hn::PromoteTo(I32(), LoadPart(I16(), lo + i, n));
    const I32Vec high = hn::BitCast(I32(), ExpandBf16(LoadPart(U16(), hi + i, n)));
    return hn::BitCast(F32(), hn::Add(high, low));
  });
}

void StoreRun(const StoreGradient& args, int64_t first, int64_t count) {
  StoreGradients(args.gradient.From(first), args.sum + first, count);
}

// What has arrived, `gradient(i, n)`, into or onto the kept array.
template <class Gradient>
HWY_INLINE void AccumulateInto(const Accumulate& args, int64_t first, int64_t count, bool stream,
                               const Gradient& gradient) {
  if (args.kept_fp32 != nullptr) {
    float* kept = args.kept_fp32 + first;
    if (!args.add) return Fill(F32(), kept, count, stream, gradient);
    Fill(F32(), kept, count, false, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
      return hn::Add(LoadPart(F32(), kept + i, n), gradient(i, n));
    });
    return;
  }
  uint16_t* kept = args.kept_bf16 + first;
  Fill(U16(), kept, count, false, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    if (!args.add) return ToBf16(gradient(i, n));
    return ToBf16(hn::Add(ExpandBf16(LoadPart(U16(), kept + i, n)), gradient(i, n)));
  });
}

void AccumulateRun(const Accumulate& args, int64_t first, int64_t count, bool stream) {
  if (args.gradient_fp32 != nullptr) {
    const float* gradient = args.gradient_fp32 + first;
    AccumulateInto(args, first, count, stream, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
      return LoadPart(F32(), gradient + i, n);
    });
  } else {
    const uint16_t* gradient = args.gradient_bf16 + first;
    AccumulateInto(args, first, count, stream, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
      return ExpandBf16(LoadPart(U16(), gradient + i, n));
    });
  }
}

void ScaleRun(const Scale& args, int64_t first, int64_t count) {
  const F32 f32;
  float* values = args.values + first;
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    StorePart(f32, hn::Mul(LoadPart(f32, values + i, n), hn::Set(f32, args.factor)), values + i, n);
  });
}

void CopyRun(const uint8_t* from, uint8_t* to, int64_t count, bool stream) {
  const hn::ScalableTag<uint8_t> u8;
  Fill(u8, to, count, stream,
       [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY { return LoadPart(u8, from + i, n); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(ExpandRun);
HWY_EXPORT(StoreRun);
HWY_EXPORT(AccumulateRun);
HWY_EXPORT(ScaleRun);
HWY_EXPORT(CopyRun);

constexpr int64_t kPiece = int64_t{64} << 10;       // elements
constexpr int64_t kCopyPiece = int64_t{256} << 10;  // bytes

// What is written by one call and is at least this large is unlikely to be still in a cache when it
// is read. Does not change bits.
constexpr int64_t kStreamedBytes = int64_t{8} << 20;

bool IsStreamed(int64_t bytes) { return bytes >= kStreamedBytes; }

}  // namespace

absl::Status ExpandWeightsHost(const KernelContext& context, const ExpandWeights& args) {
  CHECK(args.count >= 0);
  const bool stream = IsStreamed(args.count * static_cast<int64_t>(sizeof(float)));
  RunPieces(context, args.count, kPiece, [&](int64_t first, int64_t count) {
    HWY_DYNAMIC_DISPATCH(ExpandRun)(args, first, count, stream);
  });
  return absl::OkStatus();
}

absl::Status StoreGradientHost(const KernelContext& context, const StoreGradient& args) {
  CHECK(args.count >= 0);
  CHECK((args.gradient.sum == nullptr) != (args.gradient.bf16 == nullptr) || args.count == 0);
  RunPieces(context, args.count, kPiece, [&](int64_t first, int64_t count) {
    HWY_DYNAMIC_DISPATCH(StoreRun)(args, first, count);
  });
  return absl::OkStatus();
}

absl::Status AccumulateHost(const KernelContext& context, const Accumulate& args) {
  CHECK(args.count >= 0);
  if (args.count == 0) return absl::OkStatus();
  CHECK((args.gradient_fp32 == nullptr) != (args.gradient_bf16 == nullptr));
  CHECK((args.kept_fp32 == nullptr) != (args.kept_bf16 == nullptr));
  if (!args.add && args.gradient_bf16 != nullptr && args.kept_bf16 != nullptr) {
    return CopyBytesHost(context, {.bytes = args.count * static_cast<int64_t>(sizeof(uint16_t)),
                                   .from = args.gradient_bf16,
                                   .to = args.kept_bf16});
  }
  const bool stream = IsStreamed(args.count * static_cast<int64_t>(sizeof(float)));
  RunPieces(context, args.count, kPiece, [&](int64_t first, int64_t count) {
    HWY_DYNAMIC_DISPATCH(AccumulateRun)(args, first, count, stream);
  });
  return absl::OkStatus();
}

absl::Status ScaleHost(const KernelContext& context, const Scale& args) {
  CHECK(args.count >= 0);
  RunPieces(context, args.count, kPiece, [&](int64_t first, int64_t count) {
    HWY_DYNAMIC_DISPATCH(ScaleRun)(args, first, count);
  });
  return absl::OkStatus();
}

absl::Status CopyBytesHost(const KernelContext& context, const CopyBytes& args) {
  CHECK(args.bytes >= 0);
  const bool stream = IsStreamed(args.bytes);
  const auto* from = static_cast<const uint8_t*>(args.from);
  auto* to = static_cast<uint8_t*>(args.to);
  RunPieces(context, args.bytes, kCopyPiece, [&](int64_t first, int64_t count) {
    HWY_DYNAMIC_DISPATCH(CopyRun)(from + first, to + first, count, stream);
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE
