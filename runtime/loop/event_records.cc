#include "runtime/loop/event_records.h"

#include "common/crc32c.h"
#include "common/documents/protobuf_writer.h"
#include "common/text/little_endian.h"

namespace horizon {
namespace {

// TFRecord's mask (tensorflow/core/lib/hash/crc32c.h), so that a checksum of data that holds
// checksums is no weaker.
uint32_t MaskedCrc(std::string_view bytes) {
  const uint32_t crc = Crc32c(std::as_bytes(std::span(bytes)));
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

// Numbers of fields: Event wall_time 1, step 2, file_version 3, summary 5, session_log 7.
ProtobufWriter BeginEvent(double unix_seconds, int64_t step) {
  ProtobufWriter event;
  event.AddDouble(1, unix_seconds);
  if (step != 0) event.AddInteger(2, step);
  return event;
}

// Summary.Value: tag 1, simple_value 2, metadata 9. SummaryMetadata: plugin_data 1 (plugin_name 1),
// data_class 4 (DATA_CLASS_SCALAR 1). As in the files of PyTorch's and Hugging Face's writers the
// number is a simple_value, which every reader knows (EventAccumulator.Scalars reads nothing else).
std::string ScalarValue(const Scalar& scalar) {
  ProtobufWriter value;
  value.AddBytes(1, scalar.tag).AddFloat(2, static_cast<float>(scalar.value));
  if (scalar.first) {
    ProtobufWriter plugin;
    plugin.AddBytes(1, "scalars");
    ProtobufWriter metadata;
    metadata.AddBytes(1, plugin.bytes()).AddInteger(4, 1);
    value.AddBytes(9, metadata.bytes());
  }
  return value.bytes();
}

}  // namespace

std::string TfRecord(std::string_view data) {
  const std::string length = LittleEndian(uint64_t{data.size()});
  std::string record = length + LittleEndian(MaskedCrc(length));
  record += data;
  return record + LittleEndian(MaskedCrc(data));
}

std::string FileVersionRecord(double unix_seconds) {
  return TfRecord(BeginEvent(unix_seconds, 0).AddBytes(3, "brain.Event:2").bytes());
}

std::string SessionStartRecord(double unix_seconds, int64_t step) {
  ProtobufWriter start;
  start.AddInteger(1, 1);  // SessionLog: status 1 is START
  return TfRecord(BeginEvent(unix_seconds, step).AddBytes(7, start.bytes()).bytes());
}

std::string ScalarsRecord(double unix_seconds, int64_t step, std::span<const Scalar> scalars) {
  ProtobufWriter summary;
  for (const Scalar& scalar : scalars) summary.AddBytes(1, ScalarValue(scalar));
  return TfRecord(BeginEvent(unix_seconds, step).AddBytes(5, summary.bytes()).bytes());
}

}  // namespace horizon
