#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/export/export_model.h"

namespace horizon {

// Reads the values of a model from a checkpoint by positioned reads, for export. It does not check
// the payload's checksums: call Checkpoint::VerifyPayload first. `io` and the checkpoint outlive
// it.
class CheckpointValues final : public ModelValues {
 public:
  static absl::StatusOr<std::unique_ptr<CheckpointValues>> Open(Io& io,
                                                                const Checkpoint& checkpoint);

  std::vector<Tensor> Tensors() const override;
  absl::Status ReadHi(const std::string& tensor, uint64_t first, std::span<uint16_t> into) override;
  absl::Status ReadMaster(const std::string& tensor, uint64_t first,
                          std::span<float> into) override;
  // Whether the checkpoint has low halves; without them ReadMaster gives the high halves as fp32.
  bool has_low_halves() const { return !low_.empty(); }

 private:
  explicit CheckpointValues(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}
  absl::Status Read(const TensorRecord& record, uint64_t offset, std::span<std::byte> into);

  const Checkpoint& checkpoint_;
  std::vector<std::unique_ptr<File>> files_;            // as in the manifest; null: not needed
  std::vector<const TensorRecord*> high_;               // in the manifest's order
  std::map<std::string, const TensorRecord*> by_name_;  // of high_
  std::map<std::string, const TensorRecord*> low_;
};

}  // namespace horizon
