#include "training/count_steps.h"

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {

absl::StatusOr<CountedSteps> CountSteps(const PackedSource& data, const TrainingJob& job,
                                        int64_t epochs, DataPosition position, int64_t done) {
  CountedSteps counted{
      .samples = data.samples(), .done = done, .full_rows = job.micro_batch * job.accumulation};
  ASSIGN_OR_RETURN(counted.rows, data.CountRows(position, epochs));
  counted.steps = done + (counted.rows + counted.full_rows - 1) / counted.full_rows;
  if (counted.rows > 0) counted.last_rows = (counted.rows - 1) % counted.full_rows + 1;
  return counted;
}

std::string DescribeCount(const CountedSteps& counted, int64_t epochs) {
  const auto count = [](int64_t number, std::string_view what) {
    return StrCat(WithCommas(static_cast<uint64_t>(number)), " ", what, number == 1 ? "" : "s");
  };
  std::string text =
      StrCat(count(epochs, "epoch"), " of ", count(counted.samples, "sample"), ": ",
             counted.done > 0 ? StrCat("after step ", counted.done, ", ") : "",
             count(counted.rows, "row"), " in ", count(counted.steps - counted.done, "step"));
  if (counted.done > 0) text += counted.rows == 1 ? " is left" : " are left";
  if (counted.rows > 0 && counted.last_rows < counted.full_rows) {
    text += StrCat(", the last one of ", count(counted.last_rows, "row"), " instead of ",
                   WithCommas(static_cast<uint64_t>(counted.full_rows)));
  }
  return text;
}

}  // namespace horizon
