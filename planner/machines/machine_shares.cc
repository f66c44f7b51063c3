#include "planner/machines/machine_shares.h"

#include "common/check.h"

namespace horizon {
namespace {

constexpr EnumWord<DeviceClass> kDeviceWords[] = {
    {DeviceClass::kGeForce, "geforce"},      {DeviceClass::kWorkstation, "workstation"},
    {DeviceClass::kTuring, "turing"},        {DeviceClass::kA100, "a100"},
    {DeviceClass::kHopperSxm, "hopper-sxm"}, {DeviceClass::kHopperPcie, "hopper-pcie"},
    {DeviceClass::kBlackwell, "blackwell"},  {DeviceClass::kCdna3, "cdna3"},
    {DeviceClass::kCdna4, "cdna4"},          {DeviceClass::kRdna, "rdna"},
    {DeviceClass::kApple, "apple"},          {DeviceClass::kCpu, "cpu"}};
constexpr EnumWord<PlatformClass> kPlatformWords[] = {{PlatformClass::kDesktop, "desktop"},
                                                      {PlatformClass::kServer, "server"},
                                                      {PlatformClass::kGrace, "grace"},
                                                      {PlatformClass::kSoc, "soc"}};
constexpr EnumWord<LinkKind> kLinkWords[] = {{LinkKind::kPcie, "pcie"},
                                             {LinkKind::kNvlinkC2c, "nvlink-c2c"},
                                             {LinkKind::kUnified, "unified"},
                                             {LinkKind::kMemcpy, "memcpy"}};

// PyTorch's matmul on square matrices of 10,240, which lasts long enough to be slowed by the power
// limit, by many owners: github.com/zzc0721/torch-performance-test-data. "MAMF" is the fastest
// shape that was found: github.com/stas00/ml-engineering, compute/accelerator.
constexpr Share kMemory = {0.8, "usual for passes over large arrays"};

}  // namespace

std::span<const EnumWord<DeviceClass>> WordsOf(DeviceClass) { return kDeviceWords; }
std::span<const EnumWord<PlatformClass>> WordsOf(PlatformClass) { return kPlatformWords; }
std::span<const EnumWord<LinkKind>> WordsOf(LinkKind) { return kLinkWords; }

const DeviceShares& SharesOf(DeviceClass device_class) {
  switch (device_class) {
    case DeviceClass::kGeForce: {
      static constexpr DeviceShares kShares = {
          {1.0,
           "products of 10,240 measured by owners reach 0.96 (RTX 4090), 1.08 (4060 Ti, 5060, "
           "5070) and 1.13 (5090) of the listed rate, since these cards clock higher than listed"},
          {0.65,
           "fp32 products of 10,240 measured by owners: 0.62 (RTX 4090, 5090), 0.73 (3080 Ti)"},
          kMemory};
      return kShares;
    }
    case DeviceClass::kWorkstation: {
      static constexpr DeviceShares kShares = {
          {0.7,
           "products of 10,240 measured by owners reach 0.66 and 0.77 (RTX PRO 6000 Workstation "
           "and Server), 0.73 (A4000), at most 0.74 (L40S): the power limit keeps them below the "
           "listed rate"},
          {0.55, "fp32 products measured by owners: 0.51 (L40S), 0.54 and 0.6 (RTX PRO 6000)"},
          kMemory};
      return kShares;
    }
    case DeviceClass::kTuring: {
      static constexpr DeviceShares kShares = {
          {0.6, "no bf16 tensor cores: bf16 products run at no more than the fp32 rate; assumed"},
          {0.8, "assumed"},
          kMemory};
      return kShares;
    }
    case DeviceClass::kA100: {
      static constexpr DeviceShares kShares = {
          {0.7,
           "products of 10,240 measured by owners reach 0.68 (PCIe, 40 GB); the fastest shape "
           "0.81 (PCIe) and 0.87 (SXM, MAMF); published training on it 0.68"},
          {0.85, "fp32 products of 10,240 measured by owners: 0.85"},
          kMemory};
      return kShares;
    }
    case DeviceClass::kHopperSxm: {
      static constexpr DeviceShares kShares = {
          {0.73,
           "products of 10,240 measured by owners reach 0.73 (H100 SXM); the fastest shape 0.80 "
           "(MAMF), 0.79 in XLA's table of measured products"},
          {0.74, "fp32 products of 10,240 measured by owners: 0.74"},
          kMemory};
      return kShares;
    }
    case DeviceClass::kHopperPcie: {
      static constexpr DeviceShares kShares = {
          {0.62, "products of 10,240 measured by owners reach 0.62 and 0.64 (H100, H800 PCIe)"},
          {0.7, "fp32 products of 10,240 measured by owners: 0.70"},
          kMemory};
      return kShares;
    }
    case DeviceClass::kBlackwell: {
      static constexpr DeviceShares kShares = {
          {0.7,
           "the fastest shape reaches 0.78 (MAMF, B200); lasting large products 0.9 of that, as "
           "on the H100"},
          {0.74, "as Hopper; no measurement was found"},
          kMemory};
      return kShares;
    }
    case DeviceClass::kCdna3: {
      static constexpr DeviceShares kShares = {
          {0.46,
           "the fastest shape reaches 0.51 (MAMF, MI300X); lasting large products 0.9 of that, as "
           "on the H100"},
          {0.6, "assumed"},
          kMemory};
      return kShares;
    }
    case DeviceClass::kCdna4: {
      static constexpr DeviceShares kShares = {
          {0.56,
           "the fastest shape reaches 0.62 (MAMF, MI355X: 1,565 TFLOPS); lasting large products "
           "0.9 of that, as on the H100"},
          {0.6, "assumed"},
          kMemory};
      return kShares;
    }
    case DeviceClass::kRdna: {
      static constexpr DeviceShares kShares = {
          {0.6, "0.62 at best and 0.59 on average by mamf-finder with hipBLASLt (Strix Halo)"},
          {0.6, "as bf16"},
          kMemory};
      return kShares;
    }
    case DeviceClass::kApple: {
      static constexpr DeviceShares kShares = {
          {0.65, "products of 10,240 measured by owners reach 0.63 (M4 Max, 11.7 TFLOPS by MPS)"},
          {0.66, "fp32 products of 10,240 measured by owners: 0.66 (M4 Max)"},
          kMemory};
      return kShares;
    }
    case DeviceClass::kCpu: {
      static constexpr DeviceShares kShares = {{1, "device `host` computes in fp32"},
                                               {1, "the listed rate is what OpenBLAS reaches"},
                                               {0.75, "of what DRAM carries; assumed"}};
      return kShares;
    }
  }
  CHECK(false);
  return SharesOf(DeviceClass::kCpu);
}

const PlatformShares& SharesOf(PlatformClass platform) {
  static constexpr Share kDram = {0.8, "usual for STREAM on all cores"};
  static constexpr PlatformShares kX86 = {kDram, 12e9, "usual for one thread of an x86 core"};
  static constexpr PlatformShares kGrace = {kDram, 35e9, "usual for one thread of a Grace core"};
  static constexpr PlatformShares kSoc = {
      {0.5,
       "assumed: on chips whose memory is shared, the CPU reaches about half of what the GPU "
       "does"},
      20e9,
      "assumed"};
  switch (platform) {
    case PlatformClass::kDesktop:
    case PlatformClass::kServer:
      return kX86;
    case PlatformClass::kGrace:
      return kGrace;
    case PlatformClass::kSoc:
      return kSoc;
  }
  CHECK(false);
  return kX86;
}

const LinkShares& SharesOf(LinkKind kind) {
  static constexpr LinkShares kPcie = {
      {0.81, "26 of 32 GB/s in the published text, 52.8 of 64 by nvbandwidth (its issue 24)"},
      {0.81, "as to the device"},
      {1.8, "assumed"},
      {0.4, "assumed"}};
  static constexpr LinkShares kC2c = {
      {0.77, "346 of 450 GB/s by nvbandwidth (its issue 23)"},
      {0.66, "15 % below the other direction by nvbandwidth (its issue 23)"},
      {1.0, "two directions together carry what one does by nvbandwidth (its issue 41)"},
      {1, "the link is coherent, so that pageable memory is as fast"}};
  static constexpr LinkShares kUnified = {
      {0.4, "a copy within one memory reads and writes; assumed"},
      {0.4, "a copy within one memory reads and writes; assumed"},
      {1, "one memory carries both"},
      {1, "one memory"}};
  static constexpr LinkShares kMemcpy = {{1, "a memcpy by one thread"},
                                         {1, "a memcpy by one thread"},
                                         {2, "two memcpys by two threads"},
                                         {1, "the same memory"}};
  switch (kind) {
    case LinkKind::kPcie:
      return kPcie;
    case LinkKind::kNvlinkC2c:
      return kC2c;
    case LinkKind::kUnified:
      return kUnified;
    case LinkKind::kMemcpy:
      return kMemcpy;
  }
  CHECK(false);
  return kPcie;
}

SizeShares GemmShares(DeviceClass device_class) {
  if (device_class == DeviceClass::kCpu) {
    return {{{16, 1.0 / 6}, {64, 0.5}, {256, 5.0 / 6}, {512, 1}}, "less for small products"};
  }
  return {
      {{128, 0.25}, {256, 0.45}, {512, 0.7}, {1024, 0.9}, {2048, 0.97}, {4096, 0.99}, {8192, 1}},
      "less for smaller products, as in XLA's table of an H100"};
}

SizeShares AttentionShares(DeviceClass device_class) {
  if (device_class == DeviceClass::kCpu) return {{{256, 1.0 / 3}, {1024, 0.5}}, "assumed"};
  return {{{256, 0.3}, {1024, 0.6}, {4096, 0.8}},
          "the FlashAttention-2 paper reports 50-73 % of peak where GEMMs reach 80-90 %"};
}

SizeShares CopyShares(LinkKind kind) {
  if (kind == LinkKind::kMemcpy)
    return {{{65536, 10.0 / 12}, {16777216, 1}}, "less for small ones"};
  return {{{65536, 0.35}, {1048576, 0.8}, {16777216, 0.97}, {67108864, 1}}, "less for small ones"};
}

}  // namespace horizon
