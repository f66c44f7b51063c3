#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "common/documents/json.h"
#include "schedule/stream_plan.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// The basis of a prediction (a measured profile, fitted speeds, data sheets), and how far earlier
// predictions with the same basis were off. A command that predicts adds one line of text and one
// member of its JSON:
//
//   const PredictionBasis basis = BasisOf(profile, plan.strategy);
//   text += BasisText(basis) + "\n";
//   writer.Key("basis");
//   WriteBasis(basis, writer);

// The kinds of basis.
enum class BasisKind {
  kMeasured,     // the profile was measured on the machine
  kFitted,       // some of its rates were fitted to published runs of this strategy
  kDataSheet,    // data sheets and the shares of a class
  kPlannedOnly,  // the same, for a machine that horizon does not run on
  kUnknown,      // a profile from a file that says nothing of where it comes from
};
std::span<const EnumWord<BasisKind>> WordsOf(BasisKind);

// Errors of predicted step times or throughputs against what was measured, as shares (0.12: 12 %).
struct PastErrors {
  int64_t runs = 0;
  double median = 0;
  double worst = 0;
  std::string runs_of;  // "published runs on rtx4090", "runs on device host"
  // The classes of the machines of those runs: "geforce". Empty where a class says nothing.
  std::vector<std::string> classes;
};

// The past errors by kind of basis: planner/prediction_errors.json, which
// //experiments:prediction_errors computes from the judged rows of the experiments and from
// docs/results/validate.json.
struct PredictionErrors {
  PastErrors measured;
  PastErrors fitted;
  PastErrors data_sheet;
};
absl::StatusOr<PredictionErrors> ReadPredictionErrors(const Document& document);
std::string WritePredictionErrors(const PredictionErrors& errors);
// The errors that are compiled into the program. (An invalid file is a bug: CHECK.)
const PredictionErrors& BuiltInPredictionErrors();

// The basis of one prediction.
struct PredictionBasis {
  BasisKind kind = BasisKind::kUnknown;
  std::string device_class;  // of the catalog's machines; empty for others
  // Of predictions that rest on the same; none: no such prediction was ever compared with a run.
  // They may be of machines of other classes (errors_are_of_class).
  std::optional<PastErrors> errors;
  // Whether it is about a GPU. None of those predictions was compared with a run of this program.
  bool is_gpu = false;

  // Whether any of the runs behind `errors` was on a machine of this one's class.
  bool errors_are_of_class() const;
};

PredictionBasis BasisOf(const HardwareProfile& profile, Strategy strategy);

// A sentence or two, without a newline: "rests on data sheets and the shares of class geforce; such
// predictions were off by 12 % (median of 4 published runs on rtx4090), 31 % at worst; nothing was
// measured on a GPU with this program". Errors of other classes are said to be that: "such
// predictions were compared with runs on class geforce only, nothing for class hopper-sxm: ...".
std::string BasisText(const PredictionBasis& basis);
// {"kind", "device_class", "runs", "median_error", "worst_error", "runs_of",
//  "classes", "errors_are_of_class", "measured_on_gpu", "text"}; what is not known is left out.
void WriteBasis(const PredictionBasis& basis, JsonWriter& writer);

}  // namespace horizon
