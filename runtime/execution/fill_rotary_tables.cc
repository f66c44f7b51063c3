#include "runtime/execution/fill_rotary_tables.h"

#include <span>

#include "kernels/rotary/rotary.h"
#include "model/rotary_frequencies.h"
#include "model/rotary_tables.h"

namespace horizon {

std::vector<float> RotaryTables(const ModelSpec& spec, int64_t sequence) {
  std::vector<float> tables(static_cast<size_t>(sequence * RotaryTablesWidth(spec)));
  const auto table = [&](int32_t rope, RotaryOf of, int64_t width) {
    return std::span(tables).subspan(
        static_cast<size_t>(sequence * RotaryTableBegin(spec, rope, of)),
        static_cast<size_t>(sequence * width));
  };
  for (int32_t i = 0; i < static_cast<int32_t>(spec.ropes.size()); ++i) {
    const RopeSpec& rope = spec.ropes[static_cast<size_t>(i)];
    const int64_t width = spec.RotaryDimOf(rope);
    const RotaryFrequencies rotary = FrequenciesOf(rope, width, sequence);
    FillRotaryTable(rotary.frequencies, rotary.factor, sequence, table(i, RotaryOf::kKeys, width));
    if (RotaryTablesOf(rope) == 1) continue;
    const std::span<float> queries = table(i, RotaryOf::kQueries, width);
    FillRotaryTable(rotary.frequencies, rotary.factor, sequence, queries);
    for (int64_t position = 0; position < sequence; ++position) {
      const float scale = QueryScaleOf(rope, position);
      for (int64_t k = 0; k < width; ++k) {
        queries[static_cast<size_t>(position * width + k)] *= scale;
      }
    }
  }
  return tables;
}

}  // namespace horizon
