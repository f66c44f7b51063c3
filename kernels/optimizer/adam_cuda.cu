#include "kernels/cuda/cuda_eight.cuh"
#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_reduce.cuh"
#include "kernels/optimizer/adam_launch.h"

namespace horizon {
namespace {

constexpr int kThreads = 256;
// A warp has a block of moments, a lane eight parameters of it.
constexpr int64_t kBlocksOfBlock = kThreads / kWarpThreads;
static_assert(kAdamBlock == kWarpThreads * 8);

// The random words of adam.h.
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
// Of eight parameters from `number` on. `step` is Mix(Mix(key + ...) ^ step).
__device__ __forceinline__ Eight<uint32_t> RandomWords(uint64_t step, uint64_t number) {
  Eight<uint32_t> words;
  uint64_t z = Mix(step ^ (number >> 32));
#pragma unroll
  for (int j = 0; j < 8; ++j, ++number) {
    const auto low = static_cast<uint32_t>(number);
    if (j > 0 && low == 0) z = Mix(step ^ (number >> 32));
    words[j] = RandomWord(z, low);
  }
  return words;
}

// Codes with 3 bits of mantissa, the least binade beginning at 2^kLeast. A number below it has the
// bits of its sum with 2^kLeast, whose unit is the one wanted.
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
  Eight<float> m;
  Eight<float> v;
};

// Where a thread works: parameters [first, first + count) of the call, count 0 or less when it has
// none, and the block they lie in.
struct Place {
  int64_t block;
  int64_t first;
  int64_t count;
  bool whole;
};

// How moments are loaded and stored, one struct a type. `step` is as in RandomWords.
struct Fp32Moments {
  float* m;
  float* v;

  explicit Fp32Moments(const AdamUpdate& args)
      : m(static_cast<float*>(args.m)), v(static_cast<float*>(args.v)) {}
  bool IsAligned() const { return IsEightAligned(m) && IsEightAligned(v); }
  __device__ __forceinline__ Moments Load(const Place& at) const {
    return {LoadEight(m + at.first, at.count, at.whole),
            LoadEight(v + at.first, at.count, at.whole)};
  }
  __device__ __forceinline__ void Store(const Place& at, const Moments& now, uint64_t /*step*/,
                                        uint64_t /*number*/) const {
    StoreEight(m + at.first, now.m, at.count, at.whole);
    StoreEight(v + at.first, now.v, at.count, at.whole);
  }
};

struct Bf16Moments {
  uint16_t* m;
  uint16_t* v;

  explicit Bf16Moments(const AdamUpdate& args)
      : m(static_cast<uint16_t*>(args.m)), v(static_cast<uint16_t*>(args.v)) {}
  bool IsAligned() const { return IsEightAligned(m) && IsEightAligned(v); }
  __device__ __forceinline__ Moments Load(const Place& at) const {
    return {LoadNumbers(m + at.first, at.count, at.whole),
            LoadNumbers(v + at.first, at.count, at.whole)};
  }
  __device__ __forceinline__ void Store(const Place& at, const Moments& now, uint64_t step,
                                        uint64_t number) const {
    const Eight<uint32_t> words = RandomWords(step, number);
    Eight<uint16_t> new_m;
    Eight<uint16_t> new_v;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      new_m[j] = static_cast<uint16_t>((__float_as_uint(now.m[j]) + WordOfM(words[j])) >> 16);
      new_v[j] = static_cast<uint16_t>((__float_as_uint(now.v[j]) + WordOfV(words[j])) >> 16);
    }
    StoreEight(m + at.first, new_m, at.count, at.whole);
    StoreEight(v + at.first, new_v, at.count, at.whole);
  }
};

// The scale of a block whose largest magnitude, over the warp, has these bits.
__device__ __forceinline__ float ScaleOf(const Eight<float>& values) {
  uint32_t largest = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j) largest = max(largest, __float_as_uint(values[j]) & 0x7FFFFFFFu);
#pragma unroll
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
    largest = max(largest, __shfl_xor_sync(kWholeWarp, largest, distance));
  }
  return __uint_as_float((largest + 0xFFFFFu) & 0x7F800000u);
}

struct BlockMoments {
  uint8_t* m;
  uint8_t* v;
  float* m_scales;
  float* v_scales;

  explicit BlockMoments(const AdamUpdate& args)
      : m(static_cast<uint8_t*>(args.m)),
        v(static_cast<uint8_t*>(args.v)),
        m_scales(args.m_scales),
        v_scales(args.v_scales) {}
  bool IsAligned() const { return IsEightAligned(m) && IsEightAligned(v); }
  __device__ __forceinline__ Moments Load(const Place& at) const {
    const Eight<uint8_t> m_codes = LoadEight(m + at.first, at.count, at.whole);
    const Eight<uint8_t> v_codes = LoadEight(v + at.first, at.count, at.whole);
    const float m_scale = m_scales[at.block];
    const float v_scale = v_scales[at.block];
    Moments moments;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float magnitude = __fmul_rn(CodesOfM::Decode(m_codes[j] & 0x7Fu), m_scale);
      moments.m[j] = (m_codes[j] & 0x80u) != 0 ? -magnitude : magnitude;
      moments.v[j] = __fmul_rn(CodesOfV::Decode(v_codes[j]), v_scale);
    }
    return moments;
  }
  // By all lanes of a warp. Those past the end have moments of zero.
  __device__ __forceinline__ void Store(const Place& at, const Moments& now, uint64_t step,
                                        uint64_t number) const {
    const float m_scale = ScaleOf(now.m);
    const float v_scale = ScaleOf(now.v);
    const float per_m = m_scale > 0.0f ? __fdiv_rn(1.0f, m_scale) : 0.0f;
    const float per_v = v_scale > 0.0f ? __fdiv_rn(1.0f, v_scale) : 0.0f;
    const Eight<uint32_t> words = RandomWords(step, number);
    Eight<uint8_t> new_m;
    Eight<uint8_t> new_v;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const uint32_t sign = __float_as_uint(now.m[j]) >> 31 << 7;
      const uint32_t code =
          CodesOfM::Encode(__fmul_rn(fabsf(now.m[j]), per_m), WordOfM(words[j])) & 0x7Fu;
      new_m[j] = static_cast<uint8_t>(code | sign);
      uint32_t v_code = CodesOfV::Encode(__fmul_rn(now.v[j], per_v), WordOfV(words[j]));
      if (v_scale > 0.0f && now.v[j] > 0.0f && v_code == 0) v_code = 1;
      new_v[j] = static_cast<uint8_t>(v_code & 0xFFu);
    }
    StoreEight(m + at.first, new_m, at.count, at.whole);
    StoreEight(v + at.first, new_v, at.count, at.whole);
    if (threadIdx.x % kWarpThreads == 0) {
      m_scales[at.block] = m_scale;
      v_scales[at.block] = v_scale;
    }
  }
};

__device__ __forceinline__ Eight<float> LoadMasters(const AdamUpdate& args, const Place& at) {
  const Eight<uint16_t> hi = LoadEight(args.hi + at.first, at.count, at.whole);
  Eight<int16_t> lo = {};
  if (args.lo != nullptr) lo = LoadEight(args.lo + at.first, at.count, at.whole);
  Eight<float> masters;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    masters[j] = __uint_as_float((uint32_t{hi[j]} << 16) + static_cast<uint32_t>(int32_t{lo[j]}));
  }
  return masters;
}

// Also the weights as compute reads them, where they are wanted.
__device__ __forceinline__ void StoreMasters(const AdamUpdate& args, const Place& at,
                                             const Eight<float>& masters) {
  Eight<uint16_t> hi;
  Eight<int16_t> lo;
  Eight<float> weights;
  const bool exact = args.lo != nullptr && !args.weights_from_hi;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
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
  StoreEight(args.hi + at.first, hi, at.count, at.whole);
  if (args.lo != nullptr) StoreEight(args.lo + at.first, lo, at.count, at.whole);
  if (args.weights != nullptr) StoreEight(args.weights + at.first, weights, at.count, at.whole);
}

// Every operation rounded in the order of adam.h, none fused.
__device__ __forceinline__ void Step(const AdamUpdate& args, const Eight<float>& gradients,
                                     Eight<float>& masters, Moments& now) {
  const AdamConstants& c = args.constants;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float g = __fmul_rn(args.clip, gradients[j]);
    const float kept = __fmul_rn(c.keep, masters[j]);
    const float m = __fadd_rn(now.m[j], __fmul_rn(c.one_minus_beta1, __fsub_rn(g, now.m[j])));
    const float v =
        __fadd_rn(__fmul_rn(c.beta2, now.v[j]), __fmul_rn(__fmul_rn(c.one_minus_beta2, g), g));
    const float root = __fadd_rn(__fmul_rn(__fsqrt_rn(v), c.inverse_root_correction2), c.epsilon);
    masters[j] = __fsub_rn(kept, __fdiv_rn(__fmul_rn(c.rate, m), root));
    now.m[j] = m;
    now.v[j] = v;
  }
}

// The loop ends for all lanes of a warp at once, for a block's scales are made by all of them.
// Three blocks a multiprocessor, not four: with 64 registers newer architectures spill, and 24
// warps that each wait for more than 2 KiB have far more bytes on the way than the memory's latency
// asks for.
template <typename Kept>
__global__ void __launch_bounds__(kThreads, 3)
    Update(AdamUpdate args, Kept moments, uint64_t step, bool aligned) {
  const int64_t stride = int64_t{gridDim.x} * kBlocksOfBlock;
  for (int64_t block = int64_t{blockIdx.x} * kBlocksOfBlock + threadIdx.x / kWarpThreads;
       block * kAdamBlock < args.count; block += stride) {
    const int64_t first = block * kAdamBlock + threadIdx.x % kWarpThreads * 8;
    const int64_t count = args.count - first;
    const Place at{block, first, count, aligned && count >= 8};
    const Eight<float> gradients = args.gradient_fp32 != nullptr
                                       ? LoadEight(args.gradient_fp32 + first, count, at.whole)
                                       : LoadNumbers(args.gradient_bf16 + first, count, at.whole);
    Eight<float> masters = LoadMasters(args, at);
    Moments now = moments.Load(at);
    Step(args, gradients, masters, now);
    StoreMasters(args, at, masters);
    moments.Store(at, now, step, static_cast<uint64_t>(args.first + first));
  }
}

template <typename Kept>
CudaResult LaunchWith(const AdamUpdate& update, CUstream_st* stream) {
  const Kept moments(update);
  const bool aligned = moments.IsAligned() && IsEightAligned(update.gradient_fp32) &&
                       IsEightAligned(update.gradient_bf16) && IsEightAligned(update.hi) &&
                       IsEightAligned(update.lo) && IsEightAligned(update.weights);
  const uint64_t job = Mix(update.key + 0x9E3779B97F4A7C15u);
  const uint64_t step = Mix(job ^ static_cast<uint64_t>(update.step));
  const unsigned blocks = BlocksFor(update.count, kBlocksOfBlock * kAdamBlock);
  return Launch(Update<Kept>, LaunchShape{blocks, kThreads}, stream, update, moments, step,
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
  return LaunchWith<BlockMoments>(update, stream);
}

}  // namespace horizon
