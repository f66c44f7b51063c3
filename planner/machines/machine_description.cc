#include "planner/machines/machine_description.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr double kChannelBytes = 8;
constexpr int64_t kNewestPcie = 6;

// Bytes/s of one lane, nominal: the first three generations with their encoding, then doubled.
double PcieLane(int64_t generation) { return 250e6 * std::exp2(generation - 1); }

// A section of the description, read field by field. The first error ends all reading.
class Section {
 public:
  Section(const Document& document, const Value& object, std::string path)
      : document_(document), reader_(document, object, std::move(path)) {}

  ObjectReader& fields() { return reader_; }

  void Text(std::string_view key, std::string& text) {
    reader_.Required(key, &text);
    if (reader_.ok() && text.empty()) reader_.Fail(key, "must not be empty");
  }
  void Count(std::string_view key, int64_t& count, int64_t most) {
    reader_.Required(key, &count);
    if (reader_.ok() && (count < 1 || count > most)) {
      reader_.Fail(key, StrCat("needs a number from 1 to ", most, ", found ", count));
    }
  }
  void Rate(std::string_view key, double& rate) {
    reader_.Required(key, &rate);
    if (reader_.ok() && !(rate > 0)) reader_.Fail(key, "needs a number above zero");
  }
  void Given(std::string_view key, Figure& figure) {
    const Value* value = reader_.Take(key);
    if (value == nullptr) return reader_.Required(key, &figure.value);
    Section inner(document_, *value, reader_.PathOf(key));
    inner.Rate("value", figure.value);
    inner.Word("origin", figure.origin.kind);
    inner.Text("source", figure.origin.source);
    Keep(inner.reader_.Finish());
  }
  template <typename E>
  void Word(std::string_view key, E& out) {
    std::string word;
    reader_.Required(key, &word);
    if (!reader_.ok()) return;
    const absl::StatusOr<E> value = ParseWord<E>(word);
    if (value.ok()) {
      out = *value;
    } else {
      reader_.Fail(key, std::string(value.status().message()));
    }
  }
  absl::Status Finish() { return status_.ok() ? reader_.Finish() : status_; }

 private:
  void Keep(const absl::Status& status) {
    if (status_.ok()) status_ = status;
  }

  const Document& document_;
  ObjectReader reader_;
  absl::Status status_;
};

absl::Status ReadDevice(Section& section, DescribedDevice& device) {
  section.Word("class", device.device_class);
  section.Text("name", device.name);
  section.Given("memory_bytes", device.memory_bytes);
  section.Given("memory_bytes_per_second", device.memory_bytes_per_second);
  section.Given("bf16_flops_per_second", device.bf16_flops_per_second);
  section.Given("fp32_flops_per_second", device.fp32_flops_per_second);
  return section.Finish();
}

absl::Status ReadLink(Section& section, DescribedLink& link) {
  section.Word("kind", link.kind);
  if (link.kind == LinkKind::kPcie) {
    section.Count("generation", link.generation, kNewestPcie);
    section.Count("lanes", link.lanes, 16);
  } else {
    section.Rate("bytes_per_second", link.bytes_per_second.emplace());
  }
  section.Text("source", link.source);
  return section.Finish();
}

absl::Status ReadHost(Section& section, DescribedHost& host) {
  section.Word("platform", host.platform);
  section.Text("name", host.name);
  section.Given("memory_bytes", host.memory_bytes);
  section.Count("sockets", host.sockets, 64);
  section.Count("cores", host.cores, 4096);
  if (section.fields().Take("dram_bytes_per_second") != nullptr) {
    section.Rate("dram_bytes_per_second", host.dram_bytes_per_second.emplace());
  } else {
    section.Count("channels", host.channels, 256);
    section.Rate("transfers_per_second", host.transfers_per_second);
  }
  section.Text("source", host.source);
  return section.Finish();
}

}  // namespace

double DescribedLink::nominal_bytes_per_second() const {
  return bytes_per_second.value_or(PcieLane(generation) * static_cast<double>(lanes));
}

std::string DescribedLink::Text() const {
  std::string nominal = absl::StrFormat("%.4g GB/s nominal", nominal_bytes_per_second() / 1e9);
  switch (kind) {
    case LinkKind::kPcie:
      return StrCat("PCIe ", generation, " x", lanes, ": ", nominal);
    case LinkKind::kNvlinkC2c:
      return StrCat("NVLink-C2C: ", nominal);
    case LinkKind::kUnified:
      return StrCat("one memory for CPU and GPU: ", nominal);
    case LinkKind::kMemcpy:
      return StrCat("memcpy: ", nominal);
  }
  return nominal;
}

double DescribedHost::dram_peak_bytes_per_second() const {
  return dram_bytes_per_second.value_or(static_cast<double>(channels) * kChannelBytes *
                                        transfers_per_second);
}

absl::StatusOr<MachineDescription> ReadMachineDescription(const Document& document) {
  MachineDescription machine;
  Section all(document, document.root, "");
  all.Text("name", machine.name);
  all.Text("summary", machine.summary);
  all.fields().Optional("planned_only", &machine.planned_only);
  const auto inner = [&](std::string_view key, auto read, auto& part) -> absl::Status {
    const Value* value = all.fields().Take(key);
    if (value == nullptr) {
      return ErrorAt(document, document.root, key, "required and missing");
    }
    Section section(document, *value, std::string(key));
    return read(section, part);
  };
  RETURN_IF_ERROR(inner("device", ReadDevice, machine.device));
  RETURN_IF_ERROR(inner("link", ReadLink, machine.link));
  RETURN_IF_ERROR(inner("host", ReadHost, machine.host));
  RETURN_IF_ERROR(all.Finish());
  return machine;
}

}  // namespace horizon
