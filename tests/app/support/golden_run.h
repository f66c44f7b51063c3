#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/documents/document.h"

namespace horizon {

// A golden model (tests/goldens) as a run of the program, in the folder of RunShell.

// The golden's batches as batches.jsonl, one sample a line, and its folder as `model`; an earlier
// `run` or `out` goes.
void PrepareGolden(const std::string& family);
// The flags with which PyTorch's 8 steps were taken.
inline constexpr char kGoldenRun[] =
    "--model model --data batches.jsonl --shuffle false --output run --steps 8 --sequence 40 "
    "--micro-batch 2 --learning-rate 0.01 --beta2 0.95 --weight-decay 0.1 --decay-all ";
// What PyTorch found, and what is in a metrics.jsonl.
std::vector<double> GoldenLosses(const std::string& expected_json);
std::vector<double> LossesOf(const std::string& metrics);

// JSON, one document a line; a number of an object, NaN where it has none.
std::vector<Document> Lines(const std::string& text);
double NumberAt(const Value& object, std::string_view key);

}  // namespace horizon
