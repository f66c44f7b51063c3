#pragma once

#include <string>
#include <vector>

#include "common/units.h"
#include "model/model_spec.h"
#include "schedule/schedule.h"

namespace horizon {

// Reports about a schedule, for people (text) and for programs (JSON).

// How often the weights of some chunks are copied over the PCIe link in a steady step.
struct Crossings {
  int64_t chunks = 0;
  int64_t loads = 0;
  Bytes bytes;
};
// All copies over the PCIe link in a steady step.
struct LinkTraffic {
  Crossings layers;
  Crossings head;       // includes a tied table
  Crossings embedding;  // only where it is not tied
  Crossings resident;   // resident chunks, loaded again after their update
  Bytes h2d_bytes;
  Bytes d2h_bytes;
};
LinkTraffic CountTraffic(const Schedule& schedule);

// A text drawing of the first operations of each lane in a steady step (or in the only step). Each
// column is a moment at which an operation starts; the columns are not to scale.
struct LanePicture {
  std::string lanes;   // one line per lane, about `columns` characters long
  std::string legend;  // explains the letters; lines of at most 100 characters
};
LanePicture DrawLanes(const Schedule& schedule, int columns = 100);

std::string ScheduleReportText(const ModelSpec& spec, const Schedule& schedule);
// {"model", "strategy", "pass", "parameters", "chunks", "blocks", "operations", "lanes", "memory",
//  "crossings", "notes"}.
std::string ScheduleReportJson(const ModelSpec& spec, const Schedule& schedule);

}  // namespace horizon
