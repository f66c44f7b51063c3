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
#include "kernels/experts/dispatch.h"
#include "kernels/experts/expert_gemm.h"
#include "kernels/experts/expert_glu.h"
#include "kernels/experts/router.h"
#include "kernels/gemm/gemm.h"
#include "kernels/head/head_loss.h"
#include "kernels/norm/rms_norm.h"
#include "kernels/optimizer/adam.h"
#include "kernels/optimizer/squared_norm.h"
#include "kernels/rotary/rotary.h"

namespace horizon {

// The kernels of one device, as typed function pointers. The executor calls every operation through
// such a table, so the same code runs on the host, on CUDA, and on the reference kernels:
//   RETURN_IF_ERROR(table.residual_add(context, {.count = n, .branch = x, .output = y}));
// Work that runs on the host whatever the device is (packing, accumulation, norms, Adam) always
// takes HostKernels().
struct KernelTable {
  template <typename Args>
  using KernelFunction = absl::Status (*)(const KernelContext& context, const Args& args);

  // Creates the state that these kernels keep between calls, for the calling thread's current CUDA
  // device; null if they keep none. The caller owns it, and it must outlive every stream that runs
  // kernels with it. Unavailable if a library or the device is missing.
  absl::StatusOr<std::unique_ptr<DeviceContext>> (*make_device_context)();

  KernelFunction<Gemm> gemm;
  KernelFunction<WeightGradient> weight_gradient;
  KernelFunction<BiasGradient> bias_gradient;
  KernelFunction<AttentionForward> attention_forward;
  KernelFunction<AttentionBackward> attention_backward;
  KernelFunction<StoreKeys> store_keys;
  KernelFunction<CachedAttention> cached_attention;
  KernelFunction<HeadLogSumExp> head_log_sum_exp;
  KernelFunction<HeadLoss> head_loss;
  KernelFunction<RmsNormForward> rms_norm_forward;
  KernelFunction<RmsNormRecompute> rms_norm_recompute;
  KernelFunction<RmsNormBackward> rms_norm_backward;
  KernelFunction<ApplyRotary> apply_rotary;
  KernelFunction<GluForward> glu_forward;
  KernelFunction<GluBackward> glu_backward;
  KernelFunction<RouterForward> router_forward;
  KernelFunction<RouterBackward> router_backward;
  KernelFunction<RouterStatistics> router_statistics;
  KernelFunction<RouterLossGradient> router_loss_gradient;
  KernelFunction<Dispatch> dispatch;
  KernelFunction<CombinePairs> combine_pairs;
  KernelFunction<ExpertGemm> expert_gemm;
  KernelFunction<ExpertWeightGradient> expert_weight_gradient;
  KernelFunction<ExpertBiasGradient> expert_bias_gradient;
  KernelFunction<ExpertGluForward> expert_glu_forward;
  KernelFunction<ExpertGluBackward> expert_glu_backward;
  KernelFunction<ResidualAdd> residual_add;
  KernelFunction<EmbedForward> embed_forward;
  KernelFunction<GatherRows> gather_rows;
  KernelFunction<EmbedBackward> embed_backward;
  KernelFunction<ScatterRows> scatter_rows;
  KernelFunction<ExpandWeights> expand_weights;
  KernelFunction<StoreGradient> store_gradient;
  KernelFunction<Accumulate> accumulate;
  KernelFunction<Scale> scale;
  KernelFunction<CopyBytes> copy_bytes;
  KernelFunction<SquaredNorm> squared_norm;
  KernelFunction<AdamUpdate> adam_update;
};

// The kernels of the host device: worker threads and SIMD, fp32 arrays.
const KernelTable& HostKernels();
// The kernels of a CUDA device. A program links the definition it needs: //kernels:cuda_kernels, or
// the same sources on the fake CUDA. Passes that run on the host whatever the device is have no
// CUDA kernel and return Internal.
const KernelTable& CudaKernels();
// Plain loops with sums in double, for tests. They are slow.
const KernelTable& ReferenceKernels();

}  // namespace horizon
