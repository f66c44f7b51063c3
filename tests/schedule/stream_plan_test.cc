// A plan as a file, as a promise about one model, and what it refuses to be.
#include "schedule/stream_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "common/documents/json.h"
#include "common/documents/yaml.h"
#include "common/files/io.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/load_model_spec.h"
#include "schedule/offload_baselines.h"
#include "tests/schedule/random_plans.h"
#include "tests/schedule/random_records.h"
#include "tests/schedule/record_cases.h"

namespace horizon {
namespace {

absl::StatusOr<StreamPlan> FromJson(std::string_view text) {
  ASSIGN_OR_RETURN(const Document document, ParseJson("plan.json", text));
  return ReadPlan(document);
}

absl::Status ReadStatus(std::string_view text) { return FromJson(text).status(); }

TEST(StreamPlan, AnEmptyObjectIsTheDefaultPlan) {
  const absl::StatusOr<StreamPlan> plan = FromJson("{}");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(*plan, StreamPlan());
}

TEST(StreamPlan, EveryFieldIsReadFromJsonAndYamlAlike) {
  StreamPlan expected;
  expected.model = "tiny";
  expected.model_fingerprint = "0123456789abcdef";
  expected.strategy = Strategy::kReference;
  expected.chunk_bytes = Bytes(CheckedU64(uint64_t{3} << 29));
  expected.buffer_depth = 3;
  expected.backward_prefetch = false;
  expected.resident_chunks = 4;
  expected.anchor_interval = 5;
  expected.anchor_home = AnchorHome::kHost;
  expected.recompute = false;
  expected.gradient_slabs = 6;
  expected.accumulation_order = AccumulationOrder::kChunkMajor;
  expected.loss_chunk_tokens = 256;
  expected.embedding_home = EmbeddingHome::kStreamed;
  expected.h2d_threads = 7;
  expected.compute_threads = 8;
  expected.d2h_threads = 9;
  expected.host_threads = 10;
  expected.optimizer_threads = 11;
  const absl::StatusOr<StreamPlan> from_json = FromJson(R"({
    "version": 1, "model": "tiny", "model_fingerprint": "0123456789abcdef",
    "strategy": "reference", "chunk_bytes": "1.5 GiB", "buffer_depth": 3,
    "backward_prefetch": false, "resident_chunks": 4,
    "anchor_interval": 5, "anchor_home": "host", "recompute": false, "gradient_slabs": 6,
    "accumulation_order": "chunk_major", "loss_chunk_tokens": 256,
    "embedding_home": "streamed", "h2d_threads": 7, "compute_threads": 8, "d2h_threads": 9,
    "host_threads": 10, "optimizer_threads": 11})");
  ASSERT_TRUE(from_json.ok()) << from_json.status();
  EXPECT_EQ(*from_json, expected);
  const absl::StatusOr<Document> yaml = ParseYaml(
      "plan.yaml",
      "model: tiny\nmodel_fingerprint: '0123456789abcdef'\nstrategy: reference\n"
      "chunk_bytes: 1.5 GiB\nbuffer_depth: 3\nbackward_prefetch: false\nresident_chunks: "
      "4\nanchor_interval: 5\n"
      "anchor_home: host\nrecompute: false\ngradient_slabs: 6\n"
      "accumulation_order: chunk_major\nloss_chunk_tokens: 256\nembedding_home: streamed\n"
      "h2d_threads: 7\ncompute_threads: 8\nd2h_threads: 9\nhost_threads: 10\n"
      "optimizer_threads: 11\n");
  ASSERT_TRUE(yaml.ok()) << yaml.status();
  const absl::StatusOr<StreamPlan> from_yaml = ReadPlan(*yaml);
  ASSERT_TRUE(from_yaml.ok()) << from_yaml.status();
  EXPECT_EQ(*from_yaml, expected);
}

RC_GTEST_PROP(StreamPlan, RoundTripsExactly, ()) {
  const StreamPlan plan = *RandomPlanRecord(AnyText());
  const std::string text = WritePlan(plan);
  const absl::StatusOr<StreamPlan> again = FromJson(text);
  RC_LOG() << text << again.status().ToString();
  RC_ASSERT(again.ok());
  RC_ASSERT(*again == plan);
  RC_ASSERT(WritePlan(*again) == text);
}

constexpr FieldRange kRanges[] = {
    {"version", "0", "1", "1", "2"},
    {"chunk_bytes", "0", "1", "1000000000000000000", "1000000000000000128"},
    {"buffer_depth", "0", "1", "1048576", "1048577"},
    {"resident_chunks", "-1", "0", "1048576", "1048577"},
    {"anchor_interval", "0", "1", "1048576", "1048577"},
    {"gradient_slabs", "0", "1", "1048576", "1048577"},
    {"loss_chunk_tokens", "0", "1", "1000000000000", "1000000000001"},
    {"h2d_threads", "0", "1", "4096", "4097"},
    {"compute_threads", "0", "1", "4096", "4097"},
    {"d2h_threads", "0", "1", "4096", "4097"},
    {"host_threads", "0", "1", "4096", "4097"},
    {"optimizer_threads", "0", "1", "4096", "4097"},
};

TEST(StreamPlan, BothEndsOfEveryRangeAreKept) {
  ExpectRangesKept(WritePlan({}), kRanges, ReadStatus);
}

TEST(StreamPlan, SizesAsTextKeepTheRangeToo) {
  EXPECT_TRUE(ReadStatus(R"({"chunk_bytes": "1 B"})").ok());
  for (const std::string_view size : {"0 MiB", "2 EB", "-1", "lots", ""}) {
    const absl::Status status = ReadStatus(StrCat("{\"chunk_bytes\": \"", size, "\"}"));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size;
    EXPECT_EQ(std::string(status.message()).rfind("plan.json:1: chunk_bytes: ", 0), 0u) << status;
  }
}

TEST(StreamPlan, WrongTypesAreRefused) {
  // A size may be text, so the literals that are wrong for every other number are not for it.
  std::string without_sizes = WritePlan({});
  const size_t begin = without_sizes.find("\"chunk_bytes\"");
  without_sizes.erase(begin, without_sizes.find('\n', begin) + 1 - begin);
  ExpectWrongTypesRefused(without_sizes, ReadStatus);
  for (const std::string_view literal : {"null", "[]", "{}", "true", "1.5", "-1", "1e300"}) {
    EXPECT_EQ(ReadStatus(StrCat("{\"chunk_bytes\": ", literal, "}")).code(),
              absl::StatusCode::kInvalidArgument)
        << literal;
  }
}

TEST(StreamPlan, MisspelledFieldsAreSuggested) {
  ExpectMisspellingsSuggested(WritePlan({}), ReadStatus);
}
TEST(StreamPlan, HostileTextsAreRefused) { ExpectHostileTextsRefused(ReadStatus); }

TEST(StreamPlan, WrongChoicesNameTheChoicesAndTheNearest) {
  EXPECT_EQ(ReadStatus("{\n\"strategy\": \"horizn\"}").message(),
            "plan.json:2: strategy: needs one of "
            "horizon|reference|resident|zero3_offload|fsdp_offload|gemini, found 'horizn'; did "
            "you mean 'horizon'?");
}

using ChangeModel = std::function<void(ModelSpec&)>;

// Everything of a model that changes its tensors or its arithmetic.
std::vector<std::pair<std::string, ChangeModel>> ModelChanges() {
  return {
      {"family", [](ModelSpec& spec) { spec.family = "qwen2"; }},
      {"hidden", [](ModelSpec& spec) { spec.hidden = 9; }},
      {"intermediate", [](ModelSpec& spec) { spec.intermediate = 9; }},
      {"heads", [](ModelSpec& spec) { spec.heads = 9; }},
      {"kv_heads", [](ModelSpec& spec) { spec.kv_heads = 9; }},
      {"head_dim", [](ModelSpec& spec) { spec.head_dim = 9; }},
      {"vocab", [](ModelSpec& spec) { spec.vocab = 9; }},
      {"max_positions", [](ModelSpec& spec) { spec.max_positions = 9; }},
      {"tied", [](ModelSpec& spec) { spec.tied = true; }},
      {"qkv_bias", [](ModelSpec& spec) { spec.qkv_bias = true; }},
      {"output_bias", [](ModelSpec& spec) { spec.output_bias = true; }},
      {"mlp_bias", [](ModelSpec& spec) { spec.mlp_bias = true; }},
      {"expert_bias", [](ModelSpec& spec) { spec.expert_bias = true; }},
      {"qk_norm", [](ModelSpec& spec) { spec.qk_norm = QkNorm::kPerHead; }},
      {"attention_sinks", [](ModelSpec& spec) { spec.attention_sinks = true; }},
      {"norm_epsilon", [](ModelSpec& spec) { spec.norm_epsilon = 1e-5; }},
      {"swiglu_limit", [](ModelSpec& spec) { spec.swiglu_limit = 7; }},
      {"swiglu_alpha", [](ModelSpec& spec) { spec.swiglu_alpha = 1.702; }},
      {"rope.kind", [](ModelSpec& spec) { spec.ropes[0].kind = RopeKind::kYarn; }},
      {"rope.theta", [](ModelSpec& spec) { spec.ropes[0].theta = 5e5; }},
      {"rope.factor", [](ModelSpec& spec) { spec.ropes[0].factor = 8; }},
      {"rope.low", [](ModelSpec& spec) { spec.ropes[0].low_frequency_factor = 2; }},
      {"rope.high", [](ModelSpec& spec) { spec.ropes[0].high_frequency_factor = 8; }},
      {"rope.original", [](ModelSpec& spec) { spec.ropes[0].original_max_positions = 8192; }},
      {"rope.beta_fast", [](ModelSpec& spec) { spec.ropes[0].beta_fast = 31; }},
      {"rope.beta_slow", [](ModelSpec& spec) { spec.ropes[0].beta_slow = 2; }},
      {"rope.attention", [](ModelSpec& spec) { spec.ropes[0].attention_factor = 1.5; }},
      {"rope.mscale", [](ModelSpec& spec) { spec.ropes[0].mscale = 1; }},
      {"rope.mscale_all_dim", [](ModelSpec& spec) { spec.ropes[0].mscale_all_dim = 1; }},
      {"rope.truncate", [](ModelSpec& spec) { spec.ropes[0].truncate = false; }},
      {"experts", [](ModelSpec& spec) { spec.experts.experts = 4; }},
      {"experts_per_token", [](ModelSpec& spec) { spec.experts.experts_per_token = 2; }},
      {"experts.intermediate", [](ModelSpec& spec) { spec.experts.intermediate = 48; }},
      {"normalise_top_k", [](ModelSpec& spec) { spec.experts.normalise_top_k = true; }},
      {"one layer more", [](ModelSpec& spec) { spec.layers.emplace_back(); }},
      {"one layer less", [](ModelSpec& spec) { spec.layers.pop_back(); }},
      {"window of layer 0", [](ModelSpec& spec) { spec.layers[0].sliding_window = 16; }},
      {"window of layer 1", [](ModelSpec& spec) { spec.layers[1].sliding_window = 16; }},
      {"experts in layer 0", [](ModelSpec& spec) { spec.layers[0].has_experts = true; }},
      {"experts in layer 1", [](ModelSpec& spec) { spec.layers[1].has_experts = true; }},
      {"norm_after", [](ModelSpec& spec) { spec.norm_place = NormPlace::kAfter; }},
      {"norms on both sides", [](ModelSpec& spec) { spec.norm_place = NormPlace::kBoth; }},
      {"norm_adds_one", [](ModelSpec& spec) { spec.norm_adds_one = true; }},
      {"qk_norm of full width", [](ModelSpec& spec) { spec.qk_norm = QkNorm::kFullWidth; }},
      {"activation", [](ModelSpec& spec) { spec.activation = Activation::kGeluTanh; }},
      {"attention_scale", [](ModelSpec& spec) { spec.attention_scale = 0.5; }},
      {"embedding_multiplier", [](ModelSpec& spec) { spec.embedding_multiplier = 0.5; }},
      {"rounds", [](ModelSpec& spec) { spec.embedding_multiplier_rounds = true; }},
      {"residual_multiplier", [](ModelSpec& spec) { spec.residual_multiplier = 0.5; }},
      {"logit_multiplier", [](ModelSpec& spec) { spec.logit_multiplier = 0.5; }},
      {"padding_token", [](ModelSpec& spec) { spec.padding_token = 0; }},
      {"rotary_dim", [](ModelSpec& spec) { spec.ropes[0].rotary_dim = 4; }},
      {"query scale", [](ModelSpec& spec) { spec.ropes[0].query_scale_beta = 0.1; }},
      {"short factors", [](ModelSpec& spec) { spec.ropes[0].short_factors = {2.0}; }},
      {"long factors", [](ModelSpec& spec) { spec.ropes[0].long_factors = {2.0}; }},
      {"a second rope", [](ModelSpec& spec) { spec.ropes.emplace_back(); }},
      {"another second rope", [](ModelSpec& spec) { spec.ropes.push_back({.theta = 3}); }},
      {"rope of layer 0", [](ModelSpec& spec) { spec.layers[0].rope = kNoRotary; }},
      {"rope of layer 1", [](ModelSpec& spec) { spec.layers[1].rope = kNoRotary; }},
      {"nothing", [](ModelSpec& spec) {}},
  };
}

// Plans and runs made before models had options beyond llama's stay valid.
TEST(Fingerprint, OfPlainModelsIsWhatItWas) {
  const std::unique_ptr<Io> io = MakePosixIo();
  EXPECT_EQ(FingerprintOf(LoadModelSpec(*io, "qwen3-8b")->spec), "c1cfc070aac2cc6e");
  EXPECT_EQ(FingerprintOf(LoadModelSpec(*io, "llama-3.1-8b")->spec), "1e9aec0498db5b61");
}

TEST(Fingerprint, DiffersForEveryShapeAndArithmetic) {
  std::map<std::string, std::string> seen;
  for (const auto& [name, change] : ModelChanges()) {
    ModelSpec spec = TinyModel(2);
    change(spec);
    const std::string print = FingerprintOf(spec);
    EXPECT_EQ(print.size(), 16u);
    EXPECT_EQ(print.find_first_not_of("0123456789abcdef"), std::string::npos) << print;
    const auto [found, is_new] = seen.emplace(print, name);
    EXPECT_TRUE(is_new) << name << " has the fingerprint of " << found->second;
  }
}

TEST(Fingerprint, DoesNotDependOnTheName) {
  ModelSpec spec = TinyModel(2);
  const std::string print = FingerprintOf(spec);
  spec.name = "/another/folder";
  EXPECT_EQ(FingerprintOf(spec), print);
}

// A plan written today must be accepted by tomorrow's program.
TEST(Fingerprint, IsStableOverReleases) {
  EXPECT_EQ(FingerprintOf(TinyModel(2)), "6d92f97bc489d8d5");
}

TEST(ValidatePlan, RefusesAPlanForAnotherModel) {
  const ModelSpec spec = TinyModel(2);
  ModelSpec other = TinyModel(3);
  other.name = "other";
  StreamPlan plan;
  NameModel(other, plan);
  const absl::Status status = ValidatePlan(spec, {}, plan);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), StrCat("the plan is for model 'other' (fingerprint ",
                                     FingerprintOf(other), "), not for 'tiny' (fingerprint ",
                                     FingerprintOf(spec), "): make a plan for this model"));
  EXPECT_TRUE(ValidatePlan(other, {}, plan).ok());
  // The same model under another name is the same model.
  ModelSpec renamed = other;
  renamed.name = "a folder";
  EXPECT_TRUE(ValidatePlan(renamed, {}, plan).ok());
  // A name alone is held to the name.
  plan.model_fingerprint.clear();
  EXPECT_EQ(ValidatePlan(spec, {}, plan).message(),
            "the plan is for model 'other', not for 'tiny': make a plan for this model");
  EXPECT_TRUE(ValidatePlan(other, {}, plan).ok());
  plan.model.clear();
  EXPECT_TRUE(ValidatePlan(spec, {}, plan).ok());
}

struct Refusal {
  std::string name;
  std::function<void(TrainingJob&, StreamPlan&)> change;
  std::string message;  // a part of it
};

void ExpectRefusals(const TrainingJob& good_job, const StreamPlan& good_plan,
                    const std::vector<Refusal>& refusals) {
  const ModelSpec spec = TinyModel();
  ASSERT_TRUE(ValidatePlan(spec, good_job, good_plan).ok())
      << ValidatePlan(spec, good_job, good_plan);
  for (const Refusal& refusal : refusals) {
    TrainingJob job = good_job;
    StreamPlan plan = good_plan;
    refusal.change(job, plan);
    const absl::Status status = ValidatePlan(spec, job, plan);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << refusal.name;
    EXPECT_NE(std::string(status.message()).find(refusal.message), std::string::npos)
        << refusal.name << ": " << status;
  }
}

TEST(ValidatePlan, LossChunksAreWholeTilesOrEverything) {
  TrainingJob job;
  job.sequence = 300;
  job.micro_batch = 2;
  ExpectRefusals(
      job, {},
      {{"one token", [](TrainingJob&, StreamPlan& plan) { plan.loss_chunk_tokens = 1; },
        "loss_chunk_tokens 1 must be a multiple of 128, or at least the 600 tokens"},
       {"half a tile", [](TrainingJob&, StreamPlan& plan) { plan.loss_chunk_tokens = 64; },
        "loss_chunk_tokens 64 must be a multiple of 128"},
       {"just below all", [](TrainingJob&, StreamPlan& plan) { plan.loss_chunk_tokens = 599; },
        "loss_chunk_tokens 599"}});
  for (const int64_t good : {128, 512, 600, 601, 1000}) {
    StreamPlan plan;
    plan.loss_chunk_tokens = good;
    EXPECT_TRUE(ValidatePlan(TinyModel(), job, plan).ok()) << good;
  }
}

// Of every strategy but `horizon`.
const std::vector<Refusal>& CommonRefusals() {
  static const auto* const kRefusals = new std::vector<Refusal>{
      {"embedding", [](TrainingJob&, StreamPlan& p) { p.embedding_home = EmbeddingHome::kHost; },
       "keeps the embedding on the device: set embedding_home device"},
      {"order",
       [](TrainingJob&, StreamPlan& p) { p.accumulation_order = AccumulationOrder::kChunkMajor; },
       "set accumulation_order batch_major"},
      {"anchors", [](TrainingJob&, StreamPlan& p) { p.anchor_home = AnchorHome::kHost; },
       "keeps activation checkpoints on the device: set anchor_home device"},
      {"resident chunks", [](TrainingJob&, StreamPlan& p) { p.resident_chunks = 1; },
       "decides by itself what is resident: set resident_chunks 0"},
      {"prefetch", [](TrainingJob&, StreamPlan& p) { p.backward_prefetch = false; },
       "decides by itself when it loads: set backward_prefetch true"},
  };
  return *kRefusals;
}

TEST(ValidatePlan, ReferenceRefusesWhatItWouldNotDo) {
  TrainingJob job;
  job.optimizer_place = OptimizerPlace::kAfterStep;
  StreamPlan plan;
  plan.strategy = Strategy::kReference;
  plan.embedding_home = EmbeddingHome::kDevice;
  ExpectRefusals(job, plan, CommonRefusals());
  ExpectRefusals(
      job, plan,
      {{"optimizer",
        [](TrainingJob& j, StreamPlan&) { j.optimizer_place = OptimizerPlace::kBehindForward; },
        "strategy reference updates after the step: set optimizer_place after_step"},
       {"recompute", [](TrainingJob&, StreamPlan& p) { p.recompute = false; },
        "always recomputes: set recompute true"},
       {"depth", [](TrainingJob&, StreamPlan& p) { p.buffer_depth = 3; },
        "buffer_depth 3 is not possible, use 1 or 2"}});
}

TEST(ValidatePlan, OffloadBaselinesRefuseWhatTheyWouldNotDo) {
  for (const OffloadBaseline& baseline : kOffloadBaselines) {
    const std::string who = StrCat("strategy ", ToString(baseline.strategy), " ");
    TrainingJob job;
    job.optimizer_place = OptimizerPlace::kAfterStep;
    StreamPlan plan;
    plan.strategy = baseline.strategy;
    plan.embedding_home = EmbeddingHome::kDevice;
    ExpectRefusals(job, plan, CommonRefusals());
    ExpectRefusals(
        job, plan,
        {{"behind forward",
          [](TrainingJob& j, StreamPlan&) { j.optimizer_place = OptimizerPlace::kBehindForward; },
          StrCat(who, "updates after the step: set optimizer_place after_step")},
         {"streamed embedding",
          [](TrainingJob&, StreamPlan& p) { p.embedding_home = EmbeddingHome::kStreamed; },
          StrCat(who, "keeps the embedding on the device: set embedding_home device")},
         {"depth", [](TrainingJob&, StreamPlan& p) { p.buffer_depth = 3; },
          StrCat(who, "has two staging buffers: buffer_depth 3 is not possible, use 1 or 2")}});
    for (const bool recompute : {true, false}) {
      for (const int64_t depth : {1, 2}) {
        plan.recompute = recompute;
        plan.buffer_depth = depth;
        EXPECT_TRUE(ValidatePlan(TinyModel(), job, plan).ok()) << who << depth;
      }
    }
  }
}

TEST(Strategy, OnlyTheOffloadBaselinesAreSimulatedOnly) {
  std::string simulated;
  for (const EnumWord<Strategy>& strategy : WordsOf(Strategy{})) {
    if (IsSimulatedOnly(strategy.value)) simulated += StrCat(strategy.word, " ");
    EXPECT_EQ(FrameworkBytes(strategy.value) > 0_B, IsSimulatedOnly(strategy.value))
        << strategy.word;
  }
  EXPECT_EQ(simulated, "zero3_offload fsdp_offload gemini ");
}

TEST(ValidatePlan, ResidentRefusesWhatItWouldNotDo) {
  StreamPlan plan;
  plan.strategy = Strategy::kResident;
  plan.embedding_home = EmbeddingHome::kDevice;
  plan.buffer_depth = 9;  // has no ring: any depth will do
  plan.recompute = false;
  ExpectRefusals({}, plan, CommonRefusals());
}

}  // namespace
}  // namespace horizon
