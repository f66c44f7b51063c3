#include <algorithm>

#include "common/text/str_cat.h"
#include "kernels/experts/expert_glu.h"
#include "kernels/experts/expert_rows.h"
#include "kernels/host/pieces.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/experts/expert_glu_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/activation/glu_vectors-inl.h"
#include "kernels/host/simd_math-inl.h"

#ifndef HORIZON_KERNELS_EXPERT_GLU_HOST_ONCE
#define HORIZON_KERNELS_EXPERT_GLU_HOST_ONCE
namespace horizon {
namespace {

enum class UnitForm { kSilu, kGeluTanh, kClamped };

}  // namespace
}  // namespace horizon
#endif

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {
namespace {

struct GateUp {
  F32Vec gate;
  F32Vec up;
};

// Elements j .. j + n - 1 of a row of 2 x width values.
template <GateUpLayout kLayout>
HWY_INLINE GateUp LoadGateUp(const float* row, int64_t width, int64_t j, int64_t n) {
  const F32 f32;
  if constexpr (kLayout == GateUpLayout::kHalves) {
    return {LoadPart(f32, row + j, n), LoadPart(f32, row + width + j, n)};
  } else {
    GateUp both;
    if (n == kF32Lanes) {
      hn::LoadInterleaved2(f32, row + 2 * j, both.gate, both.up);
    } else {
      float pairs[2 * kF32Lanes] = {};
      std::copy_n(row + 2 * j, 2 * n, pairs);
      hn::LoadInterleaved2(f32, pairs, both.gate, both.up);
    }
    return both;
  }
}

template <GateUpLayout kLayout>
HWY_INLINE void StoreGateUp(const GateUp& both, int64_t width, int64_t j, int64_t n, float* row) {
  const F32 f32;
  if constexpr (kLayout == GateUpLayout::kHalves) {
    StorePart(f32, both.gate, row + j, n);
    StorePart(f32, both.up, row + width + j, n);
  } else if (n == kF32Lanes) {
    hn::StoreInterleaved2(both.gate, both.up, f32, row + 2 * j);
  } else {
    float pairs[2 * kF32Lanes];
    hn::StoreInterleaved2(both.gate, both.up, f32, pairs);
    std::copy_n(pairs, 2 * n, row + 2 * j);
  }
}

// A unit without its weight, and its derivatives.
struct Unit {
  F32Vec value;
  F32Vec by_gate;
  F32Vec by_up;
};

template <GluActivation kActivation>
HWY_INLINE Unit PlainUnit(const GateUp& both) {
  const F32Vec sigmoid = SigmoidOf<kActivation>(both.gate);
  const F32Vec value = hn::Mul(both.gate, sigmoid);
  const F32Vec slope = SlopeOf<kActivation>(both.gate, sigmoid, value);
  return {hn::Mul(value, both.up), hn::Mul(both.up, slope), value};
}

// Comparisons are false for a NaN, so it is not clamped and stays one.
HWY_INLINE Unit ClampedUnit(const GateUp& both, float limit, float alpha) {
  const F32 f32;
  const F32Vec most = hn::Set(f32, limit);
  const F32Vec least = hn::Set(f32, -limit);
  const F32Vec one = hn::Set(f32, 1.0f);
  const F32Vec factor = hn::Set(f32, alpha);
  const auto gate_above = hn::Gt(both.gate, most);
  const auto up_above = hn::Gt(both.up, most);
  const auto up_below = hn::Lt(both.up, least);
  const F32Vec gate = hn::IfThenElse(gate_above, most, both.gate);
  const F32Vec up = hn::IfThenElse(up_above, most, hn::IfThenElse(up_below, least, both.up));
  const F32Vec raised = hn::Add(up, one);
  const F32Vec sigmoid = Sigmoid(hn::Mul(factor, gate));
  const F32Vec value = hn::Mul(gate, sigmoid);
  // By the product rule, as SlopeOf.
  const F32Vec slope = hn::Add(sigmoid, hn::Mul(hn::Mul(factor, value), hn::Sub(one, sigmoid)));
  return {hn::Mul(value, raised), hn::IfThenZeroElse(gate_above, hn::Mul(raised, slope)),
          hn::IfThenZeroElse(hn::Or(up_above, up_below), value)};
}

template <UnitForm kForm>
HWY_INLINE Unit UnitOf(const ExpertGluShape& shape, const GateUp& both) {
  if constexpr (kForm == UnitForm::kClamped) {
    return ClampedUnit(both, shape.limit, shape.alpha);
  } else if constexpr (kForm == UnitForm::kGeluTanh) {
    return PlainUnit<GluActivation::kGeluTanh>(both);
  } else {
    return PlainUnit<GluActivation::kSilu>(both);
  }
}

template <UnitForm kForm, GateUpLayout kLayout>
void ForwardRow(const ExpertGluForward& args, int64_t row) {
  const ExpertGluShape& shape = args.shape;
  const F32Vec weight = hn::Set(F32(), shape.weights[shape.row_pairs[row]]);
  const float* gate_up = args.gate_up + row * 2 * shape.width;
  float* output = args.output + row * shape.width;
  ForEachVector(shape.width, [&](int64_t j, int64_t n) HORIZON_VECTOR_BODY {
    const GateUp both = LoadGateUp<kLayout>(gate_up, shape.width, j, n);
    StorePart(F32(), hn::Mul(weight, UnitOf<kForm>(shape, both).value), output + j, n);
  });
}

// What the bias of the down projection adds to the gradient of the weight.
float BiasPart(const ExpertGluBackward& args, int64_t row) {
  const ExpertGluShape& shape = args.shape;
  const int64_t expert =
      std::upper_bound(shape.begins, shape.begins + shape.experts + 1, row) - shape.begins - 1;
  return Dot(args.down_bias + expert * args.down_bias_expert_stride,
             args.down_gradient + args.row_tokens[row] * args.hidden, args.hidden);
}

template <UnitForm kForm, GateUpLayout kLayout>
void BackwardRow(const ExpertGluBackward& args, int64_t row) {
  const F32 f32;
  const ExpertGluShape& shape = args.shape;
  const int32_t pair = shape.row_pairs[row];
  const F32Vec weight = hn::Set(f32, shape.weights[pair]);
  const float* gate_up = args.gate_up + row * 2 * shape.width;
  const float* gradients = args.output_gradient + row * shape.width;
  float* output = args.output == nullptr ? nullptr : args.output + row * shape.width;
  float* gate_up_gradient = args.gate_up_gradient + row * 2 * shape.width;
  LogicalLanes lanes(0.0f);
  ForEachVectorWithLanes(
      shape.width, lanes, [&](int64_t j, int64_t n, F32Vec& running) HORIZON_VECTOR_BODY {
        const Unit unit = UnitOf<kForm>(shape, LoadGateUp<kLayout>(gate_up, shape.width, j, n));
        const F32Vec gradient = LoadPart(f32, gradients + j, n);
        running = hn::Add(running, hn::Mul(gradient, unit.value));
        if (output != nullptr) StorePart(f32, hn::Mul(weight, unit.value), output + j, n);
        const F32Vec weighted = hn::Mul(gradient, weight);
        const GateUp both = {hn::Mul(weighted, unit.by_gate), hn::Mul(weighted, unit.by_up)};
        StoreGateUp<kLayout>(both, shape.width, j, n, gate_up_gradient);
      });
  const float of_weight = lanes.Sum();
  args.weight_gradient[pair] =
      args.down_bias == nullptr ? of_weight : of_weight + BiasPart(args, row);
}

template <UnitForm kForm, GateUpLayout kLayout>
void RowsOfForm(const ExpertGluForward& args, int64_t first, int64_t count) {
  for (int64_t row = first; row < first + count; ++row) ForwardRow<kForm, kLayout>(args, row);
}
template <UnitForm kForm, GateUpLayout kLayout>
void RowsOfForm(const ExpertGluBackward& args, int64_t first, int64_t count) {
  for (int64_t row = first; row < first + count; ++row) BackwardRow<kForm, kLayout>(args, row);
}

template <UnitForm kForm, typename Args>
void RowsOfLayout(const Args& args, int64_t first, int64_t count) {
  if (args.shape.layout == GateUpLayout::kInterleaved) {
    return RowsOfForm<kForm, GateUpLayout::kInterleaved>(args, first, count);
  }
  RowsOfForm<kForm, GateUpLayout::kHalves>(args, first, count);
}

template <typename Args>
void Rows(const Args& args, int64_t first, int64_t count) {
  if (args.shape.limit > 0.0f) return RowsOfLayout<UnitForm::kClamped>(args, first, count);
  if (args.shape.activation == GluActivation::kGeluTanh) {
    return RowsOfLayout<UnitForm::kGeluTanh>(args, first, count);
  }
  RowsOfLayout<UnitForm::kSilu>(args, first, count);
}

void ForwardRows(const ExpertGluForward& args, int64_t first, int64_t count) {
  Rows(args, first, count);
}
void BackwardRows(const ExpertGluBackward& args, int64_t first, int64_t count) {
  Rows(args, first, count);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(ForwardRows);
HWY_EXPORT(BackwardRows);

constexpr char kWhat[] = "the gated linear unit of experts";

absl::Status Check(const ExpertGluShape& shape) {
  if (absl::Status status = CheckExpertRows(kWhat, shape.experts, shape.begins, shape.most_rows);
      !status.ok()) {
    return status;
  }
  // Also refuses a NaN.
  if (shape.width >= 0 && shape.limit >= 0.0f) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(kWhat, ": width ", shape.width, ", limit ", shape.limit));
}

absl::Status CheckBias(const ExpertGluBackward& args) {
  if (args.down_bias == nullptr) return absl::OkStatus();
  if (args.hidden >= 0 && args.row_tokens != nullptr && !(args.down_gradient == nullptr) &&
      (args.shape.experts <= 1 || args.down_bias_expert_stride >= args.hidden)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      StrCat(kWhat, ": biases of ", args.hidden, " begin ", args.down_bias_expert_stride,
             " after each other, or there is no down_gradient or row_tokens"));
}

// Calls body(first row, count) for pieces of the rows of the experts.
template <typename Body>
void RunRows(const KernelContext& context, const ExpertGluShape& shape, const Body& body) {
  if (shape.experts == 0) return;
  const int64_t begin = shape.begins[0];
  const int64_t row_bytes = 4 * shape.width * static_cast<int64_t>(sizeof(float));
  RunPieces(context, shape.begins[shape.experts] - begin, RowsPerPiece(row_bytes),
            [&](int64_t first, int64_t count) { body(begin + first, count); });
}

}  // namespace

absl::Status ExpertGluForwardHost(const KernelContext& context, const ExpertGluForward& args) {
  if (absl::Status status = Check(args.shape); !status.ok()) return status;
  RunRows(context, args.shape, [&](int64_t first, int64_t count) {
    HWY_DYNAMIC_DISPATCH(ForwardRows)(args, first, count);
  });
  return absl::OkStatus();
}

absl::Status ExpertGluBackwardHost(const KernelContext& context, const ExpertGluBackward& args) {
  if (absl::Status status = Check(args.shape); !status.ok()) return status;
  if (absl::Status status = CheckBias(args); !status.ok()) return status;
  RunRows(context, args.shape, [&](int64_t first, int64_t count) {
    HWY_DYNAMIC_DISPATCH(BackwardRows)(args, first, count);
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE
