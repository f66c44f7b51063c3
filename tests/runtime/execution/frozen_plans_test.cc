// The plan never changes the numbers of a run that trains some tensors and freezes the others:
// losses, norms, masters and moments have the bits that strategy `resident` gives, and a frozen
// tensor stays what it was.
#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/text/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/optimizer/split_master.h"
#include "model/stages.h"
#include "model/trained_tensors.h"
#include "schedule/chunk_table.h"
#include "tests/runtime/support/block_models.h"
#include "tests/runtime/support/small_training.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {
namespace {

constexpr int64_t kSteps = 4;

// Which tensors a job trains.
struct Selection {
  std::string name;
  std::vector<std::string> train;
  std::vector<std::string> freeze;
};

TrainingJob With(const Selection& selection, TrainingJob job) {
  job.train = selection.train;
  job.freeze = selection.freeze;
  return job;
}

TrainingJob Job() {
  TrainingJob job = TinyJob();
  job.compute_type = NumberType::kFp32;
  job.gradient_type = NumberType::kFp32;
  return job;
}
TrainingJob RoundedJob() {
  TrainingJob job = Job();
  job.compute_type = NumberType::kBf16;
  job.gradient_type = NumberType::kBf16;
  return job;
}

// Three tiles of vocabulary, so that the tables are in shards too, and two tiles of tokens.
ModelSpec LargeVocabulary() {
  ModelSpec spec = TinyPlain();
  spec.vocab = 1100;
  spec.hidden = 16;
  return spec;
}
TrainingJob TwoLossTiles(TrainingJob job) {
  job.sequence = 75;
  return job;
}

// Backward ends in the embedding, in the head and in every place between; a tied head makes the
// second of these train the embedding too.
std::vector<Selection> Selections(const ModelSpec& spec) {
  std::vector<Selection> all = {
      {.name = "embedding", .train = {"*embed_tokens*"}},
      {.name = "head", .train = {"lm_head.weight"}},
      {.name = "no tables", .freeze = {"*embed_tokens*", "lm_head.weight"}},
      {.name = "middle layer", .train = {"model.layers.1.*"}},
      {.name = "first and last layer", .train = {"model.layers.[02].*"}},
      {.name = "all but the middle layer", .freeze = {"model.layers.1.*"}},
      {.name = "norms", .train = {"*norm*"}},
      {.name = "all but norms", .freeze = {"*norm*"}},
      {.name = "last norm", .train = {"model.norm.weight"}},
      {.name = "one output projection", .train = {"model.layers.1.self_attn.o_proj.weight"}},
      {.name = "values", .train = {"*v_proj.weight"}, .freeze = {"model.layers.0.*"}},
      {.name = "one gate and the head", .train = {"model.layers.2.mlp.gate_proj.*", "lm_head*"}},
      {.name = "down projections", .train = {"*.down_proj.weight"}},
  };
  if (spec.norm_before()) {
    all.push_back({.name = "a norm is lowest", .train = {"model.layers.1.input_layernorm.weight"}});
  }
  if (spec.qkv_bias) all.push_back({.name = "biases", .train = {"*.bias"}});
  if (spec.qk_norm != QkNorm::kNone) {
    all.push_back({.name = "key norms", .train = {"*.k_norm.weight"}});
  }
  if (spec.attention_sinks) {
    all.push_back({.name = "sinks", .train = {"*.sinks"}});
    all.push_back({.name = "a sink is lowest", .train = {"model.layers.1.*.sinks", "lm_head*"}});
    all.push_back({.name = "all but sinks", .freeze = {"*.sinks"}});
  }
  return all;
}

struct Variant {
  std::string name;
  StreamPlan plan;
};

std::vector<Variant> Variants(const ModelSpec& spec, const TrainingJob& job) {
  const Bytes least = LeastChunkBytes(ListStages(spec), job);
  std::vector<Variant> variants;
  const auto add = [&](std::string name, const std::function<void(StreamPlan&)>& change) {
    StreamPlan plan;
    change(plan);
    variants.push_back({std::move(name), plan});
  };
  add("as it comes", [](StreamPlan&) {});
  for (const int64_t depth : {1, 2, 3}) {
    for (const int64_t interval : {1, 2, 3}) {
      if (depth == 1 && job.accumulation > 1) continue;
      add(StrCat("shards, depth ", depth, ", K ", interval), [=](StreamPlan& plan) {
        plan.chunk_bytes = least;
        plan.buffer_depth = depth;
        plan.anchor_interval = interval;
        plan.anchor_home = interval == 2 ? AnchorHome::kHost : AnchorHome::kDevice;
        plan.gradient_slabs = 1 + (depth + interval) % 4;
      });
    }
  }
  add("one layer a chunk, no recompute, no prefetch", [=](StreamPlan& plan) {
    plan.chunk_bytes = least * uint64_t{4};
    plan.recompute = plan.backward_prefetch = false;
  });
  add("shards, no recompute, streamed embedding", [=](StreamPlan& plan) {
    plan.chunk_bytes = least;
    plan.recompute = false;
    plan.embedding_home = EmbeddingHome::kStreamed;
    plan.loss_chunk_tokens = 128;
  });
  add("resident chunks, embedding on the device, threads", [=](StreamPlan& plan) {
    plan.chunk_bytes = least;
    plan.resident_chunks = 6;  // some shards of a stage, not all
    plan.embedding_home = EmbeddingHome::kDevice;
    plan.compute_threads = plan.host_threads = plan.optimizer_threads = 2;
  });
  for (const bool recompute : {true, false}) {
    if (job.accumulation == 1) break;
    for (const bool in_shards : {true, false}) {
      add(StrCat("chunk-major, recompute ", recompute ? "on" : "off", in_shards ? ", shards" : ""),
          [=](StreamPlan& plan) {
            if (in_shards) plan.chunk_bytes = least;
            plan.accumulation_order = AccumulationOrder::kChunkMajor;
            plan.recompute = recompute;
            plan.anchor_home = recompute ? AnchorHome::kHost : AnchorHome::kDevice;
            plan.buffer_depth = 8;
            plan.embedding_home = in_shards ? EmbeddingHome::kStreamed : EmbeddingHome::kHost;
          });
    }
  }
  if (job.optimizer_place == OptimizerPlace::kAfterStep) {
    for (const int64_t interval : {1, 2}) {
      add(StrCat("reference, K ", interval), [=](StreamPlan& plan) {
        plan.strategy = Strategy::kReference;
        plan.embedding_home = EmbeddingHome::kDevice;
        plan.anchor_interval = interval;
        plan.buffer_depth = interval;
      });
    }
  }
  return variants;
}

TrainingCaseOutcome Train(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan) {
  absl::StatusOr<TrainingCaseOutcome> outcome =
      RunTrainingCase({.spec = spec,
                       .job = job,
                       .plan = plan,
                       .source = RandomSource(spec, 7),
                       // Unequal numbers of labels from one micro-batch to the next.
                       .batch =
                           [&](int64_t step, int64_t mb) {
                             return RandomTokens(spec, job, static_cast<uint64_t>(100 * step + mb),
                                                 2 + (step + mb) % 3);
                           },
                       .steps = kSteps});
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *std::move(outcome) : TrainingCaseOutcome{};
}

// The weights of a tensor as a run begins with them: in fp32, or the high halves of that.
enum class Halves { kBoth, kHighOnly };
std::vector<float> FirstWeights(const ModelSpec& spec, const TensorSpec& tensor, Halves halves) {
  std::vector<float> values(tensor.parameters);
  EXPECT_TRUE(RandomSource(spec, 7)(tensor, 0, values).ok());
  if (halves == Halves::kBoth) return values;
  std::vector<uint16_t> hi(values.size());
  std::vector<int16_t> lo(values.size());
  EXPECT_TRUE(SplitMasterHost(values, hi, lo).ok());
  std::fill(lo.begin(), lo.end(), 0);
  EXPECT_TRUE(JoinMasterHost(hi, lo, values).ok());
  return values;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::set<std::string> TrainedBy(const ModelSpec& spec, const TrainingJob& job) {
  const absl::StatusOr<std::vector<std::string>> names =
      TrainedNames(spec, {.train = job.train, .freeze = job.freeze});
  EXPECT_TRUE(names.ok()) << names.status();
  return names.ok() ? std::set<std::string>(names->begin(), names->end()) : std::set<std::string>();
}

// Trained tensors have moved; frozen ones are what compute reads, as at the begin.
void ExpectOnlyTrainedMoved(const ModelSpec& spec, const TrainingJob& job,
                            const TrainingCaseOutcome& run) {
  const std::set<std::string> trained = TrainedBy(spec, job);
  EXPECT_EQ(std::set<std::string>(run.tensor_names.begin(), run.tensor_names.end()), trained);
  size_t tensors = 0;
  for (const Stage& stage : ListStages(spec)) {
    for (const TensorSpec& tensor : stage.tensors) {
      ++tensors;
      const bool is_trained = trained.contains(tensor.name);
      const bool high_only = is_trained ? job.state_format == StateFormat::kBf16Weights
                                        : job.compute_type == NumberType::kBf16;
      const std::vector<float> before =
          FirstWeights(spec, tensor, high_only ? Halves::kHighOnly : Halves::kBoth);
      EXPECT_EQ(SameBits(run.tensors.at(tensor.name), before), !is_trained) << tensor.name;
    }
  }
  EXPECT_EQ(run.tensors.size(), tensors);
}

void ExpectAllPlansEqual(const ModelSpec& spec, const TrainingJob& job) {
  const TrainingCaseOutcome resident = Train(spec, job, ResidentPlan());
  ASSERT_EQ(static_cast<int64_t>(resident.steps.size()), kSteps);
  ExpectOnlyTrainedMoved(spec, job, resident);
  for (const Variant& variant : Variants(spec, job)) {
    SCOPED_TRACE(variant.name);
    ExpectEqualRuns(Train(spec, job, variant.plan), resident);
  }
}

void ExpectAllPlansEqualForEverySelection(const ModelSpec& spec, const TrainingJob& job) {
  for (const Selection& selection : Selections(spec)) {
    SCOPED_TRACE(selection.name);
    ExpectAllPlansEqual(spec, With(selection, job));
  }
}

ModelSpec TiedWithBiasesAndHeadNorms() {
  ModelSpec spec = TinyPlain();
  spec.family = "qwen3";
  spec.qkv_bias = spec.output_bias = spec.mlp_bias = true;
  spec.qk_norm = QkNorm::kPerHead;
  spec.tied = true;
  return spec;
}

TEST(FrozenPlans, EveryPlanGivesTheBitsOfResident) {
  ExpectAllPlansEqualForEverySelection(TinyPlain(), Job());
}

TEST(FrozenPlans, AlsoWithATiedTableBiasesHeadNormsAndRoundedGradients) {
  ExpectAllPlansEqualForEverySelection(TiedWithBiasesAndHeadNorms(), RoundedJob());
}

TEST(FrozenPlans, AlsoOfEveryOtherBlock) {
  for (const BlockModel& model : BlockModels()) {
    // The selections name dense tensors; exact_experts_test freezes routers and experts.
    if (model.spec.experts.experts > 0) continue;
    SCOPED_TRACE(model.name);
    ExpectAllPlansEqualForEverySelection(model.spec, Job());
  }
}

TEST(FrozenPlans, AlsoWithThreeMicroBatchesInBothOrders) {
  TrainingJob job = Job();
  job.accumulation = 3;
  ExpectAllPlansEqualForEverySelection(TinyPlain(), job);
}

TEST(FrozenPlans, AlsoWithThreeMicroBatchesOfRoundedGradientsAndATiedTable) {
  TrainingJob job = RoundedJob();
  job.accumulation = 3;
  ExpectAllPlansEqualForEverySelection(TiedWithBiasesAndHeadNorms(), job);
}

TEST(FrozenPlans, AlsoWithTablesInShards) {
  ExpectAllPlansEqualForEverySelection(LargeVocabulary(), TwoLossTiles(Job()));
  ModelSpec tied = LargeVocabulary();
  tied.tied = true;
  TrainingJob job = TwoLossTiles(RoundedJob());
  job.accumulation = 2;
  ExpectAllPlansEqualForEverySelection(tied, job);
}

TEST(FrozenPlans, AlsoInEveryStateFormat) {
  for (const StateFormat format :
       {StateFormat::kBf16Moments, StateFormat::k8BitMoments, StateFormat::kBf16Weights}) {
    SCOPED_TRACE(std::string(ToString(format)));
    TrainingJob job = RoundedJob();
    job.state_format = format;
    job.learning_rate = 0.1;  // so that bf16 weights move
    ExpectAllPlansEqualForEverySelection(TinyPlain(), job);
  }
}

TEST(FrozenPlans, AlsoWithTheOptimizerInBackwardAndAfterTheStep) {
  TrainingJob job = Job();
  job.optimizer_place = OptimizerPlace::kAfterStep;
  ExpectAllPlansEqualForEverySelection(TinyPlain(), job);
  job.clip_norm = 0;
  job.optimizer_place = OptimizerPlace::kInBackward;
  ExpectAllPlansEqualForEverySelection(TinyPlain(), job);
}

TEST(FrozenPlans, TheOptimizersPlaceDoesNotChangeTheNumbersWithoutClip) {
  for (const Selection& selection : Selections(TinyPlain())) {
    SCOPED_TRACE(selection.name);
    TrainingJob job = With(selection, Job());
    job.clip_norm = 0;
    const TrainingCaseOutcome behind = Train(TinyPlain(), job, StreamPlan{});
    job.optimizer_place = OptimizerPlace::kAfterStep;
    ExpectEqualRuns(Train(TinyPlain(), job, StreamPlan{}), behind);
    job.optimizer_place = OptimizerPlace::kInBackward;
    ExpectEqualRuns(Train(TinyPlain(), job, StreamPlan{}), behind);
  }
}

// --- random selections, jobs and plans ---

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}

  int64_t Below(int64_t count) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(count));
  }
  bool Yes() { return Below(2) == 0; }
  template <typename T>
  T OneOf(const std::vector<T>& values) {
    return values[static_cast<size_t>(Below(static_cast<int64_t>(values.size())))];
  }

 private:
  std::mt19937 random_;
};

ModelSpec DrawModel(Draw& draw) {
  const std::vector<BlockModel> blocks = BlockModels();
  const int64_t which = draw.Below(static_cast<int64_t>(blocks.size()) + 3);
  if (which == 0) return TinyPlain();
  if (which == 1) return LargeVocabulary();
  if (which == 2) return TiedWithBiasesAndHeadNorms();
  return blocks[static_cast<size_t>(which - 3)].spec;
}

TrainingJob DrawJob(Draw& draw) {
  TrainingJob job = draw.Yes() ? Job() : RoundedJob();
  job.accumulation = 1 + draw.Below(3);
  job.optimizer_place = draw.OneOf<OptimizerPlace>(
      {OptimizerPlace::kBehindForward, OptimizerPlace::kInBackward, OptimizerPlace::kAfterStep});
  job.clip_norm = 0.5;
  if (job.optimizer_place == OptimizerPlace::kInBackward) {
    // It keeps no gradients, to add others to or to take the norm of all.
    job.accumulation = 1;
    job.clip_norm = 0;
  }
  job.decay_all = draw.Yes();
  job.learning_rate = 0.1;
  job.seed = draw.Below(1000);
  if (draw.Below(3) == 0) job.piece_tokens = 1 + draw.Below(12);
  const std::vector<StateFormat> formats = {StateFormat::kFp32, StateFormat::kBf16Moments,
                                            StateFormat::k8BitMoments, StateFormat::kBf16Weights};
  // Weights without a low half are no fp32.
  const bool all_formats = job.compute_type == NumberType::kBf16;
  job.state_format = formats[static_cast<size_t>(draw.Below(all_formats ? 4 : 3))];
  return job;
}

// A name that stands for the tensors of all experts of a layer, which are trained alike; "" for
// those of all but the first.
std::string NameOfAlike(const std::string& name) {
  const std::string_view experts = ".experts.";
  const size_t at = name.find(experts);
  if (at == std::string::npos) return name;
  const size_t number = at + experts.size();
  const size_t end = name.find('.', number);
  if (end == std::string::npos || name[number] < '0' || name[number] > '9') return name;
  if (name[number] != '0') return "";
  return StrCat(name.substr(0, number), "*", name.substr(end));
}

// Some tensors by name: few, half of them or most, as what is trained or as what is frozen.
std::pair<Selection, Selection> DrawSelection(Draw& draw, const ModelSpec& spec) {
  Selection train;
  Selection freeze;
  const int64_t tenths = draw.OneOf<int64_t>({1, 5, 9});
  for (const std::string& name : TrainedBy(spec, Job())) {
    const std::string alike = NameOfAlike(name);
    if (alike.empty()) continue;
    (draw.Below(10) < tenths ? train.train : freeze.freeze).push_back(alike);
  }
  if (train.train.empty()) std::swap(train.train, freeze.freeze);
  return {train, freeze};
}

StreamPlan DrawPlan(Draw& draw, const ModelSpec& spec, const TrainingJob& job) {
  StreamPlan plan;
  const Bytes least = LeastChunkBytes(ListStages(spec), job);
  plan.embedding_home = draw.OneOf<EmbeddingHome>(
      {EmbeddingHome::kHost, EmbeddingHome::kStreamed, EmbeddingHome::kDevice});
  plan.anchor_interval = 1 + draw.Below(4);
  plan.buffer_depth = 1 + draw.Below(4);
  plan.gradient_slabs = 1 + draw.Below(4);
  plan.loss_chunk_tokens = 128;
  plan.compute_threads = 1 + draw.Below(2);
  // It would round gradients that are clipped once more.
  const bool allows_reference =
      job.optimizer_place == OptimizerPlace::kAfterStep && job.gradient_type == NumberType::kFp32;
  if (allows_reference && draw.Below(4) == 0) {
    plan.strategy = Strategy::kReference;
    plan.embedding_home = EmbeddingHome::kDevice;
    plan.buffer_depth = 1 + draw.Below(2);
    return plan;
  }
  plan.chunk_bytes = least * static_cast<uint64_t>(1 + draw.Below(6));
  plan.anchor_home = draw.Yes() ? AnchorHome::kHost : AnchorHome::kDevice;
  plan.recompute = draw.Yes();
  plan.backward_prefetch = draw.Yes();
  plan.keep_feed_forward = draw.Yes();
  // It is not cut then.
  if (!plan.keep_feed_forward) plan.chunk_bytes = std::max(plan.chunk_bytes, 8_MiB);
  plan.resident_chunks = draw.Yes() ? 0 : draw.Below(8);
  if (job.accumulation > 1 && draw.Yes()) {
    plan.accumulation_order = AccumulationOrder::kChunkMajor;
    plan.buffer_depth = 32;  // the whole model
  }
  return plan;
}

TEST(FrozenPlans, RandomSelectionsGiveTheBitsOfResidentUnderRandomPlans) {
  constexpr uint32_t kCases = 60;
  constexpr int kPlans = 6;
  for (uint32_t seed = 1; seed <= kCases; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    Draw draw(seed);
    const ModelSpec spec = DrawModel(draw);
    const TrainingJob everything = DrawJob(draw);
    const auto [train, freeze] = DrawSelection(draw, spec);
    const TrainingJob job = With(train, everything);
    const TrainingCaseOutcome resident = Train(spec, job, ResidentPlan());
    ASSERT_EQ(static_cast<int64_t>(resident.steps.size()), kSteps);
    ExpectOnlyTrainedMoved(spec, job, resident);
    ExpectEqualRuns(Train(spec, With(freeze, everything), StreamPlan{}), resident);
    for (int i = 0; i < kPlans; ++i) {
      const StreamPlan plan = DrawPlan(draw, spec, job);
      SCOPED_TRACE(WritePlan(plan));
      ExpectEqualRuns(Train(spec, job, plan), resident);
    }
  }
}

}  // namespace
}  // namespace horizon
