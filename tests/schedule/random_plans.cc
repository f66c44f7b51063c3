#include "tests/schedule/random_plans.h"

#include <ostream>
#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "model/stages.h"

namespace horizon {
namespace {

using rc::gen::element;
using rc::gen::inRange;

int64_t Pick(int64_t from, int64_t to) { return *inRange<int64_t>(from, to + 1); }
bool Flip() { return *rc::gen::arbitrary<bool>(); }

TrainingJob RandomJob() {
  TrainingJob job;
  job.device = *element(DeviceKind::kHost, DeviceKind::kCuda);
  job.sequence = Pick(1, 300);
  job.micro_batch = Pick(1, 3);
  job.optimizer_place = *element(OptimizerPlace::kBehindForward, OptimizerPlace::kInBackward,
                                 OptimizerPlace::kAfterStep);
  const bool in_backward = job.optimizer_place == OptimizerPlace::kInBackward;
  job.accumulation = in_backward ? 1 : Pick(1, 4);
  job.clip_norm = in_backward || Flip() ? 0.0 : 1.0;
  job.gradient_type = *element(NumberType::kFp32, NumberType::kBf16);
  job.state_format = *element(StateFormat::kFp32, StateFormat::kBf16Moments,
                              StateFormat::k8BitMoments, StateFormat::kBf16Weights);
  const bool fp32 =
      job.device == DeviceKind::kHost && job.state_format != StateFormat::kBf16Weights && Flip();
  job.compute_type = fp32 ? NumberType::kFp32 : NumberType::kBf16;
  job.activation_type = job.device == DeviceKind::kHost ? NumberType::kFp32 : NumberType::kBf16;
  if (Pick(0, 2) == 0) job.piece_tokens = Pick(1, 400);
  if (Flip()) job.router_aux_loss = 0.01;
  return job;
}

StreamPlan RandomPlan() {
  StreamPlan plan;
  plan.chunk_bytes = Bytes(CheckedU64(static_cast<uint64_t>(Pick(1, 40)) * 64 * 1024));
  plan.buffer_depth = Pick(1, 6);
  plan.backward_prefetch = Pick(0, 3) > 0;
  plan.resident_chunks = *element<int64_t>(0, 0, 1, 2, 5);
  plan.anchor_interval = Pick(1, 4);
  plan.anchor_home = *element(AnchorHome::kDevice, AnchorHome::kHost);
  plan.recompute = Pick(0, 3) > 0;
  plan.keep_feed_forward = Flip();
  plan.gradient_slabs = Pick(1, 4);
  plan.accumulation_order =
      *element(AccumulationOrder::kBatchMajor, AccumulationOrder::kChunkMajor);
  plan.loss_chunk_tokens = 128 * Pick(1, 3);
  plan.embedding_home =
      *element(EmbeddingHome::kHost, EmbeddingHome::kStreamed, EmbeddingHome::kDevice);
  return plan;
}

RandomCase RandomHorizon() { return {*RandomModel(), RandomJob(), RandomPlan()}; }

}  // namespace

rc::Gen<ModelSpec> RandomModel() {
  return rc::gen::exec([] {
    ModelSpec spec;
    spec.name = "random";
    spec.head_dim = 8 * Pick(1, 2);
    spec.kv_heads = Pick(1, 3);
    spec.heads = spec.kv_heads * Pick(1, 3);
    spec.hidden = 16 * Pick(1, 4);
    spec.intermediate = 32 * Pick(1, 12);
    spec.vocab = Pick(1, 2200);
    spec.max_positions = 4096;
    spec.tied = Flip();
    spec.qkv_bias = Flip();
    spec.qk_norm = Flip() ? QkNorm::kPerHead : QkNorm::kNone;
    spec.layers.resize(Pick(1, 7));
    if (Flip()) {
      spec.experts = {.experts = Pick(2, 5), .experts_per_token = Pick(1, 2), .intermediate = 48};
    }
    for (LayerSpec& layer : spec.layers) {
      layer.has_experts = spec.experts.experts > 0 && Flip();
      layer.sliding_window = Flip() ? 16 : 0;
    }
    spec.family = spec.experts.experts > 0 ? "qwen3_moe" : "gemma3_text";
    spec.norm_place = *element(NormPlace::kBefore, NormPlace::kAfter, NormPlace::kBoth);
    if (Flip()) spec.qk_norm = QkNorm::kFullWidth;
    if (Flip()) spec.residual_multiplier = 0.5;
    return spec;
  });
}

rc::Gen<RandomCase> RandomHorizonCase() {
  return rc::gen::exec([] { return RandomHorizon(); });
}

rc::Gen<RandomCase> RandomAnyCase() {
  return rc::gen::exec([] {
    RandomCase random = RandomHorizon();
    random.plan.strategy =
        *element(Strategy::kHorizon, Strategy::kReference, Strategy::kResident,
                 Strategy::kZero3Offload, Strategy::kFsdpOffload, Strategy::kGemini);
    if (random.plan.strategy == Strategy::kHorizon) return random;
    random.plan.embedding_home = EmbeddingHome::kDevice;
    random.plan.accumulation_order = AccumulationOrder::kBatchMajor;
    random.plan.anchor_home = AnchorHome::kDevice;
    random.plan.resident_chunks = 0;
    random.plan.backward_prefetch = true;
    if (random.plan.strategy == Strategy::kResident) return random;
    if (random.plan.strategy == Strategy::kReference) random.plan.recompute = true;
    random.plan.keep_feed_forward = true;
    random.plan.buffer_depth = Pick(1, 2);
    random.job.optimizer_place = OptimizerPlace::kAfterStep;
    return random;
  });
}

void FreezeSome(RandomCase& random) {
  std::vector<std::string> names;
  for (const Stage& stage : ListStages(random.spec)) {
    for (const TensorSpec& tensor : stage.tensors) {
      if (tensor.expert > 0) continue;
      // The experts of a layer are trained alike.
      const std::string first = ".experts.0.";
      const size_t number = tensor.name.find(first);
      names.push_back(tensor.name);
      if (number != std::string::npos) names.back().replace(number, first.size(), ".experts.*.");
    }
  }
  const std::string last = StrCat("model.layers.", random.spec.layers.size() - 1, ".*");
  TrainingJob& job = random.job;
  switch (Pick(0, 6)) {
    case 0:
      job.freeze = {"model.embed_tokens.weight"};
      break;
    case 1:
      job.train = {"*norm*"};
      break;
    case 2:
      job.train = {last};
      break;
    case 3:
      job.train = {"lm_head.weight"};  // or the table it is tied to
      break;
    case 4:
      job.train = {names[static_cast<size_t>(Pick(0, static_cast<int64_t>(names.size()) - 1))]};
      break;
    default: {
      const int64_t of_ten = Pick(1, 9);
      for (const std::string& name : names) {
        if (Pick(1, 10) <= of_ten) job.freeze.push_back(name);
      }
      if (job.freeze.size() == names.size()) job.freeze.pop_back();
    }
  }
}

rc::Gen<RandomCase> RandomFrozenCase() {
  return rc::gen::exec([] {
    RandomCase random = *RandomAnyCase();
    FreezeSome(random);
    return random;
  });
}

void showValue(const RandomCase& value, std::ostream& os) {
  os << "model: " << value.spec.layers.size() << " layers, hidden " << value.spec.hidden
     << ", intermediate " << value.spec.intermediate << ", vocab " << value.spec.vocab
     << (value.spec.tied ? ", tied" : "") << "\njob: " << WriteJob(value.job)
     << "plan: " << WritePlan(value.plan);
}

ModelSpec TinyModel(int64_t layers) {
  ModelSpec spec;
  spec.name = "tiny";
  spec.hidden = 8;
  spec.intermediate = 16;
  spec.heads = spec.kv_heads = 1;
  spec.head_dim = 8;
  spec.vocab = 32;
  spec.max_positions = 4096;
  spec.layers.resize(layers);
  return spec;
}

}  // namespace horizon
