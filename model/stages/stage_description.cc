#include "model/stages/stage_description.h"

namespace horizon {

std::string_view ToString(ArrayRole role) {
  switch (role) {
    case ArrayRole::kInput:
      return "input";
    case ArrayRole::kInverseRms:
      return "inverse rms";
    case ArrayRole::kNormed:
      return "normed input";
    case ArrayRole::kQuery:
      return "query";
    case ArrayRole::kKey:
      return "key";
    case ArrayRole::kValue:
      return "value";
    case ArrayRole::kQueryBefore:
      return "query before its norm";
    case ArrayRole::kKeyBefore:
      return "key before its norm";
    case ArrayRole::kQueryInverseRms:
      return "inverse rms of the query";
    case ArrayRole::kKeyInverseRms:
      return "inverse rms of the key";
    case ArrayRole::kAttended:
      return "attention output";
    case ArrayRole::kLogSumExp:
      return "log-sum-exp";
    case ArrayRole::kGate:
      return "gate";
    case ArrayRole::kUp:
      return "up";
    case ArrayRole::kActivated:
      return "activated gate";
    case ArrayRole::kProjected:
      return "projected output";
    case ArrayRole::kProjectedInverseRms:
      return "inverse rms of the projected output";
    case ArrayRole::kBranch:
      return "normed output";
    case ArrayRole::kRouterProbabilities:
      return "router probabilities";
    case ArrayRole::kChosenExperts:
      return "chosen experts";
    case ArrayRole::kRouterWeights:
      return "weights of the chosen experts";
    case ArrayRole::kExpertBegins:
      return "first rows of the experts";
    case ArrayRole::kRowPairs:
      return "pairs of the rows";
    case ArrayRole::kRowTokens:
      return "tokens of the rows";
    case ArrayRole::kPairRows:
      return "rows of the pairs";
    case ArrayRole::kGateUp:
      return "gate and up of the rows";
    case ArrayRole::kRowOutput:
      return "outputs of the rows";
    case ArrayRole::kExpertSum:
      return "sum over the experts";
    case ArrayRole::kProjectedGradient:
      return "projected output gradient";
    case ArrayRole::kAttendedGradient:
      return "attention output gradient";
    case ArrayRole::kOutputDot:
      return "product of attention output and gradient";
    case ArrayRole::kQueryGradient:
      return "query gradient";
    case ArrayRole::kKeyGradient:
      return "key gradient";
    case ArrayRole::kValueGradient:
      return "value gradient";
    case ArrayRole::kGateGradient:
      return "gate gradient";
    case ArrayRole::kUpGradient:
      return "up gradient";
    case ArrayRole::kActivatedGradient:
      return "activated gate gradient";
    case ArrayRole::kGateUpGradient:
      return "gradient of gate and up of the rows";
    case ArrayRole::kRowInputGradient:
      return "input gradient of the rows";
    case ArrayRole::kRouterWeightGradient:
      return "gradient of the weights of the chosen experts";
    case ArrayRole::kRouterLossGradient:
      return "auxiliary gradient of the router probabilities";
    case ArrayRole::kRouterGradient:
      return "router gradient";
    case ArrayRole::kNormedGradient:
      return "normed input gradient";
    case ArrayRole::kWeightGradientSum:
      return "sum of the weight gradients";
  }
  return "unknown";
}

}  // namespace horizon
