// Finds out how far predictions have been off, and prints planner/prediction_errors.json:
//   bazel run //experiments:prediction_errors -- $PWD/docs/results/validate.json
// whose output is planner/prediction_errors.json;
// past_errors_test checks that the file is what this prints.
#include <cstdio>
#include <memory>

#include "common/files/io.h"
#include "experiments/past_errors.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: prediction_errors docs/results/validate.json\n");
    return 2;
  }
  const std::unique_ptr<horizon::Io> io = horizon::MakePosixIo();
  const absl::StatusOr<horizon::PredictionErrors> errors =
      horizon::FindPredictionErrors(*io, argv[1]);
  if (!errors.ok()) {
    std::fprintf(stderr, "error: %s\n", errors.status().ToString().c_str());
    return 1;
  }
  std::fputs(horizon::WritePredictionErrors(*errors).c_str(), stdout);
  return 0;
}
