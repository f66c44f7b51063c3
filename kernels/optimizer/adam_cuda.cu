#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_reduce.cuh"
#include "kernels/cuda/cuda_thread_elements.cuh"
#include "kernels/optimizer/adam_launch.h"

namespace horizon {
namespace {

constexpr int kThreads = 256;
// A warp handles one moment block, and each of its lanes kElementsPerThread parameters of it.
constexpr int64_t kMomentBlocksPerThreadBlock = kThreads / kWarpThreads;
static_assert(kAdamBlock == kWarpThreads * kElementsPerThread);

// The random bits of adam_moments.h.
__host__ __device__ __forceinline__ uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
__device__ __forceinline__ uint32_t RandomWord(uint64_t z, uint32_t number) {
  uint32_t x = number ^ static_cast<uint32_t>(z);
  x = (x ^ (x >> 16)) * 0x7FEB352Du;
  x = (x ^ (x >> 15)) + static_cast<uint32_t>(z >> 32);
  x *= 0x846CA68Bu;
  return x ^ (x >> 16);
}
// The random bits of the thread's parameters, from `number` on. `step` is Mix(Mix(key + ...) ^
// step).
__device__ __forceinline__ ThreadElements<uint32_t> RandomWords(uint64_t step, uint64_t number) {
  ThreadElements<uint32_t> words;
  uint64_t z = Mix(step ^ (number >> 32));
#pragma unroll
  for (int j = 0; j < kElementsPerThread; ++j, ++number) {
    const auto low = static_cast<uint32_t>(number);
    if (j > 0 && low == 0) z = Mix(step ^ (number >> 32));
    words[j] = RandomWord(z, low);
  }
  return words;
}

// Encodes and decodes 8-bit codes: small floats with 3 bits of mantissa and a least binade that
// begins at 2^kLeast. The code of a number below 2^kLeast comes from the fp32 bits of its sum with
// 2^kLeast, because the unit of that sum is the unit of the code.
template <int kLeast>
struct SmallFloat {
  static constexpr uint32_t kBase = static_cast<uint32_t>(127 + kLeast) << 3;

  __device__ static __forceinline__ float Least() { return __uint_as_float(kBase << 20); }
  __device__ static __forceinline__ float Decode(uint32_t code) {
    if (code < 8) return __fsub_rn(__uint_as_float((kBase + code) << 20), Least());
    return __uint_as_float((kBase - 8 + code) << 20);
  }
  __device__ static __forceinline__ uint32_t Encode(float units, uint32_t word) {
    const bool small = units < Least();
    const float lifted = small ? __fadd_rn(units, Least()) : units;
    const uint32_t base = small ? kBase : kBase - 8;
    return ((__float_as_uint(lifted) + (word << 4) + 8) >> 20) - base;
  }
};
using CodesOfM = SmallFloat<-14>;
using CodesOfV = SmallFloat<-30>;

__device__ __forceinline__ uint32_t WordOfM(uint32_t word) { return word >> 16; }
__device__ __forceinline__ uint32_t WordOfV(uint32_t word) { return word & 0xFFFF; }

struct Moments {
  ThreadElements<float> m;
  ThreadElements<float> v;
};

// The parameters of a thread: [first, first + count) of the call, of which it takes
// kElementsPerThread at most. `count` is 0 or less for a thread past the end.
struct Place {
  int64_t block;  // their moment block
  int64_t first;
  int64_t count;
  bool whole;  // as in LoadElements
};

// Each format of moments has a struct that loads and stores it. `step` is as in RandomWords.
struct Fp32Moments {
  float* m;
  float* v;

  explicit Fp32Moments(const AdamUpdate& args)
      : m(static_cast<float*>(args.m)), v(static_cast<float*>(args.v)) {}
  bool IsAligned() const { return IsAlignedForVectors(m) && IsAlignedForVectors(v); }
  __device__ __forceinline__ Moments Load(const Place& at) const {
    return {LoadElements(m + at.first, at.count, at.whole),
            LoadElements(v + at.first, at.count, at.whole)};
  }
  __device__ __forceinline__ void Store(const Place& at, const Moments& now, uint64_t /*step*/,
                                        uint64_t /*number*/) const {
    StoreElements(m + at.first, now.m, at.count, at.whole);
    StoreElements(v + at.first, now.v, at.count, at.whole);
  }
};

struct Bf16Moments {
  uint16_t* m;
  uint16_t* v;

  explicit Bf16Moments(const AdamUpdate& args)
      : m(static_cast<uint16_t*>(args.m)), v(static_cast<uint16_t*>(args.v)) {}
  bool IsAligned() const { return IsAlignedForVectors(m) && IsAlignedForVectors(v); }
  __device__ __forceinline__ Moments Load(const Place& at) const {
    return {LoadAsFloat(m + at.first, at.count, at.whole),
            LoadAsFloat(v + at.first, at.count, at.whole)};
  }
  __device__ __forceinline__ void Store(const Place& at, const Moments& now, uint64_t step,
                                        uint64_t number) const {
    const ThreadElements<uint32_t> words = RandomWords(step, number);
    ThreadElements<uint16_t> new_m;
    ThreadElements<uint16_t> new_v;
#pragma unroll
    for (int j = 0; j < kElementsPerThread; ++j) {
      new_m[j] = static_cast<uint16_t>((__float_as_uint(now.m[j]) + WordOfM(words[j])) >> 16);
      new_v[j] = static_cast<uint16_t>((__float_as_uint(now.v[j]) + WordOfV(words[j])) >> 16);
    }
    StoreElements(m + at.first, new_m, at.count, at.whole);
    StoreElements(v + at.first, new_v, at.count, at.whole);
  }
};

// The scale of a moment block, from the values that the lanes of a warp hold.
__device__ __forceinline__ float ScaleOf(const ThreadElements<float>& values) {
  uint32_t largest = 0;
#pragma unroll
  for (int j = 0; j < kElementsPerThread; ++j)
    largest = max(largest, __float_as_uint(values[j]) & 0x7FFFFFFFu);
#pragma unroll
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
    largest = max(largest, __shfl_xor_sync(kWholeWarp, largest, distance));
  }
  return __uint_as_float((largest + 0xFFFFFu) & 0x7F800000u);
}

struct QuantizedMoments {
  uint8_t* m;
  uint8_t* v;
  float* m_scales;
  float* v_scales;

  explicit QuantizedMoments(const AdamUpdate& args)
      : m(static_cast<uint8_t*>(args.m)),
        v(static_cast<uint8_t*>(args.v)),
        m_scales(args.m_scales),
        v_scales(args.v_scales) {}
  bool IsAligned() const { return IsAlignedForVectors(m) && IsAlignedForVectors(v); }
  __device__ __forceinline__ Moments Load(const Place& at) const {
    const ThreadElements<uint8_t> m_codes = LoadElements(m + at.first, at.count, at.whole);
    const ThreadElements<uint8_t> v_codes = LoadElements(v + at.first, at.count, at.whole);
    const float m_scale = m_scales[at.block];
    const float v_scale = v_scales[at.block];
    Moments moments;
#pragma unroll
    for (int j = 0; j < kElementsPerThread; ++j) {
      const float magnitude = __fmul_rn(CodesOfM::Decode(m_codes[j] & 0x7Fu), m_scale);
      moments.m[j] = (m_codes[j] & 0x80u) != 0 ? -magnitude : magnitude;
      moments.v[j] = __fmul_rn(CodesOfV::Decode(v_codes[j]), v_scale);
    }
    return moments;
  }
  // All lanes of a warp call this together. Lanes past the end have moments of zero.
  __device__ __forceinline__ void Store(const Place& at, const Moments& now, uint64_t step,
                                        uint64_t number) const {
    const float m_scale = ScaleOf(now.m);
    const float v_scale = ScaleOf(now.v);
    const float per_m = m_scale > 0.0f ? __fdiv_rn(1.0f, m_scale) : 0.0f;
    const float per_v = v_scale > 0.0f ? __fdiv_rn(1.0f, v_scale) : 0.0f;
    const ThreadElements<uint32_t> words = RandomWords(step, number);
    ThreadElements<uint8_t> new_m;
    ThreadElements<uint8_t> new_v;
#pragma unroll
    for (int j = 0; j < kElementsPerThread; ++j) {
      const uint32_t sign = __float_as_uint(now.m[j]) >> 31 << 7;
      const uint32_t code =
          CodesOfM::Encode(__fmul_rn(fabsf(now.m[j]), per_m), WordOfM(words[j])) & 0x7Fu;
      new_m[j] = static_cast<uint8_t>(code | sign);
      uint32_t v_code = CodesOfV::Encode(__fmul_rn(now.v[j], per_v), WordOfV(words[j]));
      if (v_scale > 0.0f && now.v[j] > 0.0f && v_code == 0) v_code = 1;
      new_v[j] = static_cast<uint8_t>(v_code & 0xFFu);
    }
    StoreElements(m + at.first, new_m, at.count, at.whole);
    StoreElements(v + at.first, new_v, at.count, at.whole);
    if (threadIdx.x % kWarpThreads == 0) {
      m_scales[at.block] = m_scale;
      v_scales[at.block] = v_scale;
    }
  }
};

__device__ __forceinline__ ThreadElements<float> LoadMasters(const AdamUpdate& args,
                                                             const Place& at) {
  const ThreadElements<uint16_t> hi = LoadElements(args.hi + at.first, at.count, at.whole);
  ThreadElements<int16_t> lo = {};
  if (args.lo != nullptr) lo = LoadElements(args.lo + at.first, at.count, at.whole);
  ThreadElements<float> masters;
#pragma unroll
  for (int j = 0; j < kElementsPerThread; ++j) {
    masters[j] = __uint_as_float((uint32_t{hi[j]} << 16) + static_cast<uint32_t>(int32_t{lo[j]}));
  }
  return masters;
}

// Also stores the weights in the form that compute reads, if args.weights is set.
__device__ __forceinline__ void StoreMasters(const AdamUpdate& args, const Place& at,
                                             const ThreadElements<float>& masters) {
  ThreadElements<uint16_t> hi;
  ThreadElements<int16_t> lo;
  ThreadElements<float> weights;
  const bool exact = args.lo != nullptr && !args.weights_from_hi;
#pragma unroll
  for (int j = 0; j < kElementsPerThread; ++j) {
    const uint32_t bits = __float_as_uint(masters[j]);
    const uint32_t rounded = bits + 0x8000u;
    hi[j] = static_cast<uint16_t>(rounded >> 16);
    lo[j] = static_cast<int16_t>(bits);
    weights[j] = exact ? masters[j] : __uint_as_float(rounded & 0xFFFF0000u);
    if (j < at.count && (bits & 0x7FFFFFFFu) >= 0x7F7F8000u) {
      atomicMin(reinterpret_cast<unsigned long long*>(args.first_refused),
                static_cast<unsigned long long>(args.first + at.first + j));
    }
  }
  StoreElements(args.hi + at.first, hi, at.count, at.whole);
  if (args.lo != nullptr) StoreElements(args.lo + at.first, lo, at.count, at.whole);
  if (args.weights != nullptr) StoreElements(args.weights + at.first, weights, at.count, at.whole);
}

// The formulas of adam.h: every operation is rounded in that order and none is fused.
__device__ __forceinline__ void Step(const AdamUpdate& args, const ThreadElements<float>& gradients,
                                     ThreadElements<float>& masters, Moments& now) {
  const AdamConstants& c = args.constants;
#pragma unroll
  for (int j = 0; j < kElementsPerThread; ++j) {
    const float g = __fmul_rn(args.clip, gradients[j]);
    const float kept = __fmul_rn(c.decay_factor, masters[j]);
    const float m = __fadd_rn(now.m[j], __fmul_rn(c.one_minus_beta1, __fsub_rn(g, now.m[j])));
    const float v =
        __fadd_rn(__fmul_rn(c.beta2, now.v[j]), __fmul_rn(__fmul_rn(c.one_minus_beta2, g), g));
    const float root =
        __fadd_rn(__fmul_rn(__fsqrt_rn(v), c.inverse_sqrt_bias_correction2), c.epsilon);
    masters[j] = __fsub_rn(kept, __fdiv_rn(__fmul_rn(c.step_size, m), root));
    now.m[j] = m;
    now.v[j] = v;
  }
}

// The loop ends for all lanes of a warp at once, because all of them compute the scales of a moment
// block. Three thread blocks per multiprocessor, not four: with 64 registers newer architectures
// spill, and 24 warps that each wait for more than 2 KiB have far more bytes on the way than the
// memory's latency asks for.
template <typename StoredMoments>
__global__ void __launch_bounds__(kThreads, 3)
    Update(AdamUpdate args, StoredMoments moments, uint64_t step, bool aligned) {
  const int64_t stride = int64_t{gridDim.x} * kMomentBlocksPerThreadBlock;
  for (int64_t block =
           int64_t{blockIdx.x} * kMomentBlocksPerThreadBlock + threadIdx.x / kWarpThreads;
       block * kAdamBlock < args.count; block += stride) {
    const int64_t first = block * kAdamBlock + threadIdx.x % kWarpThreads * kElementsPerThread;
    const int64_t count = args.count - first;
    const Place at{block, first, count, aligned && count >= kElementsPerThread};
    const ThreadElements<float> gradients =
        args.gradient_fp32 != nullptr ? LoadElements(args.gradient_fp32 + first, count, at.whole)
                                      : LoadAsFloat(args.gradient_bf16 + first, count, at.whole);
    ThreadElements<float> masters = LoadMasters(args, at);
    Moments now = moments.Load(at);
    Step(args, gradients, masters, now);
    StoreMasters(args, at, masters);
    moments.Store(at, now, step, static_cast<uint64_t>(args.first + first));
  }
}

template <typename StoredMoments>
CudaResult LaunchWith(const AdamUpdate& update, CUstream_st* stream) {
  const StoredMoments moments(update);
  const bool aligned = moments.IsAligned() && IsAlignedForVectors(update.gradient_fp32) &&
                       IsAlignedForVectors(update.gradient_bf16) &&
                       IsAlignedForVectors(update.hi) && IsAlignedForVectors(update.lo) &&
                       IsAlignedForVectors(update.weights);
  const uint64_t job = Mix(update.key + 0x9E3779B97F4A7C15u);
  const uint64_t step = Mix(job ^ static_cast<uint64_t>(update.step));
  const unsigned blocks = ThreadBlocksFor(update.count, kMomentBlocksPerThreadBlock * kAdamBlock);
  return Launch(Update<StoredMoments>, LaunchShape{blocks, kThreads}, stream, update, moments, step,
                aligned);
}

}  // namespace

CudaResult LaunchAdamUpdate(const AdamUpdate& update, CUstream_st* stream) {
  const cudaError_t cleared =
      cudaMemsetAsync(update.first_refused, 0xFF, sizeof(*update.first_refused), stream);
  if (cleared != cudaSuccess || update.count == 0) return ToResult(cleared);
  switch (update.moments) {
    case MomentType::kFp32:
      return LaunchWith<Fp32Moments>(update, stream);
    case MomentType::kBf16:
      return LaunchWith<Bf16Moments>(update, stream);
    case MomentType::k8Bit:
      break;
  }
  return LaunchWith<QuantizedMoments>(update, stream);
}

}  // namespace horizon
