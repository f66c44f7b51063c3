// Limits from made-up /proc and /sys trees of both versions of control groups.
#include "planner/profile/host/host_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "simulator/machine_facts.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using testing::HasSubstr;

class HostLimitsTest : public testing::Test {
 protected:
  void SetUp() override {
    Put("proc/meminfo", "MemTotal:       16000 kB\nMemFree: 1 kB\nMemAvailable:   12000 kB\n");
    Put("proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n");
  }
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
  HostLimits Limits() {
    const absl::StatusOr<HostLimits> limits = ReadHostLimits(*io_, root_);
    EXPECT_TRUE(limits.ok()) << limits.status();
    return limits.value_or(HostLimits());
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string root_ = MakeTestFolder(*io_);
};

TEST_F(HostLimitsTest, WithoutAnyLimitThereIsWhatTheMachineHas) {
  const HostLimits limits = Limits();
  EXPECT_EQ(limits.total_memory, 16000_KiB);
  EXPECT_EQ(limits.available_memory, 12000_KiB);
  EXPECT_EQ(limits.processors, 8);
  EXPECT_EQ(limits.cores, 8);
  EXPECT_EQ(limits.numa_nodes, 1);
  EXPECT_EQ(limits.processor, "");
  EXPECT_FALSE(limits.cgroup_memory.has_value());
  EXPECT_FALSE(limits.memlock.has_value());
  EXPECT_FALSE(limits.address_space.has_value());
  EXPECT_FALSE(limits.memory_limit().has_value());
  EXPECT_FALSE(limits.quota_cores.has_value());
  EXPECT_EQ(limits.hardware_threads, 8);
  EXPECT_EQ(limits.swap, 0_B);
  EXPECT_EQ(limits.huge_pages, HugePageMode::kUnknown);
  EXPECT_TRUE(limits.huge_page_pools.empty());
}

TEST_F(HostLimitsTest, Version2TakesTheLeastLimitUpTheTree) {
  Put("proc/self/cgroup", "0::/user.slice/run.scope\n");
  Put("sys/fs/cgroup/user.slice/run.scope/memory.max", "max\n");
  Put("sys/fs/cgroup/user.slice/run.scope/cpu.max", "max 100000\n");
  EXPECT_FALSE(Limits().cgroup_memory.has_value());
  EXPECT_EQ(Limits().cores, 8);
  Put("sys/fs/cgroup/user.slice/memory.max", "5000000\n");
  Put("sys/fs/cgroup/user.slice/cpu.max", "350000 100000\n");
  EXPECT_EQ(Limits().cgroup_memory, Bytes(5000000));
  EXPECT_EQ(Limits().cores, 3);
  EXPECT_EQ(Limits().quota_cores, 3.5);
  Put("sys/fs/cgroup/user.slice/run.scope/memory.max", "6000000\n");
  EXPECT_EQ(Limits().cgroup_memory, Bytes(5000000));
  Put("sys/fs/cgroup/user.slice/run.scope/memory.max", "4000000\n");
  EXPECT_EQ(Limits().cgroup_memory, Bytes(4000000));
  Put("sys/fs/cgroup/user.slice/run.scope/cpu.max", "50000 100000\n");
  EXPECT_EQ(Limits().cores, 1);
  EXPECT_EQ(Limits().quota_cores, 0.5);
  EXPECT_EQ(Limits().processors, 8);
  // Above this one the process is held up.
  Put("sys/fs/cgroup/user.slice/memory.high", "3000000\n");
  EXPECT_EQ(Limits().cgroup_memory, Bytes(3000000));
}

TEST_F(HostLimitsTest, InAContainerTheRootOfTheMountCounts) {
  Put("sys/fs/cgroup/memory.max", "7000000\n");
  for (const std::string_view path : {"/", "/docker/0123"}) {
    Put("proc/self/cgroup", StrCat("0::", path, "\n"));
    EXPECT_EQ(Limits().cgroup_memory, Bytes(7000000)) << path;
  }
}

TEST_F(HostLimitsTest, Version1HasAMountForEachController) {
  Put("proc/self/cgroup",
      "11:cpu,cpuacct:/jobs/a\n9:memory:/jobs/b\n1:name=systemd:/jobs/c\n0::/jobs/d\n");
  Put("sys/fs/cgroup/memory/jobs/b/memory.limit_in_bytes", "9223372036854771712\n");
  Put("sys/fs/cgroup/cpu/jobs/a/cpu.cfs_quota_us", "-1\n");
  Put("sys/fs/cgroup/cpu/jobs/a/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(Limits().cgroup_memory.has_value());
  EXPECT_EQ(Limits().cores, 8);
  Put("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "3000000\n");
  Put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  Put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Limits().cgroup_memory, Bytes(3000000));
  EXPECT_EQ(Limits().cores, 2);
  EXPECT_EQ(Limits().quota_cores, 2.0);
  // Where no link leads from "cpu" to the mount of both.
  Put("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "130000\n");
  Put("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Limits().quota_cores, 1.3);
  EXPECT_EQ(Limits().cores, 1);
}

TEST_F(HostLimitsTest, AffinityIsAListOfRanges) {
  for (const auto& [list, count] : std::vector<std::pair<std::string_view, int64_t>>{
           {"0", 1}, {"0-3,8,10-11", 7}, {"5-5", 1}, {"0-127", 128}}) {
    Put("proc/self/status", StrCat("Cpus_allowed_list:\t", list, "\n"));
    EXPECT_EQ(Limits().cores, count) << list;
  }
  for (const std::string_view list : {"", "3-1", "x", "0,", "1-", "0-99999999999"}) {
    Put("proc/self/status", StrCat("Cpus_allowed_list:\t", list, "\n"));
    EXPECT_FALSE(ReadHostLimits(*io_, root_).ok()) << list;
  }
}

TEST_F(HostLimitsTest, ReadsLockedMemoryNodesAndProcessor) {
  Put("proc/self/limits",
      "Limit                     Soft Limit           Hard Limit           Units\n"
      "Max stack size            8388608              unlimited            bytes\n"
      "Max locked memory         65536                131072               bytes\n");
  Put("sys/devices/system/node/node0/x", "");
  Put("sys/devices/system/node/node12/x", "");
  Put("sys/devices/system/node/nodes", "");
  Put("sys/devices/system/node/online", "0,12");
  Put("proc/cpuinfo", "processor\t: 0\nmodel name\t: A 8-Core: Processor\nprocessor\t: 1\n");
  const HostLimits limits = Limits();
  EXPECT_EQ(limits.memlock, 65536_B);
  EXPECT_EQ(limits.numa_nodes, 2);
  EXPECT_EQ(limits.processor, "A 8-Core: Processor");
  Put("proc/self/limits", "Max locked memory         unlimited     unlimited      bytes\n");
  EXPECT_FALSE(Limits().memlock.has_value());
}

TEST_F(HostLimitsTest, TheLeastOfControlGroupAndAddressSpaceIsTheProcesss) {
  Put("proc/self/cgroup", "0::/a\n");
  Put("sys/fs/cgroup/a/memory.max", "4000000\n");
  EXPECT_EQ(Limits().memory_limit(), Bytes(4000000));
  Put("proc/self/limits", "Max address space         3000000     unlimited      bytes\n");
  EXPECT_EQ(Limits().address_space, Bytes(3000000));
  EXPECT_EQ(Limits().memory_limit(), Bytes(3000000));
  Put("sys/fs/cgroup/a/memory.max", "2000000\n");
  EXPECT_EQ(Limits().memory_limit(), Bytes(2000000));
  Put("sys/fs/cgroup/a/memory.max", "max\n");
  EXPECT_EQ(Limits().memory_limit(), Bytes(3000000));
}

// 50 MB mapped, 30 MB of them writable, 10 MB in RAM.
constexpr char kProcess[] =
    "Name:\tx\nCpus_allowed_list:\t0-7\nVmSize:\t50000 kB\nVmRSS:\t10000 kB\n"
    "VmData:\t30000 kB\n";

TEST_F(HostLimitsTest, WhatIsMappedWithoutBeingInRamCountsAgainstTheLimitOnAddressSpace) {
  Put("proc/self/status", kProcess);
  EXPECT_EQ(Limits().resident, 10000_KiB);
  EXPECT_EQ(Limits().free_memory(), 12000_KiB) << "no limit: what the machine has";
  Put("proc/self/limits", "Max address space         57344000     unlimited      bytes\n");
  EXPECT_EQ(Limits().memory_limit(), 16000_KiB);  // 56,000 KiB may be mapped
  EXPECT_EQ(Limits().free_memory(), 6000_KiB);
  Put("proc/self/limits", "Max address space         1024     unlimited      bytes\n");
  EXPECT_EQ(Limits().free_memory(), 0_B);
}

TEST_F(HostLimitsTest, TheLimitOnDataIsRead) {
  Put("proc/self/status", kProcess);
  Put("proc/self/limits",
      "Max data size         32768000     unlimited      bytes\n"
      "Max address space         unlimited     unlimited      bytes\n");
  EXPECT_EQ(Limits().data_segment, 32000_KiB);
  EXPECT_EQ(Limits().memory_limit(), 12000_KiB);
  EXPECT_EQ(Limits().free_memory(), 2000_KiB);
}

// Files in the cache are not used memory; those who share the group use the rest.
TEST_F(HostLimitsTest, WhatOthersInTheGroupUseIsNotFree) {
  Put("proc/self/status", kProcess);
  Put("proc/self/cgroup", "0::/a/b\n");
  Put("sys/fs/cgroup/a/memory.max", "40960000\n");
  Put("sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_FALSE(Limits().cgroup_free.has_value()) << "use is not told";
  EXPECT_EQ(Limits().free_memory(), 12000_KiB);
  Put("sys/fs/cgroup/a/memory.current", "35840000\n");  // 35,000 KiB
  EXPECT_EQ(Limits().cgroup_free, 5000_KiB);
  EXPECT_EQ(Limits().memory_limit(), 15000_KiB);
  Put("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 2048000\nactive_file 1024000\n");
  EXPECT_EQ(Limits().cgroup_free, 8000_KiB);
  EXPECT_EQ(Limits().free_memory(), 8000_KiB);
  // More than the limit is used for moments.
  Put("sys/fs/cgroup/a/memory.current", "45000000\n");
  Put("sys/fs/cgroup/a/memory.stat", "anon 45000000\n");
  EXPECT_EQ(Limits().free_memory(), 0_B);
}

TEST_F(HostLimitsTest, Version1TellsUseByOtherNames) {
  Put("proc/self/status", kProcess);
  Put("proc/self/cgroup", "9:memory:/b\n");
  Put("sys/fs/cgroup/memory/b/memory.limit_in_bytes", "40960000\n");
  Put("sys/fs/cgroup/memory/b/memory.usage_in_bytes", "35840000\n");
  Put("sys/fs/cgroup/memory/b/memory.stat",
      "inactive_file 1\ntotal_inactive_file 1024000\ntotal_active_file 1024000\n");
  EXPECT_EQ(Limits().cgroup_free, 7000_KiB);
  EXPECT_EQ(Limits().cgroup_memory, 40000_KiB);
}

TEST_F(HostLimitsTest, ReadsSwapHugePagesAndTheThreadsOfTheMachine) {
  Put("proc/meminfo",
      "MemTotal: 16000 kB\nMemAvailable: 12000 kB\nSwapTotal: 4000 kB\nSwapFree: 3000 kB\n");
  Put("sys/devices/system/cpu/online", "0-63\n");
  Put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  Put("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "100\n");
  Put("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "60\n");
  Put("sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "0\n");
  Put("sys/kernel/mm/hugepages/nonsense", "");
  const HostLimits limits = Limits();
  EXPECT_EQ(limits.swap, 4000_KiB);
  EXPECT_EQ(limits.swap_free, 3000_KiB);
  EXPECT_EQ(limits.hardware_threads, 64);
  EXPECT_EQ(limits.processors, 8);
  EXPECT_EQ(limits.huge_pages, HugePageMode::kMadvise);
  ASSERT_EQ(limits.huge_page_pools.size(), 1u);
  EXPECT_EQ(limits.huge_page_pools[0].page, 2_MiB);
  EXPECT_EQ(limits.huge_page_pools[0].total, 100u);
  EXPECT_EQ(limits.huge_page_pools[0].free, 60u);
  const HostAllowance allowance = AllowanceOf(limits);
  EXPECT_EQ(allowance.total_memory_bytes, Bytes((16000_KiB).value()));
  EXPECT_EQ(allowance.huge_page_pool_bytes, 200_MiB);
  EXPECT_EQ(allowance.huge_page_pool_free_bytes, Bytes((120_MiB).value()));
  EXPECT_EQ(allowance.hardware_threads, 8);
  EXPECT_EQ(CoresText(allowance, limits.hardware_threads), "8 of 64 hardware threads by affinity");
  for (const auto& [text, mode] : std::vector<std::pair<std::string_view, HugePageMode>>{
           {"[always] madvise never", HugePageMode::kAlways},
           {"always madvise [never]", HugePageMode::kNever},
           {"always madvise never", HugePageMode::kUnknown},
           {"]always[", HugePageMode::kUnknown},
           {"[sometimes]", HugePageMode::kUnknown},
           {"", HugePageMode::kUnknown}}) {
    Put("sys/kernel/mm/transparent_hugepage/enabled", text);
    EXPECT_EQ(Limits().huge_pages, mode) << text;
  }
  Put("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "18446744073709551615\n");
  EXPECT_TRUE(Limits().huge_page_pools.empty());
}

TEST_F(HostLimitsTest, StrangeLimitsAreNone) {
  Put("proc/self/cgroup", "0::/a\nnonsense\n:\n::\n");
  for (const std::string_view text : {"", "\n", "x", "-1", "0", "99999999999999999999999"}) {
    Put("sys/fs/cgroup/a/memory.max", text);
    Put("sys/fs/cgroup/a/cpu.max", text);
    EXPECT_FALSE(Limits().cgroup_memory.has_value()) << text;
    EXPECT_EQ(Limits().cores, 8) << text;
  }
  for (const std::string_view text : {"1000 0", "0 1000", "x 1000", "1000 x", "1 2 3"}) {
    Put("sys/fs/cgroup/a/cpu.max", text);
    EXPECT_EQ(Limits().cores, 8) << text;
  }
}

TEST_F(HostLimitsTest, NamesTheFileWithoutRam) {
  for (const std::string_view text :
       {"", "MemTotal: 1 kB\n", "MemAvailable: 1 kB\n", "MemTotal: 0 kB\nMemAvailable: 1 kB\n",
        "MemTotal: x kB\nMemAvailable: 1 kB\n",
        "MemTotal: 18446744073709551615 kB\nMemAvailable: 1 kB\n"}) {
    Put("proc/meminfo", text);
    const absl::Status status = ReadHostLimits(*io_, root_).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr("/proc/meminfo has no line")) << text;
  }
}

TEST_F(HostLimitsTest, EveryFailingCallIsReported) {
  Put("proc/self/cgroup", "9:memory:/b\n8:cpu:/b\n0::/a\n");
  Put("proc/self/limits", "Max locked memory 1 1 bytes\n");
  Put("proc/cpuinfo", "model name: x\n");
  Put("sys/devices/system/node/node0/x", "");
  Put("sys/devices/system/cpu/online", "0-7\n");
  Put("sys/kernel/mm/transparent_hugepage/enabled", "[never]\n");
  Put("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "1\n");
  const uint64_t hit = ForEachFault(*io_, {}, [&](FaultingIo& io) {
    const bool good = ReadHostLimits(io, root_).ok();
    EXPECT_EQ(good, !io.reached());
  });
  EXPECT_GT(hit, 40u);
}

TEST_F(HostLimitsTest, OfThisMachineMakeSense) {
  const absl::StatusOr<HostLimits> limits = ReadHostLimits(*io_);
  ASSERT_TRUE(limits.ok()) << limits.status();
  EXPECT_LE(limits->available_memory, limits->total_memory);
  EXPECT_GE(limits->cores, 1);
  EXPECT_LE(limits->cores, limits->processors);
  EXPECT_LE(limits->processors, limits->hardware_threads);
  EXPECT_LE(limits->swap_free, limits->swap);
}

}  // namespace
}  // namespace horizon
