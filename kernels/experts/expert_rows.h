#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "common/text/str_cat.h"

namespace horizon {

// What the host kernels on the rows of experts have in common.

// InvalidArgument unless the rows of the experts are ranges one after the other, within most_rows.
// `what` begins the message, as in "multiplying rows of experts".
inline absl::Status CheckExpertRows(std::string_view what, int64_t experts, const int32_t* begins,
                                    int64_t most_rows) {
  if (experts < 0 || most_rows < 0) {
    return absl::InvalidArgumentError(
        StrCat(what, ": ", experts, " experts with at most ", most_rows, " rows"));
  }
  for (int64_t e = 0; e < experts; ++e) {
    if (begins[e] >= 0 && begins[e] <= begins[e + 1] && begins[e + 1] <= most_rows) continue;
    return absl::InvalidArgumentError(StrCat(what, ": the rows of expert ", e, " are ", begins[e],
                                             " to ", begins[e + 1], " of at most ", most_rows));
  }
  return absl::OkStatus();
}

// The row of a matrix that a row of an expert stands for.
inline int64_t GatheredRow(const int32_t* rows, int64_t row) {
  return rows == nullptr ? row : int64_t{rows[row]};
}

}  // namespace horizon
