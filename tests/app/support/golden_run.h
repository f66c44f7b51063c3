#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/documents/document.h"

namespace horizon {

// Trains a golden model (tests/goldens) with the program, in the folder of RunShell.

// Writes the golden's batches as batches.jsonl, one sample on each line, makes its folder available
// as `model`, and removes an earlier `run` or `out`.
void PrepareGolden(const std::string& family);
// The options that correspond to PyTorch's 8 steps.
inline constexpr char kGoldenRun[] =
    "--model model --data batches.jsonl --shuffle false --output run --steps 8 --sequence 40 "
    "--micro-batch 2 --learning-rate 0.01 --beta2 0.95 --weight-decay 0.1 --decay-all ";
// The losses that PyTorch found, and the losses of a metrics.jsonl.
std::vector<double> GoldenLosses(const std::string& expected_json);
std::vector<double> LossesOf(const std::string& metrics);

// Parses JSON lines, one document on each line.
std::vector<Document> Lines(const std::string& text);
// A number of an object; NaN if it has none.
double NumberAt(const Value& object, std::string_view key);

}  // namespace horizon
