#pragma once

#include <string>
#include <vector>

#include "common/units.h"
#include "model/model_spec.h"
#include "schedule/schedule.h"

namespace horizon {

// A schedule for people (text) and for programs (JSON).

// How often the weights of some chunks cross the link in a steady step.
struct Crossings {
  int64_t chunks = 0;
  int64_t loads = 0;
  Bytes bytes;
};
struct LinkTraffic {
  Crossings layers;
  Crossings head;       // the tied table too
  Crossings embedding;  // untied only
  Crossings resident;   // refreshed after their update
  Bytes h2d_bytes;
  Bytes d2h_bytes;
};
LinkTraffic CountTraffic(const Schedule& schedule);

// A picture of the first operations of each lane in a steady step (or the only one): columns are
// moments at which something starts, not to scale.
struct LanePicture {
  std::string lanes;   // a line a lane, about `columns` characters
  std::string legend;  // what the letters in it mean, at most 100 characters a line
};
LanePicture DrawLanes(const Schedule& schedule, int columns = 100);

std::string ScheduleReportText(const ModelSpec& spec, const Schedule& schedule);
// {"model", "strategy", "pass", "parameters", "chunks", "blocks", "operations", "lanes", "memory",
//  "crossings", "notes"}.
std::string ScheduleReportJson(const ModelSpec& spec, const Schedule& schedule);

}  // namespace horizon
