#include "model/stages/embedding.h"

namespace horizon {

TensorSpec VocabularyTable(const ModelSpec& spec) {
  TensorSpec tensor;
  tensor.role = TensorRole::kTable;
  tensor.shape = {spec.vocab, spec.hidden};
  tensor.split_axis = 0;
  tensor.decays = true;
  return tensor;
}

void AddElementsOfAllRows(WorkDescription& work, int64_t width, const ElementCost& cost) {
  work.elements.push_back({.spread = Spread::kEvenly,
                           .width = width,
                           .forward = cost.forward,
                           .backward = cost.backward});
}

std::vector<TensorSpec> EmbeddingTensors(const ModelSpec& spec) { return {VocabularyTable(spec)}; }

WorkDescription EmbeddingWork(const ModelSpec& spec) {
  WorkDescription work;
  AddElementsOfAllRows(work, spec.hidden, kEmbeddingCost);
  return work;
}

}  // namespace horizon
