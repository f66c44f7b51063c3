#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/kernel_context.h"
#include "kernels/activation/glu.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/cached_attention.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/residual.h"
#include "kernels/embedding/embedding.h"
#include "kernels/gemm/gemm.h"
#include "kernels/head/head_loss.h"
#include "kernels/norm/rms_norm.h"
#include "kernels/optimizer/adam.h"
#include "kernels/optimizer/squared_norm.h"
#include "kernels/rotary/rotary.h"

namespace horizon {

// The bodies a device computes with. What runs on the host whatever the device is (packing,
// accumulation, norms, Adam) always takes HostKernels().
struct KernelTable {
  template <typename Args>
  using Kernel = absl::Status (*)(const KernelContext& context, const Args& args);

  // Makes what these bodies keep between calls, for the CUDA device that is the calling thread's;
  // null where they keep nothing. It outlives the streams whose kernels use it. Unavailable where a
  // library or the device is missing.
  absl::StatusOr<std::unique_ptr<DeviceContext>> (*make_device_context)();

  Kernel<Gemm> gemm;
  Kernel<WeightGradient> weight_gradient;
  Kernel<BiasGradient> bias_gradient;
  Kernel<AttentionForward> attention_forward;
  Kernel<AttentionBackward> attention_backward;
  Kernel<StoreKeys> store_keys;
  Kernel<CachedAttention> cached_attention;
  Kernel<HeadLogSumExp> head_log_sum_exp;
  Kernel<HeadLoss> head_loss;
  Kernel<RmsNormForward> rms_norm_forward;
  Kernel<RmsNormAgain> rms_norm_again;
  Kernel<RmsNormBackward> rms_norm_backward;
  Kernel<Rotary> rotary;
  Kernel<GluForward> glu_forward;
  Kernel<GluBackward> glu_backward;
  Kernel<ResidualAdd> residual_add;
  Kernel<EmbedForward> embed_forward;
  Kernel<GatherRows> gather_rows;
  Kernel<EmbedBackward> embed_backward;
  Kernel<ScatterRows> scatter_rows;
  Kernel<ExpandWeights> expand_weights;
  Kernel<StoreGradient> store_gradient;
  Kernel<Accumulate> accumulate;
  Kernel<Scale> scale;
  Kernel<CopyBytes> copy_bytes;
  Kernel<SquaredNorm> squared_norm;
  Kernel<AdamUpdate> adam_update;
};

const KernelTable& HostKernels();
// Of a CUDA device; its definition is linked by programs (//kernels:cuda_kernels, or the one on the
// fake CUDA). Passes that run on the host whatever the device is have no body there and answer
// Internal.
const KernelTable& CudaKernels();
// Plain loops with double sums: slow, for tests.
const KernelTable& ReferenceKernels();

}  // namespace horizon
