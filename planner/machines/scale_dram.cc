#include "planner/machines/scale_dram.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/text/str_cat.h"
#include "planner/machines/derive_profile.h"

namespace horizon {
namespace {

// Scales figures and curves and says so in their origin.
class Scaling {
 public:
  Scaling(double factor, std::string_view because) : factor_(factor), because_(because) {}

  void operator()(Figure& figure) const {
    figure.value *= factor_;
    Mark(figure.origin);
  }
  void operator()(Curve& curve) const {
    curve = Scaled(std::move(curve), factor_);
    Mark(curve.origin);
  }
  void operator()(std::optional<Curve>& curve) const {
    if (curve.has_value()) (*this)(*curve);
  }

 private:
  void Mark(Origin& origin) const {
    origin = {.kind = OriginKind::kAssumed,
              .source = StrCat(because_, ": ", ShortNumber(factor_), " x ", origin.source)};
  }

  const double factor_;
  const std::string because_;
};

// Cuts a curve by threads to `limit` / `bytes_each`, also between its points: both are interpolated
// alike, so it is enough to look where either has a point.
void CutTo(const Curve& limit, double bytes_each, Curve& curve) {
  std::vector<double> threads;
  for (const Curve* one : {&limit, static_cast<const Curve*>(&curve)}) {
    for (const Curve::Point& point : one->points) threads.push_back(point.x);
  }
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  const auto most = [&](double x) { return limit.At(x) / bytes_each; };
  const bool within =
      std::all_of(threads.begin(), threads.end(), [&](double x) { return curve.At(x) <= most(x); });
  if (within) return;
  Curve cut{.origin = curve.origin};
  for (const double x : threads) cut.points.push_back({x, std::min(curve.At(x), most(x))});
  cut.origin.source += "; no more than DRAM carries";
  curve = std::move(cut);
}

}  // namespace

HardwareProfile WithDram(HardwareProfile machine, BytesPerSecond rate, std::string_view because) {
  CHECK(rate.value > 0);
  HostProfile& host = machine.host;
  const Scaling scale(rate.value / host.dram.Highest(), because);
  scale(host.dram);
  for (size_t f = 0; f < host.adam.size(); ++f) {
    scale(host.adam[f]);
    CutTo(host.dram, AdamBytes(static_cast<StateFormat>(f)), host.adam[f]);
  }
  scale(host.pack);
  CutTo(host.dram, /*bytes_each=*/2, host.pack);  // read and written
  scale(host.accumulate);
  scale(host.norm);
  if (machine.device.kind == DeviceKind::kHost) {
    scale(machine.device.memory_bytes_per_second);
    scale(machine.device.element_bytes_per_second);
    for (Curve* curve : {&machine.link.h2d_pinned, &machine.link.h2d_pageable,
                         &machine.link.d2h_pinned, &machine.link.d2h_pageable}) {
      scale(*curve);
    }
    scale(machine.link.both_ways_bytes_per_second);
  }
  return machine;
}

}  // namespace horizon
