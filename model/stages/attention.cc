#include "model/stages/attention.h"

#include <algorithm>

#include "model/stages/branch.h"

namespace horizon {
namespace {

// Program points of forward, in order.
enum Forward : int8_t { kQueryForward, kKeyForward, kValueForward, kAttend, kProject };
// Program points of backward, from the output to the input.
enum Backward : int8_t {
  kNormAfterBackward,
  kProjectBackward,
  kAttendBackward,
  kValueBackward,
  kKeyBackward,
  kQueryBackward,
  kNormBackward,
};

bool HasQkNorm(const ModelSpec& spec) { return spec.qk_norm != QkNorm::kNone; }

}  // namespace

int64_t QkNormWidth(const ModelSpec& spec, int64_t heads) {
  return spec.qk_norm == QkNorm::kFullWidth ? heads * spec.head_dim : spec.head_dim;
}

int64_t QkNormRows(const ModelSpec& spec, int64_t heads) {
  return spec.qk_norm == QkNorm::kFullWidth ? 1 : heads;
}

std::vector<TensorSpec> AttentionTensors(const ModelSpec& spec) {
  using Role = TensorRole;
  const int64_t query = spec.query_width();
  const int64_t key = spec.key_width();
  std::vector<TensorSpec> tensors;
  AddNormBefore(spec, tensors);
  tensors.push_back(Matrix(Role::kQuery, kQueryUnit, query, spec.hidden));
  if (spec.qkv_bias) tensors.push_back(Vector(Role::kQueryBias, kQueryUnit, query));
  if (HasQkNorm(spec)) {
    tensors.push_back(Vector(Role::kQueryNorm, kQueryUnit, QkNormWidth(spec, spec.heads)));
  }
  tensors.push_back(Matrix(Role::kKey, kKeyUnit, key, spec.hidden));
  if (spec.qkv_bias) tensors.push_back(Vector(Role::kKeyBias, kKeyUnit, key));
  if (HasQkNorm(spec)) {
    tensors.push_back(Vector(Role::kKeyNorm, kKeyUnit, QkNormWidth(spec, spec.kv_heads)));
  }
  tensors.push_back(Matrix(Role::kValue, kValueUnit, key, spec.hidden));
  if (spec.qkv_bias) tensors.push_back(Vector(Role::kValueBias, kValueUnit, key));
  tensors.push_back(Matrix(Role::kOutput, kOutputUnit, spec.hidden, query));
  if (spec.output_bias) tensors.push_back(Vector(Role::kOutputBias, kOutputUnit, spec.hidden));
  if (spec.attention_sinks) tensors.push_back(Vector(Role::kSinks, kOutputUnit, spec.heads));
  AddNormAfter(spec, kOutputUnit, tensors);
  return tensors;
}

ArrayDescriptions AttentionArrays(const ModelSpec& spec) {
  using Role = ArrayRole;
  const int64_t query = spec.query_width();
  const int64_t key = spec.key_width();
  ArrayDescriptions arrays;
  AddBranchArrays(spec,
                  {.normed_forward = {kQueryForward, kValueForward},
                   .normed_backward = {kValueBackward, kNormBackward},
                   .normed_gradient = {kValueBackward, kNormBackward},
                   .project_point = kProject,
                   .projected_gradient = {kNormAfterBackward, kProjectBackward}},
                  ArrayRows::kTokens, arrays);
  const auto keep = [&](Role role, int64_t width, LiveRange forward) {
    arrays.push_back({.role = role, .width = width, .kept = true, .forward = forward});
  };
  const auto keep_fp32 = [&](Role role, int64_t width, LiveRange forward) {
    arrays.push_back({.role = role,
                      .width = width,
                      .type = ArrayType::kScalar,
                      .kept = true,
                      .forward = forward});
  };
  const auto scratch = [&](Role role, int64_t width, LiveRange backward) {
    arrays.push_back({.role = role, .width = width, .backward = backward});
  };
  keep(Role::kQuery, query, {kQueryForward, kAttend});
  keep(Role::kKey, key, {kKeyForward, kAttend});
  keep(Role::kValue, key, {kValueForward, kAttend});
  keep(Role::kAttended, query, {kAttend, kProject});
  keep_fp32(Role::kLogSumExp, spec.heads, {kAttend, kAttend});
  if (HasQkNorm(spec)) {
    keep(Role::kQueryBefore, query, {});
    keep(Role::kKeyBefore, key, {});
    keep_fp32(Role::kQueryInverseRms, QkNormRows(spec, spec.heads), {});
    keep_fp32(Role::kKeyInverseRms, QkNormRows(spec, spec.kv_heads), {});
  }
  scratch(Role::kAttendedGradient, query, {kProjectBackward, kAttendBackward});
  scratch(Role::kQueryGradient, query, {kAttendBackward, kQueryBackward});
  scratch(Role::kKeyGradient, key, {kAttendBackward, kKeyBackward});
  scratch(Role::kValueGradient, key, {kAttendBackward, kValueBackward});
  arrays.push_back({.role = Role::kOutputDot,
                    .width = spec.heads,
                    .type = ArrayType::kScalar,
                    .backward = {kAttendBackward, kAttendBackward}});
  // Of one matrix at a time.
  arrays.push_back({.role = Role::kWeightGradientSum,
                    .width = std::max(query, key) * spec.hidden,
                    .type = ArrayType::kSum,
                    .rows = ArrayRows::kOne,
                    .backward = {kNormAfterBackward, kNormBackward}});
  return arrays;
}

WorkDescription AttentionWork(const ModelSpec& spec, const LayerSpec& layer) {
  const int64_t query = spec.query_width();
  const int64_t key = spec.key_width();
  WorkDescription work;
  work.gemms = {{.weight = TensorRole::kQuery, .unit = kQueryUnit, .out = query, .in = spec.hidden},
                {.weight = TensorRole::kKey, .unit = kKeyUnit, .out = key, .in = spec.hidden},
                {.weight = TensorRole::kValue, .unit = kValueUnit, .out = key, .in = spec.hidden},
                {.weight = TensorRole::kOutput,
                 .need = NeedOfProjection(spec),
                 .unit = kOutputUnit,
                 .out = spec.hidden,
                 .in = query}};
  AddBranchWork(spec, kOutputUnit, NeedOfProjection(spec), work);
  if (HasQkNorm(spec)) {
    AddElements(work, kQueryUnit, query, kNormCost);
    AddElements(work, kKeyUnit, key, kNormCost);
  }
  if (layer.rope != kNoRotary) {
    const int64_t rotated = spec.RotaryDimOf(spec.ropes[static_cast<size_t>(layer.rope)]);
    AddElements(work, kQueryUnit, spec.heads * rotated, kRotaryCost);
    AddElements(work, kKeyUnit, spec.kv_heads * rotated, kRotaryCost);
  }
  work.attention_unit = kOutputUnit;
  work.attention_width = query;
  work.attention_window = layer.sliding_window;
  return work;
}

}  // namespace horizon
