#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/documents/enum_words.h"
#include "presentation/csv.h"
#include "schedule/stream_plan.h"

namespace horizon {

// One published figure with the run it belongs to: a line of an experiment's published.csv.

// The kind of figure that was published.
enum class Metric { kTflops, kTokensPerSecond, kStepSeconds, kHostGib, kStatus };
// How the published run ended.
enum class RunStatus { kOk, kOutOfMemory, kUnknown };
enum class Tier { kA, kB, kC };                    // sound; one uncertain source; do not use
enum class RowUse { kFitted, kJudged, kIgnored };  // how the experiment uses the row
std::span<const EnumWord<Metric>> WordsOf(Metric);
std::span<const EnumWord<RunStatus>> WordsOf(RunStatus);
std::span<const EnumWord<Tier>> WordsOf(Tier);
std::span<const EnumWord<RowUse>> WordsOf(RowUse);

// A row, with the model, machine and settings of its run.
struct PublishedRow {
  std::string id;       // "56 layers"
  std::string system;   // as published: "megatrain", "zero3_offload", ...
  std::string machine;  // a name of the catalog
  std::string model;    // a name of the catalog; the fields below change it
  std::optional<int64_t> layers;
  std::optional<int64_t> hidden;
  std::optional<int64_t> ffn;
  int64_t sequence = 1024;
  std::optional<int64_t> batch;  // empty: the largest that the memory model allows
  int64_t accumulation = 1;      // micro-batches of an update; a column that may be missing
  // Whether a baseline recomputed activations; a column that may be missing ("yes", or empty).
  bool recompute = false;
  int64_t anchor_interval = 4;
  int64_t gradient_slabs = 12;
  int64_t buffer_depth = 2;
  Metric metric = Metric::kTflops;
  std::optional<double> published;
  bool lower_bound = false;  // the paper says "more than" `published`
  RunStatus status = RunStatus::kOk;
  Tier tier = Tier::kA;
  RowUse use = RowUse::kJudged;
  std::string note;
};

// A system or the id of a row as a person reads it: "zero3_offload" is "ZeRO-3 offload",
// "no_double_buffering" is "no double buffering".
std::string SystemTitle(const std::string& system);
std::string RowTitle(const PublishedRow& row);

// The strategy that simulates a published system; empty if none does.
std::optional<Strategy> StrategyOf(const std::string& system);

// Reads the rows. InvalidArgument with file, line and column for an invalid one.
absl::StatusOr<std::vector<PublishedRow>> ReadPublishedRows(const CsvTable& table);

}  // namespace horizon
