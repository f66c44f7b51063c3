#include "kernels/gemm/cublas_gemm.h"
#include "kernels/kernel_table.h"

namespace horizon {
namespace {

template <typename Args>
absl::Status OnHostAlone(const KernelContext&, const Args&) {
  return absl::InternalError("a pass over the host's arrays was put on a CUDA device");
}

absl::StatusOr<std::unique_ptr<DeviceContext>> MakeDeviceContext() { return CublasGemm::Create(); }

}  // namespace

const KernelTable& CudaKernels() {
  static constexpr KernelTable kTable = {
      .make_device_context = MakeDeviceContext,
      .gemm = GemmCuda,
      .weight_gradient = WeightGradientCuda,
      .bias_gradient = BiasGradientCuda,
      .attention_forward = AttentionForwardCuda,
      .attention_backward = AttentionBackwardCuda,
      .store_keys = StoreKeysCuda,
      .cached_attention = CachedAttentionCuda,
      .head_log_sum_exp = HeadLogSumExpCuda,
      .head_loss = HeadLossCuda,
      .rms_norm_forward = RmsNormForwardCuda,
      .rms_norm_recompute = RmsNormRecomputeCuda,
      .rms_norm_backward = RmsNormBackwardCuda,
      .apply_rotary = ApplyRotaryCuda,
      .glu_forward = GluForwardCuda,
      .glu_backward = GluBackwardCuda,
      .router_forward = RouterForwardCuda,
      .router_backward = RouterBackwardCuda,
      .router_statistics = RouterStatisticsCuda,
      .router_loss_gradient = RouterLossGradientCuda,
      .dispatch = DispatchCuda,
      .combine_pairs = CombinePairsCuda,
      .expert_gemm = ExpertGemmCuda,
      .expert_weight_gradient = ExpertWeightGradientCuda,
      .expert_bias_gradient = ExpertBiasGradientCuda,
      .expert_glu_forward = ExpertGluForwardCuda,
      .expert_glu_backward = ExpertGluBackwardCuda,
      .residual_add = ResidualAddCuda,
      .embed_forward = EmbedForwardCuda,
      .gather_rows = OnHostAlone,
      .embed_backward = EmbedBackwardCuda,
      .scatter_rows = OnHostAlone,
      .expand_weights = OnHostAlone,
      .store_gradient = StoreGradientCuda,
      .accumulate = AccumulateCuda,
      .scale = OnHostAlone,
      .copy_bytes = CopyBytesCuda,
      .squared_norm = SquaredNormCuda,
      .adam_update = AdamUpdateCuda,
  };
  return kTable;
}

}  // namespace horizon
