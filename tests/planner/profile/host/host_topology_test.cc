// Topologies from made-up /sys trees, as the kernel writes them where hwloc has nothing to say.
#include "planner/profile/host/host_topology.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "planner/profile/host/host_limits.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

class SysTopologyTest : public testing::Test {
 protected:
  void Put(std::string_view path, std::string_view text) {
    std::string folder = root_;
    while (path.find('/') != std::string_view::npos) {
      folder = JoinPath(folder, path.substr(0, path.find('/')));
      path.remove_prefix(path.find('/') + 1);
      if (!FileExists(*io_, folder)) {
        ASSERT_TRUE(io_->MakeDirectory(folder).ok());
      }
    }
    WriteBytes(*io_, JoinPath(folder, path), text);
  }
  // Two sockets of two cores with two threads each; thread n + 4 is the second of thread n's core.
  void PutTwoSockets() {
    Put("sys/devices/system/cpu/online", "0-7\n");
    for (int i = 0; i < 8; ++i) {
      const std::string cpu = StrCat("sys/devices/system/cpu/cpu", i);
      const int core = i % 4;
      const int socket = core / 2;
      Put(cpu + "/topology/physical_package_id", StrCat(socket, "\n"));
      Put(cpu + "/topology/thread_siblings_list", StrCat(core, ",", core + 4, "\n"));
      Put(cpu + "/cache/index0/level", "1\n");
      Put(cpu + "/cache/index0/size", "32K\n");
      Put(cpu + "/cache/index2/level", "2\n");
      Put(cpu + "/cache/index2/size", "1M\n");
      Put(cpu + "/cache/index3/level", "3\n");
      Put(cpu + "/cache/index3/size", "32768K\n");
      Put(cpu + "/cache/index3/shared_cpu_list", socket == 0 ? "0-1,4-5\n" : "2-3,6-7\n");
    }
    Put("sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
    Put("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:   1024 kB\nNode 0 MemFree: 1\n");
    Put("sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
    Put("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal:   2048 kB\n");
    // Memory of a device, without processors.
    Put("sys/devices/system/node/node10/cpulist", "\n");
    Put("sys/devices/system/node/node10/meminfo", "Node 10 MemTotal:   4096 kB\n");
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string root_ = MakeTestFolder(*io_);
};

TEST_F(SysTopologyTest, CountsSocketsCoresThreadsCachesAndNodes) {
  PutTwoSockets();
  const absl::StatusOr<HostTopology> topology = ReadSysTopology(*io_, root_);
  ASSERT_TRUE(topology.ok()) << topology.status();
  const HostTopology expected{.sockets = 2,
                              .cores = 4,
                              .hardware_threads = 8,
                              .l2_bytes = Bytes(1 << 20),
                              .l3_bytes = Bytes(32 << 20),
                              .l3_caches = 2,
                              .nodes = {{0, 1_MiB, 2, 4}, {1, 2_MiB, 2, 4}, {10, 4_MiB, 0, 0}}};
  EXPECT_EQ(*topology, expected);
}

TEST_F(SysTopologyTest, WhatIsNotToldIsOneOrNone) {
  Put("sys/devices/system/cpu/online", "0-2\n");
  Put("sys/devices/system/cpu/cpu0/topology/physical_package_id", "-1\n");
  Put("proc/meminfo", "MemTotal: 8 kB\n");
  const absl::StatusOr<HostTopology> topology = ReadSysTopology(*io_, root_);
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_EQ(
      *topology,
      (HostTopology{.sockets = 1, .cores = 3, .hardware_threads = 3, .nodes = {{0, 8_KiB, 3, 3}}}));
}

TEST_F(SysTopologyTest, CachesOfStrangeSizeAreNotKnown) {
  PutTwoSockets();
  for (const std::string_view size : {"", "K", "x", "99999999999999999999K", "9999999999G"}) {
    for (int i = 0; i < 8; ++i) {
      Put(StrCat("sys/devices/system/cpu/cpu", i, "/cache/index2/size"), size);
    }
    EXPECT_EQ(ReadSysTopology(*io_, root_)->l2_bytes, 0_B) << size;
  }
}

TEST_F(SysTopologyTest, WithoutProcessorsThereIsNone) {
  for (const std::string_view list : {"", "x", "3-1"}) {
    Put("sys/devices/system/cpu/online", list);
    const absl::Status status = ReadSysTopology(*io_, root_).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << list;
    EXPECT_NE(status.message().find("cpu/online names no processors"), status.message().npos);
  }
}

TEST_F(SysTopologyTest, EveryFailingCallIsReported) {
  PutTwoSockets();
  const uint64_t hit = ForEachFault(*io_, {}, [&](FaultingIo& io) {
    const bool good = ReadSysTopology(io, root_).ok();
    EXPECT_EQ(good, !io.reached());
  });
  EXPECT_GT(hit, 300u);
}

// Both ways of asking agree on the machine the test runs on.
TEST(HostTopology, OfThisMachineHasItsThreads) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const absl::StatusOr<HostTopology> topology = ReadHostTopology(*io);
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_EQ(topology->hardware_threads, ReadHostLimits(*io)->hardware_threads);
  const absl::StatusOr<HostTopology> sys = ReadSysTopology(*io);
  ASSERT_TRUE(sys.ok()) << sys.status();
  EXPECT_EQ(sys->hardware_threads, topology->hardware_threads);
  EXPECT_EQ(sys->nodes.size(), topology->nodes.size());
}

}  // namespace
}  // namespace horizon
