#include "runtime/loop/tensorboard_sink.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "runtime/loop/append_file.h"
#include "runtime/loop/event_records.h"

namespace horizon {
namespace {

// The first word of a file of the kernel's, as part of a file's name.
std::string FirstWordOf(Io& io, const std::string& path, std::string_view otherwise) {
  const std::string text = ReadTextFile(io, path).value_or("");
  const std::string word = text.substr(0, text.find_first_of(" \n/"));
  return word.empty() ? std::string(otherwise) : word;
}

// The seconds in the name of an event file, or -1.
int64_t SecondsOf(std::string_view name) {
  if (!name.starts_with(kEventFilePrefix)) return -1;
  name.remove_prefix(kEventFilePrefix.size());
  int64_t seconds = -1;
  std::from_chars(name.data(), name.data() + name.size(), seconds);
  return seconds;
}

// The name of a file that comes after these, made by this process.
std::string NameAfter(Io& io, const std::vector<std::string>& names, int64_t now) {
  int64_t seconds = now;
  for (const std::string& name : names) seconds = std::max(seconds, SecondsOf(name) + 1);
  char digits[32];  // readers sort the names as text
  std::snprintf(digits, sizeof(digits), "%010lld", static_cast<long long>(seconds));
  return StrCat(kEventFilePrefix, digits, ".",
                FirstWordOf(io, "/proc/sys/kernel/hostname", "localhost"), ".",
                FirstWordOf(io, "/proc/self/stat", "0"));
}

class TensorboardSink : public MetricsSink {
 public:
  explicit TensorboardSink(const MetricsPlace& place)
      : place_(place),
        unix_seconds_(static_cast<double>(place.clock.UnixSeconds())),
        start_(place.clock.Now()) {}

  absl::Status Open() override {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, place_.io.List(place_.folder));
    const std::string name = NameAfter(place_.io, names, place_.clock.UnixSeconds());
    file_.emplace(place_.io,
                  AppendFile::Options{.path = JoinPath(place_.folder, name),
                                      .entry = "record",
                                      .header = FileVersionRecord(Now()) +
                                                SessionStartRecord(Now(), place_.first_step)},
                  place_.warn);
    return absl::OkStatus();
  }

  void AddStep(const StepMetrics& metrics) override {
    std::vector<Scalar> scalars = {{"train/loss", metrics.loss},
                                   {"train/grad_norm", metrics.gradient_norm},
                                   {"train/learning_rate", metrics.learning_rate}};
    if (metrics.epoch.has_value()) scalars.push_back({"train/epoch", *metrics.epoch});
    if (metrics.routing.has_value()) {
      scalars.push_back({"train/router_aux_loss", metrics.routing->aux_loss});
      scalars.push_back({"train/busiest_expert", metrics.routing->busiest});
      scalars.push_back({"train/idlest_expert", metrics.routing->idlest});
    }
    Add(metrics.step, std::move(scalars));
  }

  void AddEvaluation(const EvaluationLine& line) override {
    Add(line.step, {{"eval/loss", line.loss}});
    file_->Sync();
  }

  // What each layer chose is no curve; busiest and idlest are among the figures of a step.
  void AddRouting(const RoutingLine&) override {}

  void Sync() override { file_->Sync(); }
  void Close() override {
    if (file_.has_value()) file_->Close();
  }

 private:
  // The system's clock may jump; the steps of one file stay in order.
  double Now() const {
    const Nanoseconds elapsed = place_.clock.Now() - start_;
    return unix_seconds_ + 1e-9 * static_cast<double>(elapsed.count());
  }

  void Add(int64_t step, std::vector<Scalar> scalars) {
    for (Scalar& scalar : scalars) scalar.first = tags_.insert(scalar.tag).second;
    file_->Append(ScalarsRecord(Now(), step, scalars));
  }

  const MetricsPlace place_;
  const double unix_seconds_;  // the system's time when start_ was taken
  const Nanoseconds start_;
  std::optional<AppendFile> file_;   // from Open on
  std::set<std::string_view> tags_;  // that the file has; the texts are constants
};

}  // namespace

std::unique_ptr<MetricsSink> MakeTensorboardSink(const MetricsPlace& place) {
  return std::make_unique<TensorboardSink>(place);
}

}  // namespace horizon
