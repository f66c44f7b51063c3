#pragma once

#include <cstdint>

#include "kernels/optimizer/adam_moments.h"

namespace horizon {

// The arguments of one AdamW update; adam.h has the formulas and an example. Device code includes
// this header too, so it must not include Abseil.

// The factors of one step. AdamConstantsOf computes them in double and rounds each to fp32 once.
struct AdamConstants {
  float step_size;     // learning_rate / (1 - beta1^step)
  float decay_factor;  // 1 - learning_rate x weight_decay
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float inverse_sqrt_bias_correction2;  // 1 / sqrt(1 - beta2^step)
  float epsilon;
};

// An update of the parameters [first, first + count) of one tensor. Every pointer is to the element
// of parameter `first`. The caller owns all arrays. For AdamUpdateCuda they are in device
// memory.
struct AdamUpdate {
  int64_t count = 0;
  // The number of the first parameter in its tensor. With k8Bit it is a multiple of kAdamBlock, and
  // so is `count` unless the run ends with the tensor.
  int64_t first = 0;
  uint64_t key = 0;  // made from the tensor and the job's seed, for stochastic rounding
  AdamConstants constants;
  int64_t step = 1;   // counted from 1, for stochastic rounding
  float clip = 1.0f;  // the factor of gradient clipping
  // The gradient: exactly one of the two is set.
  const float* gradient_fp32 = nullptr;
  const uint16_t* gradient_bf16 = nullptr;
  // The weights as a split fp32 master (split_master.h): the bf16 high half and the 16-bit low
  // half. With `lo` null the weights are bf16 without a low half, and each update rounds them as
  // SplitMaster does (the variant of the paper).
  uint16_t* hi = nullptr;
  int16_t* lo = nullptr;
  // The moments, in the format of `moments` (adam_moments.h).
  MomentType moments = MomentType::kFp32;
  void* m = nullptr;
  void* v = nullptr;
  float* m_scales = nullptr;  // k8Bit only: one for each moment block of this run
  float* v_scales = nullptr;
  // If not null, the updated weights are also stored here, in the form that compute reads: fp32(hi)
  // if `weights_from_hi`, or if there is no `lo`; otherwise the exact master.
  float* weights = nullptr;
  bool weights_from_hi = false;
  // AdamUpdateCuda only: one number in device memory. The update sets it to the lowest number of a
  // parameter for which the new master is not finite as bf16, or to all ones if there is none.
  uint64_t* first_refused = nullptr;
};

}  // namespace horizon
