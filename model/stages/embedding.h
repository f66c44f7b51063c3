#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"
#include "model/stages/stage_description.h"
#include "model/tensor_spec.h"

namespace horizon {

// The embedding looks up one row of a table for each token. The units of a vocabulary table (this
// one and the one of the head) are its rows. A table is cut only at multiples of this many rows.
inline constexpr int64_t kVocabularyTile = 512;

// The table [vocab, hidden] of the embedding or the head.
TensorSpec VocabularyTable(const ModelSpec& spec);
// Adds element-wise work that is spread evenly over the rows of a table; `width` is the number of
// values per token for all rows together.
void AddElementsOfAllRows(WorkDescription& work, int64_t width, const ElementCost& cost);

std::vector<TensorSpec> EmbeddingTensors(const ModelSpec& spec);
WorkDescription EmbeddingWork(const ModelSpec& spec);

}  // namespace horizon
