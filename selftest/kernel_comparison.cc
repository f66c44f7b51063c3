#include "selftest/kernel_comparison.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr Bytes kArrayBytes = 16_MiB;
constexpr Bytes kCudaScratchBytes = 16_MiB;  // in addition to the workspace of matrix multiplies
constexpr double kUnit = 1.0 / 256;          // relative size of a unit in the last place of bf16

uint64_t Aligned(uint64_t bytes) {
  return (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
}

Bytes ScratchBytes(DeviceKind kind, int threads) {
  return kind == DeviceKind::kHost ? Bytes(kWorkerScratchBytes) * threads
                                   : Bytes(kGemmWorkspaceBytes) + kCudaScratchBytes;
}

uint16_t Bf16Of(float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); }
float FloatOf(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

}  // namespace

Bytes KernelCheckEnvironment::DeviceBytes(DeviceKind kind, int threads) {
  return kArrayBytes + ScratchBytes(kind, threads);
}

absl::StatusOr<std::unique_ptr<KernelCheckEnvironment>> KernelCheckEnvironment::Create(
    const ComputeDevice& device, DeviceKind kind, int threads) {
  std::unique_ptr<KernelCheckEnvironment> environment(new KernelCheckEnvironment(
      device, kind == DeviceKind::kHost ? ValueType::kFp32 : ValueType::kBf16));
  ASSIGN_OR_RETURN(environment->arrays_, device.device->Allocate(kArrayBytes));
  ASSIGN_OR_RETURN(environment->scratch_, device.device->Allocate(ScratchBytes(kind, threads)));
  ASSIGN_OR_RETURN(environment->stage_, HostMemory::Create(kArrayBytes));
  RETURN_IF_ERROR(device.device->RegisterHost(environment->stage_.span()));
  environment->registered_ = true;
  ASSIGN_OR_RETURN(environment->stream_,
                   device.device->CreateStream(
                       {.name = "selftest",
                        .threads = threads,
                        .scratch = {environment->scratch_.data(), environment->scratch_.size()},
                        .device_context = device.context.get()}));
  ASSIGN_OR_RETURN(environment->event_, device.device->CreateEvent());
  ASSIGN_OR_RETURN(environment->host_scratch_, HostMemory::Create(Bytes(kWorkerScratchBytes)));
  ASSIGN_OR_RETURN(environment->workers_, Workers::Create("selftest", 1));
  return environment;
}

KernelCheckEnvironment::~KernelCheckEnvironment() {
  if (registered_) device_.device->UnregisterHost(stage_.span()).IgnoreError();
}

Values KernelComparison::Side::ValuesOf(Array array) const {
  return {begins_[array.index], values_};
}

KernelComparison::KernelComparison(KernelCheckEnvironment& environment, std::string name,
                                   Findings& findings)
    : environment_(environment), name_(std::move(name)), findings_(findings) {}

Array KernelComparison::Add(Kind kind, const std::byte* values, uint64_t bytes) {
  Kept kept{.kind = kind};
  kept.host.assign(values, values + bytes);
  kept.device = kept.host;
  arrays_.push_back(std::move(kept));
  return {arrays_.size() - 1};
}

Array KernelComparison::AddRandom(Kind kind, int64_t count, float scale) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    // The sum of four even draws is nearly normal, with a variance of 4 / 3.
    float sum = 0;
    for (int i = 0; i < 4; ++i) {
      random_ = random_ * 6364136223846793005U + 1442695040888963407U;
      sum += static_cast<float>(static_cast<int32_t>(random_ >> 32)) * 0x1p-31F;
    }
    value = FloatOf(Bf16Of(sum * 0.866F * scale));
  }
  std::vector<uint16_t> halves;
  std::transform(values.begin(), values.end(), std::back_inserter(halves), Bf16Of);
  const auto* wide = reinterpret_cast<const std::byte*>(values.data());
  const auto* narrow = reinterpret_cast<const std::byte*>(halves.data());
  const uint64_t size = values.size();
  if (kind == Kind::kBf16) return Add(kind, narrow, 2 * size);
  const Array array = Add(kind, wide, 4 * size);
  if (kind == Kind::kValues && environment_.values_ == ValueType::kBf16) {
    arrays_.back().device.assign(narrow, narrow + 2 * size);
  }
  return array;
}

Array KernelComparison::AddValues(int64_t count, float scale) {
  return AddRandom(Kind::kValues, count, scale);
}
Array KernelComparison::AddFp32(int64_t count, float scale) {
  return AddRandom(Kind::kFp32, count, scale);
}
Array KernelComparison::AddBf16(int64_t count, float scale) {
  return AddRandom(Kind::kBf16, count, scale);
}

absl::Status KernelComparison::RunOnHost(Call call) {
  Side side;
  for (Kept& kept : arrays_) side.begins_.push_back(kept.host.data());
  const KernelContext context{.workers = environment_.workers_.get(),
                              .scratch = environment_.host_scratch_.span()};
  return call(HostKernels(), context, side);
}

absl::Status KernelComparison::RunOnDevice(Call call) {
  Device& device = *environment_.device_.device;
  Side side;
  side.values_ = environment_.values_;
  uint64_t end = 0;
  for (const Kept& kept : arrays_) {
    CHECK(end + kept.device.size() <= kArrayBytes.value());
    std::memcpy(environment_.stage_.data() + end, kept.device.data(), kept.device.size());
    side.begins_.push_back(environment_.arrays_.data() + end);
    end += Aligned(kept.device.size());
  }
  RETURN_IF_ERROR(device.CopyToDevice(environment_.stream_, environment_.arrays_.data(),
                                      environment_.stage_.data(), Bytes(end)));
  RETURN_IF_ERROR(
      device.Launch(environment_.stream_, {.name = name_}, [&](const KernelContext& context) {
        return call(*environment_.device_.kernels, context, side);
      }));
  RETURN_IF_ERROR(device.CopyToHost(environment_.stream_, environment_.stage_.data(),
                                    environment_.arrays_.data(), Bytes(end)));
  RETURN_IF_ERROR(device.Record(environment_.stream_, environment_.event_));
  RETURN_IF_ERROR(device.Await(environment_.event_));
  uint64_t begin = 0;
  for (Kept& kept : arrays_) {
    std::memcpy(kept.device.data(), environment_.stage_.data() + begin, kept.device.size());
    begin += Aligned(kept.device.size());
  }
  return absl::OkStatus();
}

bool KernelComparison::Run(Call call) {
  const absl::Status host = RunOnHost(call);
  if (!host.ok()) findings_.Add(StrCat(name_, ": the host's body: ", host.ToString()));
  const absl::Status device = RunOnDevice(call);
  if (!device.ok()) findings_.Add(StrCat(name_, ": ", device.ToString()));
  return host.ok() && device.ok();
}

std::vector<double> KernelComparison::NumbersOf(const Kept& kept, bool on_device) const {
  const std::vector<std::byte>& bytes = on_device ? kept.device : kept.host;
  const bool narrow = kept.kind == Kind::kBf16 || (kept.kind == Kind::kValues && on_device &&
                                                   environment_.values_ == ValueType::kBf16);
  std::vector<double> numbers(bytes.size() / (narrow ? 2 : 4));
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (narrow) {
      uint16_t bits = 0;
      std::memcpy(&bits, bytes.data() + 2 * i, 2);
      numbers[i] = FloatOf(bits);
    } else {
      float value = 0;
      std::memcpy(&value, bytes.data() + 4 * i, 4);
      numbers[i] = value;
    }
  }
  return numbers;
}

void KernelComparison::ExpectClose(Array array, Tolerance tolerance) {
  const Kept& kept = arrays_[array.index];
  CHECK(kept.kind != Kind::kPlain);
  const std::vector<double> host = NumbersOf(kept, false);
  const std::vector<double> device = NumbersOf(kept, true);
  double squares = 0;
  for (const double value : host) squares += value * value;
  const double root_mean_square =
      std::sqrt(squares / std::max<double>(1, static_cast<double>(host.size())));
  double worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < host.size(); ++i) {
    const double bound = tolerance.units * kUnit * (std::abs(host[i]) + root_mean_square);
    const double distance = std::abs(device[i] - host[i]);
    // With a tolerance of zero any difference is too far, and so is a NaN with any tolerance.
    const double share = distance == 0 ? 0 : distance <= bound * 1e6 ? distance / bound : 1e6;
    if (share > worst) {
      worst = share;
      where = i;
    }
  }
  if (worst <= 1) return;
  findings_.Add(StrCat(name_, ": number ", where, " of ", host.size(), " is ", device[where],
                       ", on the host ", host[where], "; ", worst, " times as far as allowed"));
}

void KernelComparison::ExpectEqualBytes(Array array) {
  const Kept& kept = arrays_[array.index];
  CHECK(kept.host.size() == kept.device.size());
  const auto [host, device] =
      std::mismatch(kept.host.begin(), kept.host.end(), kept.device.begin());
  if (host == kept.host.end()) return;
  findings_.Add(StrCat(name_, ": byte ", host - kept.host.begin(), " of ", kept.host.size(),
                       " differs from the host's"));
}

}  // namespace horizon
