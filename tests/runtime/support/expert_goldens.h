#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/arguments/token_record.h"

namespace horizon {

// PyTorch's answers that only mixtures of experts have (bf16.json and router_loss.json in
// tests/goldens). All names are those of tensors on disk.

// The first step of expected.json from weights rounded to bf16; everything else is fp32.
struct Bf16Golden {
  double first_loss = 0;
  double gradient_norm = 0;
  std::map<std::string, double> gradient_norms;
  std::map<std::string, std::vector<float>> gradient_samples;  // what SampleGradient picks
  // By how much the last expert that a token chose is ahead of the next one, at least.
  double least_router_gap = 0;
};
Bf16Golden LoadBf16Golden(const std::string& family);
// Picks 1,024 elements evenly spaced from the first to the last; all of them if there are fewer.
std::vector<float> SampleGradient(const std::vector<float>& gradient);

// The first steps of the AdamW run of expected.json with the auxiliary loss of routers.
struct RouterLossCase {
  std::string name;
  double coefficient = 0;
  std::vector<int64_t> row_tokens;               // of each row, how many tokens are not padding
  std::vector<std::vector<int64_t>> counts;      // first step: tokens by layer and chosen expert
  std::vector<double> mean_probabilities;        // first step: of each expert, over all layers
  std::vector<double> losses;                    // by step, without the auxiliary loss
  std::vector<double> router_losses;             // by step, without the coefficient
  std::vector<double> gradient_norms_of_steps;   // of both losses together, before clipping
  std::map<std::string, double> gradient_norms;  // of the first step
};
std::vector<RouterLossCase> LoadRouterLossCases(const std::string& family);
// Turns the tokens of each row from row_tokens[row] on into padding with `padding_label`. The last
// token before them has nothing to predict any more.
std::vector<TokenRecord> PadRows(std::vector<TokenRecord> records,
                                 const std::vector<int64_t>& row_tokens, int32_t padding_label);

}  // namespace horizon
