#include "runtime/data/check_data.h"

#include <span>
#include <vector>

#include "common/status_macros.h"
#include "runtime/data/pack_window.h"
#include "runtime/data/packed_source.h"

namespace horizon {

absl::StatusOr<DataCheck> CheckData(Io& io, const DataFiles& files, int threads,
                                    const DataProgress& progress) {
  DataCheck check;
  std::vector<int64_t> lengths;
  const auto pack = [&] {
    check.packed_rows += static_cast<int64_t>(PackWindow(lengths, files.tokenise.sequence).size());
    lengths.clear();
  };
  const SampleSink sink = [&](std::span<const int32_t> ids, std::span<const int32_t> labels) {
    if (check.example.ids.empty()) {
      check.example.ids.assign(ids.begin(), ids.end());
      check.example.labels.assign(labels.begin(), labels.end());
    }
    lengths.push_back(static_cast<int64_t>(ids.size()));
    if (static_cast<int64_t>(lengths.size()) == PackedSource::kWindow) pack();
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(check.files, TokeniseFiles(io, files, threads, sink, progress));
  pack();
  return check;
}

}  // namespace horizon
