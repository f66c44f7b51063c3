#include "report/operation_family.h"

#include "common/check.h"

namespace horizon {
namespace {

constexpr EnumWord<OperationFamily> kFamilyWords[] = {
    {OperationFamily::kCopy, "copies of weights and activations"},
    {OperationFamily::kForward, "forward and loss"},
    {OperationFamily::kBackward, "backward and recompute"},
    {OperationFamily::kGradient, "gradients"},
    {OperationFamily::kOptimizer, "optimizer"},
    {OperationFamily::kHost, "other host work"}};

}  // namespace

std::span<const EnumWord<OperationFamily>> WordsOf(OperationFamily) { return kFamilyWords; }

OperationFamily FamilyOf(OperationKind kind) {
  // Without a default, so that the compiler asks for the family of a new kind.
  switch (kind) {
    case OperationKind::kLoadTokens:
    case OperationKind::kLoadRows:
    case OperationKind::kLoadChunk:
    case OperationKind::kSaveAnchor:
    case OperationKind::kLoadAnchor:
    case OperationKind::kOffloadLoss:
    case OperationKind::kOffloadRouting:
    case OperationKind::kOffloadLogits:
      return OperationFamily::kCopy;
    case OperationKind::kEmbed:
    case OperationKind::kForward:
    case OperationKind::kLogSumExp:
    case OperationKind::kLoss:
    case OperationKind::kLogits:
      return OperationFamily::kForward;
    case OperationKind::kRecompute:
    case OperationKind::kHeadGradient:
    case OperationKind::kBackward:
    case OperationKind::kEmbedBackward:
      return OperationFamily::kBackward;
    case OperationKind::kOffloadGradient:
    case OperationKind::kAccumulate:
    case OperationKind::kOffloadRows:
    case OperationKind::kScatter:
    case OperationKind::kTiedSum:
    case OperationKind::kNorm:
    case OperationKind::kOffloadNorms:
    case OperationKind::kClipFactor:
    case OperationKind::kClipGradient:
      return OperationFamily::kGradient;
    case OperationKind::kAdam:
    case OperationKind::kOffloadFaults:
    case OperationKind::kCheckUpdate:
      return OperationFamily::kOptimizer;
    case OperationKind::kNextBatch:
    case OperationKind::kGather:
    case OperationKind::kPack:
    case OperationKind::kReport:
      return OperationFamily::kHost;
  }
  CHECK(false);
  return OperationFamily::kHost;
}

}  // namespace horizon
