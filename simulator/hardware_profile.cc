#include "simulator/hardware_profile.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "common/documents/json.h"
#include "common/documents/record.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr StateFormat kStateFormats[kStateFormatCount] = {
    StateFormat::kFp32, StateFormat::kBf16Moments, StateFormat::k8BitMoments,
    StateFormat::kBf16Weights};

// Every field once: read, written and documented from here. `visit` is called with a name, a field
// and its info; Section with a name and what lies in it, OptionalSection where it may be missing,
// SparseSection where nothing in it need be there; List for what there may be several of.
template <typename Profile, typename Visitor>
void VisitProfile(Profile& profile, Visitor& visit) {
  visit("version", profile.version, {.minimum = 1, .maximum = 1, .help = "version of this format"});
  visit("name", profile.name, {.help = "how `--machine` names it"});
  visit("summary", profile.summary, {.help = "one line for people"});
  visit("device_class", profile.device_class,
        {.help = "class whose shares of data sheets the rates are; missing: not of the catalog"});
  visit("planned_only", profile.planned_only,
        {.help = "why horizon plans for it but does not run on it; missing: it runs"});
  visit.Section("device", [&] {
    auto& device = profile.device;
    visit("kind", device.kind, {.help = "what computes"});
    visit("name", device.name, {.help = "as its maker calls it"});
    visit("memory_bytes", device.memory_bytes, {.unit = "bytes"});
    visit("reserved_bytes", device.reserved_bytes,
          {.unit = "bytes", .help = "of it, taken by driver and libraries"});
    visit("memory_bytes_per_second", device.memory_bytes_per_second, {.unit = "bytes/s"});
    visit("element_bytes_per_second", device.element_bytes_per_second,
          {.unit = "bytes/s", .help = "reached by norms, activations, residuals"});
    visit("launch_seconds", device.launch_seconds,
          {.unit = "seconds", .help = "least time of a kernel"});
    visit("gemm_bf16", device.gemm_bf16, {.unit = "flop/s by the smallest dimension of a GEMM"});
    visit("gemm_fp32", device.gemm_fp32, {.unit = "flop/s by the smallest dimension of a GEMM"});
    visit("gemm_share", device.gemm_share,
          {.unit = "share by flops of a GEMM", .help = "reached of that rate; missing: all"});
    visit("attention", device.attention,
          {.unit = "flop/s by sequence length", .help = "over the visible pairs"});
    visit("head", device.head,
          {.unit = "flop/s by tokens of a loss chunk",
           .help = "of logits, softmax and their gradients; missing: as its GEMMs"});
    visit("experts", device.experts,
          {.unit = "flop/s by the smallest dimension",
           .help = "of the grouped multiplies of experts; missing: as other GEMMs"});
  });
  visit.Section("link", [&] {
    auto& link = profile.link;
    visit("latency_seconds", link.latency_seconds, {.unit = "seconds", .help = "of a copy"});
    visit("h2d_pinned", link.h2d_pinned, {.unit = "bytes/s by bytes of a copy"});
    visit("h2d_pageable", link.h2d_pageable, {.unit = "bytes/s by bytes of a copy"});
    visit("d2h_pinned", link.d2h_pinned, {.unit = "bytes/s by bytes of a copy"});
    visit("d2h_pageable", link.d2h_pageable, {.unit = "bytes/s by bytes of a copy"});
    visit("both_ways_bytes_per_second", link.both_ways_bytes_per_second,
          {.unit = "bytes/s", .help = "sum when both directions are busy"});
    visit("limit_bytes_per_second", link.limit_bytes_per_second,
          {.unit = "bytes/s", .help = "each direction is held to this"});
    visit.OptionalSection("pcie", link.pcie, [&](auto& pcie) { VisitPcie(pcie, visit); });
  });
  visit.Section("host", [&] {
    auto& host = profile.host;
    visit("name", host.name, {.help = "processor and memory"});
    visit("memory_bytes", host.memory_bytes, {.unit = "bytes", .help = "RAM"});
    visit("cgroup_bytes", host.cgroup_bytes, {.unit = "bytes", .help = "limit of the process"});
    visit("memlock_bytes", host.memlock_bytes, {.unit = "bytes", .help = "limit of page-locking"});
    visit("numa_nodes", host.numa_nodes, {.minimum = 1, .maximum = 1024});
    visit("cores", host.cores, {.minimum = 1, .maximum = 4096, .help = "really usable"});
    visit("dram", host.dram, {.unit = "bytes/s by threads"});
    visit.Section("adam", [&] {
      for (const StateFormat format : kStateFormats) {
        visit(ToString(format), host.adam[static_cast<size_t>(format)],
              {.unit = "parameters/s by threads"});
      }
    });
    visit("pack", host.pack, {.unit = "bytes/s by threads", .help = "copying a layer out"});
    visit("accumulate", host.accumulate,
          {.unit = "bytes/s by threads",
           .help = "bf16 gradients put to the kept ones; missing: as `dram`"});
    visit("norm", host.norm,
          {.unit = "bytes/s by threads", .help = "squares of gradients; missing: as `dram`"});
    visit(
        "compute_weight", host.compute_weight,
        {.unit = "share",
         .help = "speed of compute on all cores while another lane wants one, beside that lane's; "
                 "missing: 1"});
    visit("process_bytes", host.process_bytes,
          {.unit = "bytes", .help = "of the program itself: code, heap, libraries"});
    visit("yardstick_flops_per_second", host.yardstick_flops_per_second,
          {.unit = "flop/s", .help = "of fixed work, while all this was measured"});
    visit("yardstick_bytes_per_second", host.yardstick_bytes_per_second,
          {.unit = "bytes/s", .help = "of fixed work, while all this was measured"});
    visit.OptionalSection("topology", host.topology,
                          [&](auto& topology) { VisitTopology(topology, visit); });
    visit.OptionalSection("allowance", host.allowance,
                          [&](auto& allowance) { VisitAllowance(allowance, visit); });
  });
  visit.List("contention", profile.contention, [&](auto& pair) {
    visit("work", pair.work, {.help = "the lane that works"});
    visit("beside", pair.beside, {.help = "the lane that works beside it, on other cores"});
    visit("speed", pair.speed, {.unit = "share", .help = "what the work keeps of its speed"});
  });
  visit.SparseSection("in_runs", [&] {
    for (const EnumWord<RateGroup>& group : WordsOf(RateGroup{})) {
      visit(group.word, profile.in_runs[static_cast<size_t>(group.value)],
            {.unit = "share", .help = "reached in runs of what is reached alone; missing: all"});
    }
  });
  visit.List("disks", profile.disks, [&](auto& disk) {
    visit("path", disk.path, {.help = "where it is mounted"});
    visit("read_bytes_per_second", disk.read_bytes_per_second, {.unit = "bytes/s"});
    visit("write_bytes_per_second", disk.write_bytes_per_second, {.unit = "bytes/s"});
    visit("free_bytes", disk.free_bytes, {.unit = "bytes", .help = "of its file system"});
  });
  visit.OptionalSection("measured_on", profile.measured_on,
                        [&](auto& on) { VisitMeasuredOn(on, visit); });
}

class ProfileReader {
 public:
  explicit ProfileReader(const Document& document) : document_(document) {
    levels_.push_back(std::make_unique<ObjectReader>(document, document.root));
  }

  template <typename Body>
  void Section(std::string_view name, Body body) {
    if (!status_.ok()) return;
    const Value* object = Needed(name);
    if (object != nullptr) Within(*object, top().PathOf(name), body);
  }
  template <typename Body>
  void SparseSection(std::string_view name, Body body) {
    if (!status_.ok()) return;
    if (const Value* object = top().Take(name); object != nullptr) {
      Within(*object, top().PathOf(name), body);
    }
  }
  template <typename T, typename Body>
  void OptionalSection(std::string_view name, std::optional<T>& section, Body body) {
    if (!status_.ok()) return;
    const Value* object = top().Take(name);
    if (object == nullptr) return;
    Within(*object, top().PathOf(name), [&] { body(section.emplace()); });
  }

  template <typename T, typename Body>
  void List(std::string_view name, std::vector<T>& list, Body body) {
    if (!status_.ok()) return;
    const Value* value = top().Take(name);
    if (value == nullptr) return;
    const Value::Array* array = value->As<Value::Array>();
    if (array == nullptr) return Fail(*value, top().PathOf(name), "needs an array");
    const std::string path = top().PathOf(name);
    for (size_t i = 0; i < array->size(); ++i) {
      T& element = list.emplace_back();
      Within((*array)[i], StrCat(path, "[", i, "]"), [&] { body(element); });
    }
  }

  template <typename T>
  void operator()(std::string_view name, T& field, const FieldInfo& info) {
    if (!status_.ok()) return;
    FieldInfo required = info;
    required.presence = FieldPresence::kRequired;
    RecordReader read(top());
    read(name, field, required);
    if (!top().ok()) status_ = top().Finish();
  }
  void operator()(std::string_view name, Figure& figure, const FieldInfo&) {
    if (const Value* value = Needed(name); value != nullptr) TakeFigure(name, *value, figure);
  }
  void operator()(std::string_view name, std::optional<Figure>& figure, const FieldInfo&) {
    if (!status_.ok()) return;
    if (const Value* value = top().Take(name); value != nullptr) {
      TakeFigure(name, *value, figure.emplace());
    }
  }
  void operator()(std::string_view name, std::optional<std::string>& text, const FieldInfo&) {
    if (!status_.ok() || top().Take(name) == nullptr) return;
    top().Required(name, &text.emplace());
    if (!top().ok()) status_ = top().Finish();
  }
  void operator()(std::string_view name, Curve& curve, const FieldInfo&) {
    if (const Value* value = Needed(name); value != nullptr) TakeCurve(name, *value, curve);
  }
  void operator()(std::string_view name, std::optional<Curve>& curve, const FieldInfo&) {
    if (!status_.ok()) return;
    if (const Value* value = top().Take(name); value != nullptr) {
      TakeCurve(name, *value, curve.emplace());
    }
  }

  absl::Status Finish() {
    if (status_.ok()) status_ = top().Finish();
    return status_;
  }

 private:
  ObjectReader& top() { return *levels_.back(); }

  void Fail(const Value& value, std::string_view path, std::string_view message) {
    if (status_.ok()) status_ = ErrorAt(document_, value, path, message);
  }

  const Value* Needed(std::string_view name) {
    if (!status_.ok()) return nullptr;
    const Value* value = top().Take(name);
    if (value == nullptr) Fail(*objects_.back(), top().PathOf(name), "is missing");
    return value;
  }

  template <typename Body>
  void Within(const Value& object, std::string path, Body body) {
    levels_.push_back(std::make_unique<ObjectReader>(document_, object, std::move(path)));
    objects_.push_back(&object);
    body();
    if (status_.ok()) status_ = top().Finish();
    objects_.pop_back();
    levels_.pop_back();
  }

  void TakeFigure(std::string_view name, const Value& value, Figure& figure) {
    Within(value, top().PathOf(name), [&] {
      top().Required("value", &figure.value);
      if (top().ok() && !(figure.value > 0 && std::isfinite(figure.value))) {
        top().Fail("value", StrCat("needs a number above zero, found ", figure.value));
      }
      TakeOrigin(figure.origin);
    });
  }

  void TakeCurve(std::string_view name, const Value& value, Curve& curve) {
    Within(value, top().PathOf(name), [&] {
      const Value* points = top().Take("points");
      if (points == nullptr) return Fail(value, top().PathOf("points"), "is missing");
      TakePoints(*points, top().PathOf("points"), curve);
      TakeOrigin(curve.origin);
    });
  }

  void TakeOrigin(Origin& origin) {
    RecordReader read(top());
    read("origin", origin.kind, {.presence = FieldPresence::kRequired});
    read("source", origin.source, {.presence = FieldPresence::kRequired});
    if (top().ok() && origin.source.empty()) top().Fail("source", "must not be empty");
    if (origin.kind != OriginKind::kMeasured) return;
    const FieldPresence required = FieldPresence::kRequired;
    read("when", origin.when, {.presence = required});
    read("repeats", origin.repeats, {.minimum = 1, .maximum = 1e9, .presence = required});
    read("spread", origin.spread, {.minimum = 0, .maximum = 1e6, .presence = required});
  }

  void TakePoints(const Value& value, const std::string& path, Curve& curve) {
    const Value::Array* points = value.As<Value::Array>();
    if (points == nullptr || points->empty()) {
      return Fail(value, path, "needs an array of [size, rate] pairs, at least one");
    }
    for (size_t i = 0; i < points->size(); ++i) {
      const Value& point = (*points)[i];
      const std::string place = StrCat(path, "[", i, "]");
      const Value::Array* pair = point.As<Value::Array>();
      if (pair == nullptr || pair->size() != 2) return Fail(point, place, "needs [size, rate]");
      const double x = NumberOf((*pair)[0]);
      const double y = NumberOf((*pair)[1]);
      if (!(x > 0 && y > 0 && std::isfinite(x) && std::isfinite(y))) {
        return Fail(point, place, "needs two numbers above zero");
      }
      if (!curve.points.empty() && x <= curve.points.back().x) {
        return Fail(point, place,
                    StrCat("sizes must ascend, found ", x, " after ", curve.points.back().x));
      }
      curve.points.push_back({x, y});
    }
  }

  static double NumberOf(const Value& value) {
    if (const int64_t* integer = value.As<int64_t>()) return static_cast<double>(*integer);
    const double* number = value.As<double>();
    return number == nullptr ? -1 : *number;
  }

  const Document& document_;
  std::vector<std::unique_ptr<ObjectReader>> levels_;
  std::vector<const Value*> objects_ = {&document_.root};
  absl::Status status_;
};

class ProfileWriter {
 public:
  template <typename Body>
  void Section(std::string_view name, Body body) {
    writer_.Key(name).BeginObject();
    body();
    writer_.EndObject();
  }
  template <typename Body>
  void SparseSection(std::string_view name, Body body) {
    Section(name, body);
  }
  template <typename T, typename Body>
  void OptionalSection(std::string_view name, const std::optional<T>& section, Body body) {
    if (section.has_value()) Section(name, [&] { body(*section); });
  }
  template <typename T, typename Body>
  void List(std::string_view name, const std::vector<T>& list, Body body) {
    writer_.Key(name).BeginArray();
    for (const T& element : list) {
      writer_.BeginObject();
      body(element);
      writer_.EndObject();
    }
    writer_.EndArray();
  }
  template <typename T>
  void operator()(std::string_view name, const T& field, const FieldInfo& info) {
    RecordWriter write(writer_);
    write(name, field, info);
  }
  void operator()(std::string_view name, const Figure& figure, const FieldInfo&) {
    writer_.Key(name).BeginObject().Key("value").Number(figure.value);
    WriteOrigin(figure.origin);
    writer_.EndObject();
  }
  template <typename T>
  void operator()(std::string_view name, const std::optional<T>& figure, const FieldInfo& info) {
    if (figure.has_value()) (*this)(name, *figure, info);
  }
  void operator()(std::string_view name, const Curve& curve, const FieldInfo&) {
    writer_.Key(name).BeginObject().Key("points").BeginArray();
    for (const Curve::Point& point : curve.points) {
      writer_.BeginArray().Number(point.x).Number(point.y).EndArray();
    }
    writer_.EndArray();
    WriteOrigin(curve.origin);
    writer_.EndObject();
  }
  JsonWriter& json() { return writer_; }

 private:
  void WriteOrigin(const Origin& origin) {
    writer_.Key("origin").String(ToString(origin.kind)).Key("source").String(origin.source);
    if (origin.kind != OriginKind::kMeasured) return;
    writer_.Key("when").String(origin.when).Key("repeats").Integer(origin.repeats);
    writer_.Key("spread").Number(origin.spread);
  }

  JsonWriter writer_;
};

class ProfileTable {
 public:
  template <typename Body>
  void Section(std::string_view name, Body body) {
    const std::string outer = prefix_;
    prefix_ = StrCat(prefix_, name, ".");
    body();
    prefix_ = outer;
  }
  template <typename Body>
  void SparseSection(std::string_view name, Body body) {
    text_ += StrCat("| `", prefix_, name, "` | section, may be missing | | |\n");
    Section(name, body);
  }
  template <typename T, typename Body>
  void OptionalSection(std::string_view name, const std::optional<T>&, Body body) {
    text_ += StrCat("| `", prefix_, name, "` | section, may be missing | | |\n");
    const T section;
    Section(name, [&] { body(section); });
  }
  template <typename T, typename Body>
  void List(std::string_view name, const std::vector<T>&, Body body) {
    const T element;
    Section(StrCat(name, "[]"), [&] { body(element); });
  }
  template <typename T>
  void operator()(std::string_view name, const T&, const FieldInfo& info) {
    std::string kind = "text";
    if constexpr (HasWords<T>) kind = WordChoices<T>();
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t> ||
                  std::is_same_v<T, Bytes>)
      kind = "integer";
    if constexpr (std::is_same_v<T, double>) kind = "number";
    if constexpr (std::is_same_v<T, bool>) kind = "true/false";
    if constexpr (std::is_same_v<T, Figure>) kind = "figure";
    if constexpr (std::is_same_v<T, std::optional<std::string>>) kind = "text, may be missing";
    if constexpr (std::is_same_v<T, std::optional<Figure>>) kind = "figure, may be missing";
    if constexpr (std::is_same_v<T, Curve>) kind = "curve";
    if constexpr (std::is_same_v<T, std::optional<Curve>>) kind = "curve, may be missing";
    std::replace(kind.begin(), kind.end(), '|', '/');
    text_ += StrCat("| `", prefix_, name, "` | ", kind, " | ", info.unit, " | ", info.help, " |\n");
  }
  const std::string& text() const { return text_; }

 private:
  std::string prefix_;
  std::string text_ = "| field | kind | unit | meaning |\n|---|---|---|---|\n";
};

}  // namespace

double HardwareProfile::usable_host_bytes() const {
  return host.cgroup_bytes.has_value() ? std::min(host.memory_bytes.value, host.cgroup_bytes->value)
                                       : host.memory_bytes.value;
}

absl::StatusOr<HardwareProfile> ReadProfile(const Document& document) {
  HardwareProfile profile;
  ProfileReader visit(document);
  VisitProfile(profile, visit);
  RETURN_IF_ERROR(visit.Finish());
  for (size_t i = 0; i < profile.contention.size(); ++i) {
    const LaneContention& pair = profile.contention[i];
    const bool again =
        std::any_of(profile.contention.begin(), profile.contention.begin() + static_cast<long>(i),
                    [&](const LaneContention& earlier) {
                      return earlier.work == pair.work && earlier.beside == pair.beside;
                    });
    if (!again && pair.work != pair.beside) continue;
    return absl::InvalidArgumentError(
        StrCat(document.file, ": contention[", i, "]: ",
               again ? StrCat("lane ", ToString(pair.work), " beside ", ToString(pair.beside),
                              " is there twice")
                     : StrCat("lane ", ToString(pair.work), " cannot work beside itself")));
  }
  return profile;
}

absl::StatusOr<HardwareProfile> LoadProfile(Io& io, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(io, path));
  ASSIGN_OR_RETURN(const Document document, ParseJson(path, text));
  return ReadProfile(document);
}

std::string WriteProfile(const HardwareProfile& profile) {
  ProfileWriter visit;
  visit.json().BeginObject();
  VisitProfile(profile, visit);
  visit.json().EndObject();
  return std::move(visit.json()).Finish();
}

std::string ProfileFieldTable() {
  const HardwareProfile profile;
  ProfileTable visit;
  VisitProfile(profile, visit);
  return visit.text();
}

}  // namespace horizon
