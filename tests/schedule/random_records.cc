#include "tests/schedule/random_records.h"

#include <limits>
#include <utility>
#include <vector>

#include "common/documents/enum_words.h"

namespace horizon {
namespace {

// Often an end of the range, as that is where things break.
int64_t AnyInteger(int64_t least, int64_t most) {
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return least;
    case 1:
      return most;
    default:
      return *rc::gen::inRange<int64_t>(least, most) + *rc::gen::inRange(0, 2);
  }
}

double AnyReal(double least, double most) {
  const double odd[] = {least,
                        most,
                        -0.0,
                        std::numeric_limits<double>::denorm_min(),
                        std::numeric_limits<double>::min(),
                        1e-308,
                        0.1,
                        1.0 / 3.0,
                        0.30000000000000004,
                        most * 0.99999999999999989};
  const double picked = *rc::gen::elementOf(std::vector<double>(std::begin(odd), std::end(odd)));
  const double mixed = picked * (*rc::gen::inRange(0, 1 << 30) / static_cast<double>(1 << 30));
  const double value = *rc::gen::arbitrary<bool>() ? picked : mixed;
  return value >= least && value <= most ? value : least;
}

template <HasWords E>
E AnyWord() {
  std::vector<E> values;
  for (const EnumWord<E>& entry : WordsOf(E{})) values.push_back(entry.value);
  return *rc::gen::elementOf(values);
}

rc::Gen<std::string> Joined(std::vector<std::string> pieces) {
  return rc::gen::map(
      rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(std::move(pieces))),
      [](const std::vector<std::string>& parts) {
        std::string text;
        for (const std::string& part : parts) text += part;
        return text;
      });
}

}  // namespace

rc::Gen<std::string> AnyText() {
  return Joined({"a",
                 "Z",
                 "0",
                 " ",
                 "\"",
                 "\\",
                 "/",
                 "\n",
                 "\t",
                 "\r",
                 std::string(1, '\0'),
                 "\x1b",
                 "\x7f",
                 "{",
                 "}",
                 ":",
                 "#",
                 "- ",
                 "'",
                 "\xc3\xa9",
                 "\xe2\x82\xac",
                 "\xf0\x9f\x9a\x80",
                 "\xef\xbb\xbf",
                 "null",
                 "true",
                 "1e3"});
}

rc::Gen<std::string> PlainText() {
  return Joined({"a",
                 "Z",
                 "0",
                 " ",
                 "\"",
                 "\\",
                 "/",
                 "{",
                 "}",
                 ":",
                 "#",
                 "- ",
                 "'",
                 "\xc3\xa9",
                 "\xe2\x82\xac",
                 "\xf0\x9f\x9a\x80",
                 "null",
                 "true",
                 "1e3",
                 "~"});
}

rc::Gen<TrainingJob> RandomJobRecord(rc::Gen<std::string> text) {
  return rc::gen::exec([text = std::move(text)] {
    constexpr double kMostBeta = 0.999999999;
    TrainingJob job;
    job.model = *text;
    job.data = *text;
    job.device = AnyWord<DeviceKind>();
    job.sequence = AnyInteger(1, 1 << 24);
    job.micro_batch = AnyInteger(1, 1 << 20);
    job.accumulation = AnyInteger(1, 1 << 16);
    job.steps = AnyInteger(1, 1'000'000'000'000);
    job.learning_rate = AnyReal(0, 1e3);
    job.learning_rate_schedule = AnyWord<LearningRateSchedule>();
    job.warmup_steps = AnyInteger(0, 1'000'000'000'000);
    job.beta1 = AnyReal(0, kMostBeta);
    job.beta2 = AnyReal(0, kMostBeta);
    job.epsilon = AnyReal(0, 1);
    job.weight_decay = AnyReal(0, 1e3);
    job.decay_all = *rc::gen::arbitrary<bool>();
    job.clip_norm = AnyReal(0, 1e30);
    job.router_aux_loss = AnyReal(0, 1e3);
    job.compute_type = AnyWord<NumberType>();
    job.activation_type = AnyWord<NumberType>();
    job.gradient_type = AnyWord<NumberType>();
    job.state_format = AnyWord<StateFormat>();
    job.optimizer_place = AnyWord<OptimizerPlace>();
    job.seed = AnyInteger(0, 9'000'000'000'000'000'000);
    const int lengths = *rc::gen::inRange(0, 4);
    for (int i = 0; i < lengths; ++i) {
      job.sample_lengths.push_back(
          {.length = AnyInteger(1, 1 << 24), .samples = AnyInteger(1, 1'000'000'000'000)});
    }
    return job;
  });
}

rc::Gen<StreamPlan> RandomPlanRecord(rc::Gen<std::string> text) {
  return rc::gen::exec([text = std::move(text)] {
    constexpr int64_t kMostBytes = 1'000'000'000'000'000'000;
    constexpr int64_t kMost = 1 << 20;
    StreamPlan plan;
    plan.model = *text;
    plan.model_fingerprint = *text;
    plan.strategy = AnyWord<Strategy>();
    plan.chunk_bytes = Bytes(CheckedU64::FromSigned(AnyInteger(1, kMostBytes)));
    plan.buffer_depth = AnyInteger(1, kMost);
    plan.backward_prefetch = *rc::gen::arbitrary<bool>();
    plan.resident_chunks = AnyInteger(0, kMost);
    plan.anchor_interval = AnyInteger(1, kMost);
    plan.anchor_home = AnyWord<AnchorHome>();
    plan.recompute = *rc::gen::arbitrary<bool>();
    plan.gradient_slabs = AnyInteger(1, kMost);
    plan.accumulation_order = AnyWord<AccumulationOrder>();
    plan.loss_chunk_tokens = AnyInteger(1, 1'000'000'000'000);
    plan.embedding_home = AnyWord<EmbeddingHome>();
    plan.h2d_threads = AnyInteger(1, 4096);
    plan.compute_threads = AnyInteger(1, 4096);
    plan.d2h_threads = AnyInteger(1, 4096);
    plan.host_threads = AnyInteger(1, 4096);
    plan.optimizer_threads = AnyInteger(1, 4096);
    return plan;
  });
}

}  // namespace horizon
