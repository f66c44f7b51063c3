// Machine files: what is written is read back, and what is wrong is named by file, line and field.
#include "simulator/hardware_profile.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "common/check.h"
#include "common/documents/json.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "planner/machines/machine_catalog.h"
#include "tests/simulator/test_profile.h"

namespace horizon {
namespace {

using testing::TempDir;

absl::StatusOr<HardwareProfile> Read(std::string_view text) {
  absl::StatusOr<Document> document = ParseJson("machine.json", text);
  if (!document.ok()) return document.status();
  return ReadProfile(*document);
}

bool Equal(const DeviceProfile& a, const DeviceProfile& b) {
  return a.kind == b.kind && a.name == b.name && a.memory_bytes == b.memory_bytes &&
         a.reserved_bytes == b.reserved_bytes &&
         a.memory_bytes_per_second == b.memory_bytes_per_second &&
         a.element_bytes_per_second == b.element_bytes_per_second &&
         a.launch_seconds == b.launch_seconds && a.gemm_bf16 == b.gemm_bf16 &&
         a.gemm_fp32 == b.gemm_fp32 && a.attention == b.attention;
}

bool Equal(const LinkProfile& a, const LinkProfile& b) {
  return a.latency_seconds == b.latency_seconds && a.h2d_pinned == b.h2d_pinned &&
         a.h2d_pageable == b.h2d_pageable && a.d2h_pinned == b.d2h_pinned &&
         a.d2h_pageable == b.d2h_pageable &&
         a.both_ways_bytes_per_second == b.both_ways_bytes_per_second && a.pcie == b.pcie;
}

bool Equal(const HostProfile& a, const HostProfile& b) {
  return a.name == b.name && a.memory_bytes == b.memory_bytes && a.cgroup_bytes == b.cgroup_bytes &&
         a.memlock_bytes == b.memlock_bytes && a.numa_nodes == b.numa_nodes && a.cores == b.cores &&
         a.dram == b.dram && a.adam == b.adam && a.pack == b.pack &&
         a.process_bytes == b.process_bytes && a.topology == b.topology &&
         a.allowance == b.allowance;
}

bool Equal(const HardwareProfile& a, const HardwareProfile& b) {
  return a.version == b.version && a.name == b.name && a.summary == b.summary &&
         Equal(a.device, b.device) && Equal(a.link, b.link) && Equal(a.host, b.host) &&
         a.measured_on == b.measured_on && a.in_runs == b.in_runs &&
         a.device_class == b.device_class && a.planned_only == b.planned_only &&
         std::equal(a.contention.begin(), a.contention.end(), b.contention.begin(),
                    b.contention.end(),
                    [](const LaneContention& one, const LaneContention& other) {
                      return one.work == other.work && one.beside == other.beside &&
                             one.speed == other.speed;
                    }) &&
         std::equal(a.disks.begin(), a.disks.end(), b.disks.begin(), b.disks.end(),
                    [](const DiskProfile& one, const DiskProfile& other) {
                      return one.path == other.path &&
                             one.read_bytes_per_second == other.read_bytes_per_second &&
                             one.write_bytes_per_second == other.write_bytes_per_second &&
                             one.free_bytes == other.free_bytes;
                    });
}

Origin RandomOrigin() {
  Origin origin;
  origin.kind = *rc::gen::element(OriginKind::kMeasured, OriginKind::kVendor, OriginKind::kFitted,
                                  OriginKind::kAssumed);
  origin.source = *rc::gen::element("data sheet", "says \"so\"", "\\ and \n", "\xc3\xa9");
  if (origin.kind != OriginKind::kMeasured) return origin;
  origin.when = "2026-02-03";
  origin.repeats = *rc::gen::inRange<int64_t>(1, 1000);
  origin.spread = *rc::gen::inRange(0, 1000) / 999.0;
  return origin;
}

// What a measured machine has and a catalog's may lack.
void AddFacts(HardwareProfile& profile) {
  profile.link.pcie = PcieState{
      .generation = 3, .width = 8, .best_generation = 4, .best_width = 16, .under_load = true};
  profile.host.topology =
      HostTopology{.sockets = 2,
                   .cores = 8,
                   .hardware_threads = 16,
                   .l2_bytes = Bytes(1 << 20),
                   .l3_bytes = Bytes(32 << 20),
                   .l3_caches = 2,
                   .nodes = {{0, Bytes(uint64_t{1} << 40), 8, 16}, {3, 7_B, 0, 0}}};
  profile.host.allowance = HostAllowance{.total_memory_bytes = Bytes(uint64_t{1} << 40),
                                         .swap_bytes = 9_B,
                                         .swap_free_bytes = 8_B,
                                         .control_group_bytes = 7_B,
                                         .address_space_bytes = 6_B,
                                         .locked_memory_bytes = 5_B,
                                         .huge_pages = HugePageMode::kMadvise,
                                         .huge_page_pool_bytes = 4_B,
                                         .huge_page_pool_free_bytes = 3_B,
                                         .hardware_threads = 2,
                                         .quota_cores = 1.5};
  profile.measured_on = MeasuredOn{.hardware = {.processor = "A \"processor\"",
                                                .cores = 2,
                                                .hardware_threads = 16,
                                                .memory_bytes = Bytes(uint64_t{1} << 40),
                                                .numa_nodes = 2,
                                                .device = "host"},
                                   .made = 1'700'000'000,
                                   .quick = true,
                                   .kernels = "12345"};
}

RC_GTEST_PROP(HardwareProfile, AnyProfileIsReadBackAsItWasWritten, ()) {
  HardwareProfile profile = *RandomProfile();
  profile.device.gemm_bf16.points = {{128, 1.0 / 3}, {256, 1e300}, {512.5, 7e-9}};
  profile.device.gemm_bf16.origin = RandomOrigin();
  profile.link.latency_seconds.origin = RandomOrigin();
  profile.host.adam[3].origin = RandomOrigin();
  if (*rc::gen::arbitrary<bool>()) profile.host.cgroup_bytes = Figure{1e11 / 7, RandomOrigin()};
  if (*rc::gen::arbitrary<bool>()) profile.host.memlock_bytes = Figure{65536, RandomOrigin()};
  profile.host.numa_nodes = *rc::gen::inRange<int64_t>(1, 9);
  if (*rc::gen::arbitrary<bool>()) profile.disks.clear();
  if (*rc::gen::arbitrary<bool>()) {
    profile.disks.push_back({"/data", {3e9, RandomOrigin()}, {2e9, RandomOrigin()}, {}});
    if (*rc::gen::arbitrary<bool>()) profile.disks.back().free_bytes = Figure{7, RandomOrigin()};
  }
  if (*rc::gen::arbitrary<bool>()) AddFacts(profile);
  if (*rc::gen::arbitrary<bool>()) {
    profile.device_class = "geforce";
    profile.planned_only = "because \"so\"";
    profile.in_runs[*rc::gen::inRange<size_t>(0, kRateGroupCount)] = Figure{0.9, RandomOrigin()};
    profile.contention = {{Lane::kCompute, Lane::kHost, {0.75, RandomOrigin()}},
                          {Lane::kHost, Lane::kCompute, {1.0 / 3, RandomOrigin()}}};
  }
  const std::string text = WriteProfile(profile);
  const absl::StatusOr<HardwareProfile> read = Read(text);
  RC_LOG() << read.status().ToString();
  RC_ASSERT(read.ok());
  RC_ASSERT(Equal(*read, profile));
  RC_ASSERT(WriteProfile(*read) == text);
}

TEST(HardwareProfile, EveryCatalogMachineIsReadBackAsItWasWritten) {
  const std::unique_ptr<Io> io = MakePosixIo();
  ASSERT_FALSE(MachineCatalog().empty());
  for (const MachineEntry& machine : MachineCatalog()) {
    const absl::StatusOr<HardwareProfile> first = LoadMachine(*io, machine.name);
    ASSERT_TRUE(first.ok()) << machine.name << ": " << first.status();
    EXPECT_EQ(first->name, machine.name);
    const absl::StatusOr<HardwareProfile> second = Read(WriteProfile(*first));
    ASSERT_TRUE(second.ok()) << machine.name << ": " << second.status();
    EXPECT_TRUE(Equal(*first, *second)) << machine.name;
  }
}

TEST(HardwareProfile, IsLoadedFromAFileAndAMissingOneIsNamed) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string path = JoinPath(TempDir(), "profile.json");
  ASSERT_TRUE(WriteTextFile(*io, path, WriteProfile(TestProfile())).ok());
  const absl::StatusOr<HardwareProfile> loaded = LoadProfile(*io, path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE(Equal(*loaded, TestProfile()));
  const absl::Status missing = LoadProfile(*io, JoinPath(TempDir(), "no_such.json")).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(missing.message().find("no_such.json"), std::string::npos) << missing;
}

TEST(HardwareProfile, MayUseNoMoreThanTheSystemAllows) {
  HardwareProfile profile = TestProfile();
  EXPECT_EQ(profile.usable_host_bytes(), 64e9);
  profile.host.cgroup_bytes = Figure{.value = 10e9, .origin = {}};
  EXPECT_EQ(profile.usable_host_bytes(), 10e9);
  profile.host.cgroup_bytes->value = 100e9;
  EXPECT_EQ(profile.usable_host_bytes(), 64e9);
  EXPECT_EQ(profile.usable_device_bytes(), 8e9);
}

// --- what is refused ---

TEST(HardwareProfile, ALaneBesideItselfOrAPairThatIsThereTwiceIsNamed) {
  HardwareProfile profile = TestProfile();
  const LaneContention pair{Lane::kCompute, Lane::kHost, {.value = 0.5}};
  profile.contention = {pair, {Lane::kHost, Lane::kCompute, {.value = 0.5}}};
  for (LaneContention& each : profile.contention) each.speed.origin.source = "made up";
  ASSERT_TRUE(Read(WriteProfile(profile)).ok()) << Read(WriteProfile(profile)).status();
  profile.contention.push_back(profile.contention[0]);
  EXPECT_EQ(Read(WriteProfile(profile)).status().message(),
            "machine.json: contention[2]: lane compute beside host is there twice");
  profile.contention[2].beside = Lane::kCompute;
  EXPECT_EQ(Read(WriteProfile(profile)).status().message(),
            "machine.json: contention[2]: lane compute cannot work beside itself");
}

TEST(HardwareProfile, AFactOutOfRangeOrMissingInItsSectionIsNamed) {
  HardwareProfile profile = TestProfile();
  AddFacts(profile);
  const std::string good = WriteProfile(profile);
  ASSERT_TRUE(Read(good).ok()) << Read(good).status();
  const struct {
    std::string_view from, to, message;
  } kinds[] = {{"\"best_width\": 16", "\"best_width\": 0", "link.pcie.best_width"},
               {"\"huge_pages\": \"madvise\"", "\"huge_pages\": \"some\"", "huge_pages"},
               {"\"quota_cores\": 1.5", "\"quota_cores\": -1", "host.allowance.quota_cores"},
               {"\"sockets\": 2,", "", "sockets"},
               {"\"l3_caches\": 2", "\"l3_cashes\": 2", "l3_caches"},
               {"\"quick\": true", "\"quick\": 1", "measured_on.quick"}};
  for (const auto& kind : kinds) {
    std::string text = good;
    const size_t place = text.find(kind.from);
    ASSERT_NE(place, std::string::npos) << kind.from;
    text.replace(place, kind.from.size(), kind.to);
    const absl::Status status = Read(text).status();
    EXPECT_NE(std::string(status.message()).find(kind.message), std::string::npos)
        << kind.from << ": " << status;
  }
}

// The members of a figure or curve of the test machine, one a line as WriteProfile has them.
std::string Text() { return WriteProfile(TestProfile()); }

// The place of the value of `path` ("link.h2d_pinned.points") in the text.
size_t PlaceOf(const std::string& text, std::string_view path) {
  size_t place = 0;
  while (!path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    place = text.find(StrCat("\"", path.substr(0, dot), "\":"), place);
    CHECK(place != std::string::npos);
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return place;
}

// The end of the value that starts at or after the colon of `place`.
size_t EndOfValue(const std::string& text, size_t place) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = text.find(':', place) + 1; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && text[i - 1] != '\\') quoted = !quoted;
    if (quoted) continue;
    if (depth == 0 && (c == ',' || c == '}' || c == '\n')) return i;
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
  }
  return text.size();
}

std::string WithValue(std::string_view path, std::string_view value) {
  std::string text = Text();
  const size_t colon = text.find(':', PlaceOf(text, path));
  return text.replace(colon + 1, EndOfValue(text, colon) - colon - 1, value);
}

std::string WithKeyRenamed(std::string_view path, std::string_view key) {
  std::string text = Text();
  const size_t place = PlaceOf(text, path);
  return text.replace(place, text.find(':', place) - place, StrCat("\"", key, "\""));
}

int LineOf(const std::string& text, std::string_view path) {
  return 1 + static_cast<int>(std::count(
                 text.begin(), text.begin() + static_cast<int64_t>(PlaceOf(text, path)), '\n'));
}

// Refused with "machine.json:", the words, and, where `line` is given, that line.
void ExpectRefused(const std::string& text, std::string_view path, std::string_view words,
                   int line = 0) {
  const absl::Status status = Read(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << path;
  const std::string message(status.message());
  const std::string place = line > 0 ? StrCat("machine.json:", line, ": ") : "machine.json:";
  EXPECT_EQ(message.find(place), 0u) << message;
  EXPECT_NE(message.find(StrCat(" ", path, ": ")), std::string::npos) << message;
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

constexpr std::string_view kFigures[] = {
    "device.memory_bytes",   "device.reserved_bytes",
    "device.launch_seconds", "device.memory_bytes_per_second",
    "link.latency_seconds",  "device.element_bytes_per_second",
    "host.process_bytes",    "link.both_ways_bytes_per_second",
};
constexpr std::string_view kCurves[] = {
    "device.gemm_bf16",  "device.gemm_fp32", "device.attention",      "link.h2d_pinned",
    "link.h2d_pageable", "link.d2h_pinned",  "link.d2h_pageable",     "host.dram",
    "host.adam.fp32",    "host.pack",        "host.adam.8bit-moments"};

std::string Renamed(std::string_view path) {
  return StrCat(path.substr(path.find_last_of('.') + 1), "_x");
}

TEST(HardwareProfile, EveryFigureAndCurveIsNeeded) {
  for (const std::string_view path : kFigures) {
    ExpectRefused(WithKeyRenamed(path, Renamed(path)), path, "is missing");
  }
  for (const std::string_view path : kCurves) {
    ExpectRefused(WithKeyRenamed(path, Renamed(path)), path, "is missing");
  }
  for (const std::string_view path : {"device", "link", "host"}) {
    ExpectRefused(WithKeyRenamed(path, Renamed(path)), path, "is missing");
  }
}

TEST(HardwareProfile, AFigureIsAFiniteNumberAboveZero) {
  for (const std::string_view path : kFigures) {
    const std::string value = StrCat(path, ".value");
    for (const std::string_view bad : {"0", "-1", "0.0", "-1e-9"}) {
      const std::string text = WithValue(value, bad);
      ExpectRefused(text, value, "above zero", LineOf(text, value));
    }
    ExpectRefused(WithValue(value, "\"1\""), value, "");
    ExpectRefused(WithValue(value, "null"), value, "");
    ExpectRefused(WithValue(path, "17"), path, "an object");
  }
  // Too large for a double: the parser or the reader refuses it, with the line.
  const absl::Status huge = Read(WithValue("device.memory_bytes.value", "1e999")).status();
  EXPECT_EQ(huge.code(), absl::StatusCode::kInvalidArgument) << huge;
}

TEST(HardwareProfile, ACurveHasAscendingPointsAboveZero) {
  for (const std::string_view path : kCurves) {
    const std::string points = StrCat(path, ".points");
    ExpectRefused(WithKeyRenamed(points, "dots"), points, "is missing");
    ExpectRefused(WithValue(points, "[]"), points, "at least one");
    ExpectRefused(WithValue(points, "5"), points, "an array");
    ExpectRefused(WithValue(points, "[[1, 0]]"), StrCat(points, "[0]"), "above zero");
    ExpectRefused(WithValue(points, "[[0, 1]]"), StrCat(points, "[0]"), "above zero");
    ExpectRefused(WithValue(points, "[[1, 5], [2, -5]]"), StrCat(points, "[1]"), "above zero");
    ExpectRefused(WithValue(points, "[[1, \"5\"]]"), StrCat(points, "[0]"), "above zero");
    ExpectRefused(WithValue(points, "[[1, 5], [2]]"), StrCat(points, "[1]"), "[size, rate]");
    ExpectRefused(WithValue(points, "[[1, 5, 6]]"), StrCat(points, "[0]"), "[size, rate]");
    ExpectRefused(WithValue(points, "[7]"), StrCat(points, "[0]"), "[size, rate]");
    ExpectRefused(WithValue(points, "[[2, 5], [2, 6]]"), StrCat(points, "[1]"), "must ascend");
    ExpectRefused(WithValue(points, "[[1, 5],\n\n[3, 5], [2, 6]]"), StrCat(points, "[2]"),
                  "found 2 after 3", LineOf(Text(), points) + 2);
  }
}

TEST(HardwareProfile, AnOriginIsNeededAndNamed) {
  ExpectRefused(WithKeyRenamed("link.h2d_pinned.origin", "from"), "link.h2d_pinned.origin", "");
  ExpectRefused(WithValue("link.h2d_pinned.origin", "\"heard\""), "link.h2d_pinned.origin",
                "measured");
  ExpectRefused(WithValue("device.memory_bytes.source", "\"\""), "device.memory_bytes.source",
                "empty");
  ExpectRefused(WithKeyRenamed("host.dram.source", "cause"), "host.dram.source", "missing");
}

TEST(HardwareProfile, AMeasurementSaysWhenAndHowOften) {
  const auto with = [](std::string_view rest) {
    return WithValue(
        "host.process_bytes",
        StrCat("{\"value\": 5, \"origin\": \"measured\", \"source\": \"probe\"", rest, "}"));
  };
  EXPECT_TRUE(Read(with(R"(, "when": "2026-01-01", "repeats": 3, "spread": 0.01)")).ok());
  ExpectRefused(with(R"(, "repeats": 3, "spread": 0.01)"), "host.process_bytes.when", "");
  ExpectRefused(with(R"(, "when": "2026-01-01", "spread": 0)"), "host.process_bytes.repeats", "");
  ExpectRefused(with(R"(, "when": "2026-01-01", "repeats": 3)"), "host.process_bytes.spread", "");
  ExpectRefused(with(R"(, "when": "2026-01-01", "repeats": 0, "spread": 0)"),
                "host.process_bytes.repeats", "1 to");
  ExpectRefused(with(R"(, "when": "2026-01-01", "repeats": 3, "spread": -1)"),
                "host.process_bytes.spread", "0 to");
}

TEST(HardwareProfile, OnlyAMeasurementHasADate) {
  const std::string text =
      WithValue("host.process_bytes",
                R"({"value": 5, "origin": "vendor", "source": "sheet", "when": "2026-01-01"})");
  const absl::Status status = Read(text).status();
  EXPECT_NE(status.message().find("when"), std::string::npos) << status;
}

TEST(HardwareProfile, UnknownKeysAreNamed) {
  for (const std::string_view place : {"device.kind", "link.latency_seconds", "host.cores",
                                       "host.adam.fp32", "device.gemm_bf16.points"}) {
    std::string text = Text();
    text.insert(PlaceOf(text, place), "\"speling\": 1, ");
    const absl::Status status = Read(text).status();
    EXPECT_NE(status.message().find("speling"), std::string::npos) << place << ": " << status;
    EXPECT_NE(status.message().find("unknown key"), std::string::npos) << place << ": " << status;
  }
}

TEST(HardwareProfile, NumbersOfCoresAndNodesAreWithinReason) {
  ExpectRefused(WithValue("host.cores", "0"), "host.cores", "1 to 4096");
  ExpectRefused(WithValue("host.cores", "4097"), "host.cores", "1 to 4096");
  ExpectRefused(WithValue("host.cores", "1.5"), "host.cores", "");
  ExpectRefused(WithValue("host.numa_nodes", "0"), "host.numa_nodes", "1 to 1024");
  ExpectRefused(WithValue("version", "2"), "version", "1 to 1");
  ExpectRefused(WithValue("device.kind", "\"tpu\""), "device.kind", "cuda");
  EXPECT_TRUE(Read(WithValue("host.cores", "4096")).ok());
}

TEST(HardwareProfile, DisksAreAListThatMayBeMissing) {
  EXPECT_TRUE(Read(WithValue("disks", "[]")).ok());
  ExpectRefused(WithValue("disks", "{}"), "disks", "an array");
  ExpectRefused(WithValue("disks", "[{}]"), "disks[0].path", "");
  ExpectRefused(WithValue("disks.write_bytes_per_second.value", "0"),
                "disks[0].write_bytes_per_second.value", "above zero");
}

TEST(HardwareProfile, OtherThingsThanAnObjectAreRefused) {
  for (const std::string_view text : {"", "[]", "1", "null", "\"x\"", "{"}) {
    EXPECT_EQ(Read(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace horizon
