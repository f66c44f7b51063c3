#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "common/documents/enum_words.h"

namespace horizon {

// The table of the shares of their data-sheet figures that the classes of hardware reach. A machine
// of the catalog states data-sheet figures only (machine_description.h); its rates are these shares
// of them (derive_profile.h). For example an A100 is listed with 312 TFLOPS, and its class reaches
// 0.7 of that, so its GEMM curve ends at 218 TFLOPS.
//
// Shares come from measurements that other people published, each with its source. They describe
// the hardware and not one program: losses that only the published Python system has belong to its
// strategy (planner/profile/calibration.h).

// The class of a device: devices of one class reach the same shares.
enum class DeviceClass {
  kGeForce,
  kWorkstation,
  kTuring,
  kA100,
  kHopperSxm,
  kHopperPcie,
  kBlackwell,
  kCdna3,
  kCdna4,
  kRdna,
  kApple,
  kCpu,
};
std::span<const EnumWord<DeviceClass>> WordsOf(DeviceClass);

// The class of a host: how its processors and its memory are built.
enum class PlatformClass { kDesktop, kServer, kGrace, kSoc };
std::span<const EnumWord<PlatformClass>> WordsOf(PlatformClass);

// The kind of link between host and device.
enum class LinkKind { kPcie, kNvlinkC2c, kUnified, kMemcpy };
std::span<const EnumWord<LinkKind>> WordsOf(LinkKind);

// A share of a data-sheet figure, with its source.
struct Share {
  double value = 0;
  std::string_view source;
};

// The shares that a device class reaches.
struct DeviceShares {
  Share bf16;    // of the listed dense bf16 rate with fp32 sums, by the largest products
  Share fp32;    // of the listed fp32 rate
  Share memory;  // of the memory bandwidth, by passes over elements
};
const DeviceShares& SharesOf(DeviceClass);

// The shares that a class of host reaches.
struct PlatformShares {
  Share dram;                          // of the peak of all channels, by all cores
  double thread_bytes_per_second = 0;  // of one thread, as far as the memory carries it
  std::string_view thread_source;
};
const PlatformShares& SharesOf(PlatformClass);

// The shares that a kind of link reaches.
struct LinkShares {
  Share in;        // of the nominal rate of one direction, by large pinned copies to the device
  Share out;       // to the host
  Share both;      // the sum of both directions when both are busy, as a multiple of the faster one
  Share pageable;  // of the pinned rate
};
const LinkShares& SharesOf(LinkKind);

// The share of the largest size's rate that smaller sizes reach, as (size, share), with ascending
// sizes.
struct SizeShare {
  double size = 0;
  double share = 0;
};

// The shares of all sizes, with their source.
struct SizeShares {
  std::vector<SizeShare> shares;
  std::string_view source;
};
SizeShares GemmShares(DeviceClass);       // by the smallest dimension of a product
SizeShares AttentionShares(DeviceClass);  // by sequence length, of the largest GEMM's rate
SizeShares CopyShares(LinkKind);          // by the bytes of a copy

// AdamW's share of the rate that DRAM carries.
inline constexpr double kAdamShare = 0.75;
inline constexpr double kPackShare = 0.4;

}  // namespace horizon
