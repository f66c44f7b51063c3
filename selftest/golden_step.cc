#include "selftest/golden_step.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/embedding/embedding.h"
#include "model/read_config.h"
#include "runtime/execution/trainer.h"
#include "schedule/build/build_schedule.h"
#include "selftest/golden_config.h"
#include "training/initial_weights.h"
#include "training/open_trainer.h"

namespace horizon {
namespace {

constexpr int64_t kBatch = 3;
constexpr int64_t kSequence = 48;
constexpr int64_t kSeed = 1;

// PyTorch 2.15, fp32, from the same weights: tools/development/golden_step.py.
struct Expected {
  double loss;
  double norm;
};
constexpr std::array<Expected, 3> kExpected = {
    {{6.422491074, 2.661370277}, {6.293061256, 2.190582275}, {6.502257347, 1.845848203}}};

// Relative bounds. fp32 on the host: sums in another order. bf16: an activation is off by 2^-9 of
// itself, and errors of thousands of them mostly cancel in a mean; after a first update, whose
// direction small gradients give to noise, less so.
struct Bounds {
  double first_loss;
  double later_loss;
  double norm;
};
constexpr Bounds kFp32Bounds{1e-6, 5e-5, 2e-4};
constexpr Bounds kBf16Bounds{1e-3, 2e-2, 2e-2};

TrainingJob JobOn(DeviceKind device) {
  TrainingJob job;
  PlaceOn(device, job);
  const NumberType type = device == DeviceKind::kHost ? NumberType::kFp32 : NumberType::kBf16;
  job.compute_type = type;
  job.gradient_type = type;
  job.sequence = kSequence;
  job.micro_batch = kBatch;
  job.steps = static_cast<int64_t>(kExpected.size());
  job.learning_rate = 1e-2;
  job.beta2 = 0.95;
  job.weight_decay = 0.1;
  job.decay_all = true;
  job.seed = kSeed;
  return job;
}

// Of step number `step`, from 0. A label is the token that follows; some have none.
std::vector<TokenRecord> Tokens(int64_t step, int64_t vocabulary) {
  std::vector<TokenRecord> tokens;
  for (int64_t row = 0; row < kBatch; ++row) {
    const auto id = [&](int64_t t) {
      return static_cast<int32_t>((7 * t * t + 31 * t * (row + 1) + 101 * step) % vocabulary);
    };
    for (int64_t t = 0; t < kSequence; ++t) {
      const bool labelled = t + 1 < kSequence && t % 7 != 3;
      tokens.push_back(
          {.id = id(t), .label = labelled ? id(t + 1) : -100, .position = static_cast<int32_t>(t)});
    }
  }
  LinkSameTokens(tokens);
  return tokens;
}

StreamPlan PlanOf(Strategy strategy, int threads) {
  StreamPlan plan;
  plan.strategy = strategy;
  plan.compute_threads = threads;
  if (strategy == Strategy::kResident) {
    plan.embedding_home = EmbeddingHome::kDevice;
    plan.recompute = false;
  }
  return plan;
}

struct Outcome {
  std::vector<StepResult> steps;
  uint64_t digest = 0;  // of masters and moments
};

absl::StatusOr<Outcome> Train(const ModelSpec& spec, const DeviceName& name, const StreamPlan& plan,
                              Clock& clock, Log& log) {
  const TrainingJob job = JobOn(name.kind);
  ASSIGN_OR_RETURN(Schedule schedule, BuildSchedule(spec, job, plan));
  ASSIGN_OR_RETURN(
      const OpenedTrainer opened,
      OpenTrainer(spec, std::move(schedule), {.device = name, .clock = clock, .log = &log}));
  Trainer* const trainer = opened.trainer.get();
  RETURN_IF_ERROR(trainer->store().Fill(OpenWeights(RandomWeights{.seed = kSeed}, spec)));
  Outcome outcome;
  RETURN_IF_ERROR(trainer->Train(
      1, job.steps,
      [&](int64_t number) -> absl::StatusOr<StepInput> {
        StepInput input{.number = number, .learning_rate = job.learning_rate};
        input.tokens = Tokens(number - 1, spec.vocab);
        for (const TokenRecord& token : input.tokens) input.counted += token.label >= 0 ? 1 : 0;
        return input;
      },
      [&](const Trainer::Report& report) -> absl::StatusOr<Trainer::Next> {
        outcome.steps.push_back(report.result);
        return Trainer::Next::kContinue;
      }));
  ASSIGN_OR_RETURN(outcome.digest, trainer->store().Digest());
  return outcome;
}

void Compare(const Outcome& outcome, const Bounds& bounds, Findings& findings) {
  VERIFY(findings, outcome.steps.size() == kExpected.size()) << outcome.steps.size() << " steps";
  for (size_t i = 0; i < outcome.steps.size() && i < kExpected.size(); ++i) {
    const StepResult& step = outcome.steps[i];
    const double bound = i == 0 ? bounds.first_loss : bounds.later_loss;
    VERIFY(findings, std::abs(step.loss / kExpected[i].loss - 1) <= bound)
        << "the loss of step " << i + 1 << " is " << step.loss << ", PyTorch's "
        << kExpected[i].loss;
    if (i > 0) continue;
    VERIFY(findings, std::abs(step.gradient_norm / kExpected[i].norm - 1) <= bounds.norm)
        << "the gradient's norm is " << step.gradient_norm << ", PyTorch's " << kExpected[i].norm;
  }
}

std::string Fixed(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.5f", value);
  return text;
}

}  // namespace

std::string CheckGoldenStep(const DeviceName& device, int threads, Clock& clock, Log& log,
                            Findings& findings) {
  const absl::StatusOr<Document> document = ParseJson("golden_config.json", GoldenConfig());
  if (!document.ok()) {
    findings.Add(document.status().ToString());
    return "";
  }
  const absl::StatusOr<ModelConfig> config = ReadConfig(*document, "golden");
  if (!config.ok()) {
    findings.Add(config.status().ToString());
    return "";
  }
  std::vector<Outcome> outcomes;
  for (const Strategy strategy : {Strategy::kHorizon, Strategy::kResident}) {
    absl::StatusOr<Outcome> outcome =
        Train(config->spec, device, PlanOf(strategy, threads), clock, log);
    if (!outcome.ok()) {
      findings.Add(
          StrCat("strategy ", std::string(ToString(strategy)), ": ", outcome.status().ToString()));
      return "";
    }
    outcomes.push_back(*std::move(outcome));
  }
  Compare(outcomes[0], device.kind == DeviceKind::kHost ? kFp32Bounds : kBf16Bounds, findings);
  VERIFY(findings, outcomes[0].digest == outcomes[1].digest)
      << "strategies horizon and resident end with other bits";
  std::string summary = "losses ";
  for (size_t i = 0; i < outcomes[0].steps.size(); ++i) {
    summary += StrCat(i == 0 ? "" : ", ", Fixed(outcomes[0].steps[i].loss));
  }
  summary += " (PyTorch ";
  for (size_t i = 0; i < kExpected.size(); ++i) {
    summary += StrCat(i == 0 ? "" : ", ", Fixed(kExpected[i].loss));
  }
  return summary + ")";
}

}  // namespace horizon
