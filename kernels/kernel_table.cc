#include "kernels/kernel_table.h"

namespace horizon {
namespace {

absl::StatusOr<std::unique_ptr<DeviceContext>> NoDeviceContext() {
  return std::unique_ptr<DeviceContext>();
}

}  // namespace

const KernelTable& HostKernels() {
  static constexpr KernelTable kTable = {
      .make_device_context = NoDeviceContext,
      .gemm = GemmHost,
      .weight_gradient = WeightGradientHost,
      .bias_gradient = BiasGradientHost,
      .attention_forward = AttentionForwardHost,
      .attention_backward = AttentionBackwardHost,
      .store_keys = StoreKeysHost,
      .cached_attention = CachedAttentionHost,
      .head_log_sum_exp = HeadLogSumExpHost,
      .head_loss = HeadLossHost,
      .rms_norm_forward = RmsNormForwardHost,
      .rms_norm_recompute = RmsNormRecomputeHost,
      .rms_norm_backward = RmsNormBackwardHost,
      .apply_rotary = ApplyRotaryHost,
      .glu_forward = GluForwardHost,
      .glu_backward = GluBackwardHost,
      .router_forward = RouterForwardHost,
      .router_backward = RouterBackwardHost,
      .router_statistics = RouterStatisticsHost,
      .router_loss_gradient = RouterLossGradientHost,
      .dispatch = DispatchHost,
      .combine_pairs = CombinePairsHost,
      .expert_gemm = ExpertGemmHost,
      .expert_weight_gradient = ExpertWeightGradientHost,
      .expert_bias_gradient = ExpertBiasGradientHost,
      .expert_glu_forward = ExpertGluForwardHost,
      .expert_glu_backward = ExpertGluBackwardHost,
      .residual_add = ResidualAddHost,
      .embed_forward = EmbedForwardHost,
      .gather_rows = GatherRowsHost,
      .embed_backward = EmbedBackwardHost,
      .scatter_rows = ScatterRowsHost,
      .expand_weights = ExpandWeightsHost,
      .store_gradient = StoreGradientHost,
      .accumulate = AccumulateHost,
      .scale = ScaleHost,
      .copy_bytes = CopyBytesHost,
      .squared_norm = SquaredNormHost,
      .adam_update = AdamUpdateHost,
  };
  return kTable;
}

const KernelTable& ReferenceKernels() {
  static constexpr KernelTable kTable = {
      .make_device_context = NoDeviceContext,
      .gemm = GemmReference,
      .weight_gradient = WeightGradientReference,
      .bias_gradient = BiasGradientReference,
      .attention_forward = AttentionForwardReference,
      .attention_backward = AttentionBackwardReference,
      .store_keys = StoreKeysReference,
      .cached_attention = CachedAttentionReference,
      .head_log_sum_exp = HeadLogSumExpReference,
      .head_loss = HeadLossReference,
      .rms_norm_forward = RmsNormForwardReference,
      .rms_norm_recompute = RmsNormRecomputeReference,
      .rms_norm_backward = RmsNormBackwardReference,
      .apply_rotary = ApplyRotaryReference,
      .glu_forward = GluForwardReference,
      .glu_backward = GluBackwardReference,
      .router_forward = RouterForwardReference,
      .router_backward = RouterBackwardReference,
      .router_statistics = RouterStatisticsReference,
      .router_loss_gradient = RouterLossGradientReference,
      .dispatch = DispatchReference,
      .combine_pairs = CombinePairsReference,
      .expert_gemm = ExpertGemmReference,
      .expert_weight_gradient = ExpertWeightGradientReference,
      .expert_bias_gradient = ExpertBiasGradientReference,
      .expert_glu_forward = ExpertGluForwardReference,
      .expert_glu_backward = ExpertGluBackwardReference,
      .residual_add = ResidualAddReference,
      .embed_forward = EmbedForwardReference,
      .gather_rows = GatherRowsReference,
      .embed_backward = EmbedBackwardReference,
      .scatter_rows = ScatterRowsReference,
      .expand_weights = ExpandWeightsReference,
      .store_gradient = StoreGradientReference,
      .accumulate = AccumulateReference,
      .scale = ScaleReference,
      .copy_bytes = CopyBytesReference,
      .squared_norm = SquaredNormReference,
      .adam_update = AdamUpdateReference,
  };
  return kTable;
}

}  // namespace horizon
