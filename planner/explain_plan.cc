#include "planner/explain_plan.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "common/documents/enum_words.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

class Explainer {
 public:
  Explainer(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan,
            const Setting& setting)
      : spec_(spec), job_(job), plan_(plan), setting_(setting) {
    chosen_ = Try("", "", plan);
  }

  // Every value of one field, the chosen one included, in ascending order where they have one.
  template <typename T>
  void Vary(const std::string& field, T StreamPlan::*member, std::vector<T> values) {
    if (values.size() < 2) return;
    if (std::find(values.begin(), values.end(), plan_.*member) == values.end()) {
      values.push_back(plan_.*member);
    }
    std::sort(values.begin(), values.end());
    for (const T value : values) {
      StreamPlan changed = plan_;
      changed.*member = value;
      Alternative alternative =
          value == plan_.*member ? chosen_ : Try(field, TextOf(value), changed);
      alternative.field = field;
      alternative.value = TextOf(value);
      alternative.chosen = value == plan_.*member;
      alternatives_.push_back(std::move(alternative));
    }
  }

  std::vector<Alternative> Finish() && { return std::move(alternatives_); }

 private:
  static std::string TextOf(int64_t value) { return StrCat(value); }
  static std::string TextOf(bool value) { return value ? "true" : "false"; }
  static std::string TextOf(Bytes value) { return ToString(value); }
  template <HasWords E>
  static std::string TextOf(E value) {
    return std::string(ToString(value));
  }

  Alternative Try(const std::string& field, const std::string& value, const StreamPlan& plan) {
    Alternative alternative{.field = field, .value = value};
    const absl::StatusOr<Prediction> prediction = Predict(spec_, job_, plan, setting_);
    alternative.possible = prediction.ok();
    if (!prediction.ok()) return alternative;
    alternative.fits = prediction->fits();
    alternative.step_seconds = prediction->step_seconds;
    alternative.device_bytes = prediction->memory.device_bytes();
    if (chosen_.step_seconds > 0) {
      alternative.slower = prediction->step_seconds / chosen_.step_seconds - 1;
    }
    return alternative;
  }

  const ModelSpec& spec_;
  const TrainingJob& job_;
  const StreamPlan& plan_;
  const Setting& setting_;
  Alternative chosen_;
  std::vector<Alternative> alternatives_;
};

}  // namespace

std::vector<Alternative> ExplainPlan(const ModelSpec& spec, const TrainingJob& job,
                                     const StreamPlan& plan, const PlanSpace& space,
                                     const Setting& setting) {
  Explainer explain(spec, job, plan, setting);
  explain.Vary("chunk_bytes", &StreamPlan::chunk_bytes, space.chunk_bytes);
  explain.Vary("buffer_depth", &StreamPlan::buffer_depth, space.buffer_depth);
  std::vector<int64_t> residents = space.resident_chunks;
  std::erase(residents, kAsManyAsFit);
  if (space.resident_chunks.size() > 1 && plan.resident_chunks > 0) {
    residents.push_back(plan.resident_chunks);
  }
  explain.Vary("resident_chunks", &StreamPlan::resident_chunks, residents);
  explain.Vary("recompute", &StreamPlan::recompute, space.recompute);
  if (plan.recompute) {
    explain.Vary("anchor_interval", &StreamPlan::anchor_interval, space.anchor_interval);
    explain.Vary("anchor_home", &StreamPlan::anchor_home, space.anchor_home);
  }
  explain.Vary("keep_feed_forward", &StreamPlan::keep_feed_forward, space.keep_feed_forward);
  explain.Vary("gradient_slabs", &StreamPlan::gradient_slabs, space.gradient_slabs);
  explain.Vary("accumulation_order", &StreamPlan::accumulation_order, space.accumulation_order);
  explain.Vary("loss_chunk_tokens", &StreamPlan::loss_chunk_tokens, space.loss_chunk_tokens);
  explain.Vary("embedding_home", &StreamPlan::embedding_home, space.embedding_home);
  std::vector<int64_t> host;
  std::vector<int64_t> optimizer;
  for (const PlanThreads& threads : space.threads) {
    host.push_back(threads.host);
    optimizer.push_back(threads.optimizer);
  }
  for (std::vector<int64_t>* threads : {&host, &optimizer}) {
    std::sort(threads->begin(), threads->end());
    threads->erase(std::unique(threads->begin(), threads->end()), threads->end());
  }
  explain.Vary("host_threads", &StreamPlan::host_threads, host);
  explain.Vary("optimizer_threads", &StreamPlan::optimizer_threads, optimizer);
  return std::move(explain).Finish();
}

}  // namespace horizon
