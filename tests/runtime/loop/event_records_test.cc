#include "runtime/loop/event_records.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"

namespace horizon {
namespace {

std::string Hex(const std::string& bytes) { return absl::BytesToHexString(bytes); }

// The bytes that the Python package tensorboard 2.20 writes for the same events: its Event class,
// serialised and framed by its RecordWriter.
TEST(EventRecords, AreTheBytesThatTensorboardItselfWrites) {
  EXPECT_EQ(Hex(FileVersionRecord(1700000000.25)),
            "1800000000000000a37f4b220900001040fc54d9411a0d627261696e2e4576656e743a32338d2fe9");
  EXPECT_EQ(Hex(SessionStartRecord(1700000000.25, 301)),
            "100000000000000095fbfe180900001040fc54d94110ad023a020801cb79b93b");
  const std::vector<Scalar> scalars = {
      {.tag = "train/loss", .value = 2.5, .first = true},
      {.tag = "train/grad_norm", .value = std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_EQ(Hex(ScalarsRecord(1700000001.5, 2, scalars)),
            "4700000000000000bac3fb9b0900006040fc54d94110022a3a0a200a0a747261696e2f6c6f7373150000"
            "20404a0d0a090a077363616c61727320010a160a0f747261696e2f677261645f6e6f726d150000c07f71"
            "41170f");
}

}  // namespace
}  // namespace horizon
