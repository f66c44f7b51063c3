#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"
#include "model/stages/stage_description.h"
#include "model/tensor_spec.h"

namespace horizon {

// The embedding: a row of a table for each token. The units of a vocabulary table (this one and the
// head's) are its rows, and it is cut at multiples of a tile of rows.
inline constexpr int64_t kVocabularyTile = 512;

TensorSpec VocabularyTable(const ModelSpec& spec);
// Passes of which each row has an equal part; `width` values a token in all.
void AddOfAllRows(WorkDescription& work, int64_t width, const ElementCost& cost);

std::vector<TensorSpec> EmbeddingTensors(const ModelSpec& spec);
WorkDescription EmbeddingWork(const ModelSpec& spec);

}  // namespace horizon
