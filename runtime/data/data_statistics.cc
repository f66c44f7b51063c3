#include "runtime/data/data_statistics.h"

#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {

std::string MissingEndText(const DataStatistics& statistics) {
  return StrCat(WithCommas(static_cast<uint64_t>(statistics.without_end)), " of ",
                WithCommas(static_cast<uint64_t>(statistics.samples)),
                " samples have no token that ends an answer: a model that learns from these alone "
                "does not learn to stop");
}

}  // namespace horizon
