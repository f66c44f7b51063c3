// The kernel checks of the self-test hold on the host and on the fake CUDA, and find a kernel that
// is wrong.
#include "selftest/kernel_checks.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/log.h"
#include "runtime/execution/compute_device.h"
#include "tests/fake_cuda/fake_cuda_control.h"

namespace horizon {
namespace {

std::vector<KernelCheck> AllChecks() {
  std::vector<KernelCheck> all(ArrayKernelChecks().begin(), ArrayKernelChecks().end());
  all.insert(all.end(), MatrixKernelChecks().begin(), MatrixKernelChecks().end());
  return all;
}

// What the check finds on a device whose table was changed.
std::vector<std::string> FindingsOf(const KernelCheck& check, DeviceKind kind,
                                    void (*change)(KernelTable&) = nullptr) {
  static RealClock clock;
  static Log log(stderr, LogLevel::kWarning, LogStyle::kPlain);
  constexpr int kThreads = 2;
  if (kind == DeviceKind::kCuda) fake_cuda::Reset();
  Findings findings;
  {
    absl::StatusOr<ComputeDevice> device =
        OpenComputeDevice({.name = {.kind = kind},
                           .capacity = KernelCheckEnvironment::DeviceBytes(kind, kThreads),
                           .clock = clock,
                           .log = &log});
    EXPECT_TRUE(device.ok()) << device.status();
    KernelTable table = *device->kernels;
    if (change != nullptr) change(table);
    device->kernels = &table;
    const absl::StatusOr<std::unique_ptr<KernelCheckEnvironment>> environment =
        KernelCheckEnvironment::Create(*device, kind, kThreads);
    EXPECT_TRUE(environment.ok()) << environment.status();
    check.run(**environment, findings);
  }
  const bool leaks = kind == DeviceKind::kCuda && !fake_cuda::Leaks().empty();
  EXPECT_FALSE(leaks);
  return findings.lines();
}

class EveryKernel : public testing::TestWithParam<DeviceKind> {};

TEST_P(EveryKernel, HoldsToTheHosts) {
  for (const KernelCheck& check : AllChecks()) {
    EXPECT_EQ(FindingsOf(check, GetParam()), std::vector<std::string>{}) << check.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, EveryKernel,
                         testing::Values(DeviceKind::kHost, DeviceKind::kCuda),
                         [](const auto& kind) {
                           return kind.param == DeviceKind::kHost ? "host" : "cuda";
                         });

// A kernel of each check that does nothing, or fails.
template <auto kMember, typename Args>
void Skip(KernelTable& table) {
  table.*kMember = [](const KernelContext&, const Args&) { return absl::OkStatus(); };
}
template <auto kMember, typename Args>
void Fail(KernelTable& table) {
  table.*kMember = [](const KernelContext&, const Args&) { return absl::InternalError("broken"); };
}

// A kernel that gives up when one of its gradients is left out.
absl::Status NormWithBothGradients(const KernelContext& context, const RmsNormBackward& args) {
  if (args.x_gradient == nullptr || !args.weight_gradient.is_needed()) return absl::OkStatus();
  return RmsNormBackwardHost(context, args);
}
absl::Status HeadWithBothGradients(const KernelContext& context, const HeadLoss& args) {
  if (args.input_gradient == nullptr || args.weight_gradient == nullptr) return absl::OkStatus();
  return HeadLossHost(context, args);
}

// Kernels that know nothing of sinks, or of their gradient.
absl::Status AttentionWithoutSinks(const KernelContext& context, const AttentionForward& args) {
  AttentionForward without = args;
  without.sinks = {};
  return AttentionForwardHost(context, without);
}
absl::Status AttentionOfFrozenSinks(const KernelContext& context, const AttentionBackward& args) {
  AttentionBackward frozen = args;
  frozen.sinks_gradient = {};
  return AttentionBackwardHost(context, frozen);
}
absl::Status CacheWithoutSinks(const KernelContext& context, const CachedAttention& args) {
  CachedAttention without = args;
  without.sinks = {};
  return CachedAttentionHost(context, without);
}

TEST(KernelChecks, AKernelThatDoesNothingIsFoundByTheCheckThatNamesIt) {
  const struct {
    std::string_view check;
    void (*change)(KernelTable&);
  } mutants[] = {
      {"glu, SiLU", Skip<&KernelTable::glu_forward, GluForward>},
      {"glu, SiLU", Skip<&KernelTable::glu_backward, GluBackward>},
      {"glu, GELU", Skip<&KernelTable::glu_forward, GluForward>},
      {"glu, GELU", Skip<&KernelTable::glu_backward, GluBackward>},
      {"rms_norm", Skip<&KernelTable::rms_norm_forward, RmsNormForward>},
      {"rms_norm", Skip<&KernelTable::rms_norm_recompute, RmsNormRecompute>},
      {"rms_norm", Skip<&KernelTable::rms_norm_backward, RmsNormBackward>},
      {"rms_norm", [](KernelTable& table) { table.rms_norm_backward = NormWithBothGradients; }},
      {"rms_norm, weight offset", Skip<&KernelTable::rms_norm_forward, RmsNormForward>},
      {"rotary", Skip<&KernelTable::apply_rotary, ApplyRotary>},
      {"rotary, partial", Skip<&KernelTable::apply_rotary, ApplyRotary>},
      {"residual", Skip<&KernelTable::residual_add, ResidualAdd>},
      {"embedding", Skip<&KernelTable::embed_forward, EmbedForward>},
      {"embedding", Skip<&KernelTable::embed_backward, EmbedBackward>},
      {"embedding, scaled", Skip<&KernelTable::embed_forward, EmbedForward>},
      {"embedding, scaled", Skip<&KernelTable::embed_backward, EmbedBackward>},
      {"bias_gradient", Skip<&KernelTable::bias_gradient, BiasGradient>},
      {"gradients", Skip<&KernelTable::store_gradient, StoreGradient>},
      {"gradients", Skip<&KernelTable::accumulate, Accumulate>},
      {"gradients", Skip<&KernelTable::copy_bytes, CopyBytes>},
      {"gradients", Skip<&KernelTable::squared_norm, SquaredNorm>},
      {"adam, fp32 moments", Skip<&KernelTable::adam_update, AdamUpdate>},
      {"adam, bf16 moments", Skip<&KernelTable::adam_update, AdamUpdate>},
      {"adam, 8-bit moments", Skip<&KernelTable::adam_update, AdamUpdate>},
      {"products", Skip<&KernelTable::gemm, Gemm>},
      {"products", Skip<&KernelTable::weight_gradient, WeightGradient>},
      {"attention", Skip<&KernelTable::attention_forward, AttentionForward>},
      {"attention with a window", Skip<&KernelTable::attention_backward, AttentionBackward>},
      {"attention with sinks",
       [](KernelTable& table) { table.attention_forward = AttentionWithoutSinks; }},
      {"attention with sinks",
       [](KernelTable& table) { table.attention_backward = AttentionOfFrozenSinks; }},
      {"cached attention", Skip<&KernelTable::store_keys, StoreKeys>},
      {"cached attention", [](KernelTable& table) { table.cached_attention = CacheWithoutSinks; }},
      {"cached attention", Skip<&KernelTable::cached_attention, CachedAttention>},
      {"head and loss", Skip<&KernelTable::head_log_sum_exp, HeadLogSumExp>},
      {"head and loss", Skip<&KernelTable::head_loss, HeadLoss>},
      {"head and loss", [](KernelTable& table) { table.head_loss = HeadWithBothGradients; }},
  };
  for (const auto& mutant : mutants) {
    bool found = false;
    for (const KernelCheck& check : AllChecks()) {
      if (check.name != mutant.check) continue;
      found = true;
      EXPECT_NE(FindingsOf(check, DeviceKind::kHost, mutant.change), std::vector<std::string>{})
          << check.name;
    }
    EXPECT_TRUE(found) << "no check is named " << mutant.check;
  }
}

// One number of many that is a tenth of the usual size off.
TEST(KernelChecks, ASmallErrorIsFound) {
  const auto change = [](KernelTable& table) {
    table.attention_forward = [](const KernelContext& context, const AttentionForward& args) {
      absl::Status status = AttentionForwardHost(context, args);
      args.output.fp32()[1234] += 0.1F;
      return status;
    };
  };
  for (const KernelCheck& check : MatrixKernelChecks()) {
    if (check.name != "attention") continue;
    const std::vector<std::string> lines = FindingsOf(check, DeviceKind::kHost, change);
    ASSERT_FALSE(lines.empty());
    EXPECT_NE(lines[0].find("attention: number 1234 of "), std::string::npos) << lines[0];
  }
}

TEST(KernelChecks, AnErrorIsAFinding) {
  const std::vector<std::string> lines = FindingsOf(ArrayKernelChecks()[0], DeviceKind::kHost,
                                                    Fail<&KernelTable::glu_forward, GluForward>);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "glu: INTERNAL: broken");
}

}  // namespace
}  // namespace horizon
