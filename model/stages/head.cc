#include "model/stages/head.h"

#include "model/stages/branch.h"
#include "model/stages/embedding.h"

namespace horizon {

std::vector<TensorSpec> FinalNormTensors(const ModelSpec& spec) {
  return {Vector(TensorRole::kNorm, 0, spec.hidden)};
}

ArrayDescriptions FinalNormArrays(const ModelSpec& spec) {
  return {{.role = ArrayRole::kInput, .width = spec.hidden, .kept = true},
          {.role = ArrayRole::kInverseRms, .width = 1, .type = ArrayType::kScalar, .kept = true},
          // Where recompute, which wants the inverse rms alone, leaves the values.
          {.role = ArrayRole::kNormed, .width = spec.hidden, .forward = {0, 0}}};
}

WorkDescription FinalNormWork(const ModelSpec& spec) {
  WorkDescription work;
  AddElements(work, 0, spec.hidden, kNormCost);
  return work;
}

std::vector<TensorSpec> HeadTensors(const ModelSpec& spec) {
  if (spec.tied) return {};
  return {VocabularyTable(spec)};
}

ArrayDescriptions HeadArrays(const ModelSpec& spec) {
  return {{.role = ArrayRole::kInput, .width = spec.hidden, .kept = true}};
}

WorkDescription HeadWork(const ModelSpec& spec) {
  WorkDescription work;
  work.gemms.push_back({.weight = TensorRole::kTable,
                        .spread = Spread::kEvenly,
                        .out = spec.vocab,
                        .in = spec.hidden});
  AddElementsOfAllRows(work, spec.vocab, kLogitsCost);
  return work;
}

}  // namespace horizon
