#pragma once

#include <memory>
#include <string_view>

#include "runtime/loop/metrics_sink.h"

namespace horizon {

// How the name of every TensorBoard event file begins; the reader finds the files by it.
inline constexpr std::string_view kEventFilePrefix = "events.out.tfevents.";

// Writes a TensorBoard event file, RUN/events.out.tfevents.<seconds>.<host>.<process>, with the
// tags that Hugging Face's Trainer uses: train/loss, train/grad_norm, train/learning_rate,
// eval/loss. A model with experts adds train/router_aux_loss, train/busiest_expert and
// train/idlest_expert. The file is created with the first figure. It begins with SessionLog::START
// at `place.first_step` (SessionStartRecord); an evaluation of the step before that belongs to the
// earlier files. <seconds> is the present time, or one second after the newest such file in the
// folder if that is later (the system's clock was set back): readers order the files by name, and
// the newest must come last.
std::unique_ptr<MetricsSink> MakeTensorboardSink(const MetricsPlace& place);

}  // namespace horizon
