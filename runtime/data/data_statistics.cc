#include "runtime/data/data_statistics.h"

#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {

void DataStatistics::Add(const DataStatistics& other) {
  records += other.records;
  bad_lines += other.bad_lines;
  samples += other.samples;
  tokens += other.tokens;
  trained_tokens += other.trained_tokens;
  truncated += other.truncated;
  dropped += other.dropped;
  cut_before_end += other.cut_before_end;
  without_end += other.without_end;
  lengths.Add(other.lengths);
}

std::string MissingEndText(const DataStatistics& statistics) {
  return StrCat(WithCommas(static_cast<uint64_t>(statistics.without_end)), " of ",
                WithCommas(static_cast<uint64_t>(statistics.samples)),
                " samples have no token that ends an answer: a model that learns from these alone "
                "does not learn to stop");
}

}  // namespace horizon
