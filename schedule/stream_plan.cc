#include "schedule/stream_plan.h"

#include "absl/strings/str_format.h"
#include "common/documents/either_spelling.h"
#include "common/documents/json.h"
#include "common/documents/record.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "schedule/offload_baselines.h"

namespace horizon {
namespace {

constexpr EnumWord<Strategy> kStrategyWords[] = {
    {Strategy::kHorizon, "horizon"},          {Strategy::kReference, "reference"},
    {Strategy::kResident, "resident"},        {Strategy::kZero3Offload, "zero3_offload"},
    {Strategy::kFsdpOffload, "fsdp_offload"}, {Strategy::kGemini, "gemini"}};
constexpr EnumWord<AnchorHome> kAnchorWords[] = {{AnchorHome::kDevice, "device"},
                                                 {AnchorHome::kHost, "host"}};
constexpr EnumWord<AccumulationOrder> kOrderWords[] = {
    {AccumulationOrder::kBatchMajor, "batch_major"},
    {AccumulationOrder::kChunkMajor, "chunk_major"}};
constexpr EnumWord<EmbeddingHome> kEmbeddingWords[] = {{EmbeddingHome::kHost, "host"},
                                                       {EmbeddingHome::kStreamed, "streamed"},
                                                       {EmbeddingHome::kDevice, "device"}};

constexpr double kMostThreads = 4096;

template <typename Record, typename Visitor>
void VisitFields(Record& plan, Visitor& visit) {
  visit("version", plan.version, {.minimum = 1, .maximum = 1, .help = "version of this format"});
  visit("model", plan.model, {.help = "the model the plan was made for; empty: any it fits"});
  visit("model_fingerprint", plan.model_fingerprint,
        {.help = "of that model's shape; a plan for another shape is refused"});
  visit("strategy", plan.strategy, {.help = "offload strategy"});
  visit("chunk_bytes", plan.chunk_bytes,
        {.unit = "bytes on the link, or text such as `512 MiB`",
         .minimum = 1,
         .maximum = 1e18,
         .help = "largest chunk; a larger stage is cut into shards (`horizon` only)"});
  visit("buffer_depth", plan.buffer_depth,
        {.unit = "slots",
         .minimum = 1,
         .maximum = 1 << 20,
         .help = "slots of the buffer ring; 1: no double buffering"});
  visit("backward_prefetch", plan.backward_prefetch,
        {.help = "false: a chunk is loaded for recompute or backward only when compute has come to "
                 "it (`horizon` only)"});
  visit("resident_chunks", plan.resident_chunks,
        {.unit = "chunks",
         .minimum = 0,
         .maximum = 1 << 20,
         .help = "chunks that stay on the device: the head's first, then layers from the last"});
  visit(
      "anchor_interval", plan.anchor_interval,
      {.unit = "layers",
       .minimum = 1,
       .maximum = 1 << 20,
       .help = "K: an activation checkpoint is kept every K layers, which make a recompute block"});
  visit("anchor_home", plan.anchor_home, {.help = "where activation checkpoints are kept"});
  visit("recompute", plan.recompute,
        {.help = "compute a block again from its activation checkpoint in backward; false: keep "
                 "all activations"});
  visit("keep_feed_forward", plan.keep_feed_forward,
        {.help = "keep gate and up of feed-forward layers for backward; false: backward computes "
                 "them again"});
  visit("gradient_slabs", plan.gradient_slabs,
        {.unit = "slabs",
         .minimum = 1,
         .maximum = 1 << 20,
         .help = "pinned buffers through which gradients leave the device; 1: no pool"});
  visit("accumulation_order", plan.accumulation_order,
        {.help = "order of micro-batches and chunks"});
  visit("loss_chunk_tokens", plan.loss_chunk_tokens,
        {.unit = "tokens",
         .minimum = 1,
         .maximum = 1e12,
         .help = "tokens whose logits exist at once; a multiple of 128, or all tokens"});
  visit("embedding_home", plan.embedding_home, {.help = "where embedding rows are looked up"});
  const auto threads = [](std::string_view help) {
    return FieldInfo{.unit = "threads", .minimum = 1, .maximum = kMostThreads, .help = help};
  };
  visit("h2d_threads", plan.h2d_threads, threads("of copies to the device"));
  visit("compute_threads", plan.compute_threads, threads("of compute on device `host`"));
  visit("d2h_threads", plan.d2h_threads, threads("of copies from the device"));
  visit("host_threads", plan.host_threads,
        threads("of packing, gathering, accumulation and norms"));
  visit("optimizer_threads", plan.optimizer_threads,
        threads("of Adam; `reference`: of accumulation and norms too"));
}

// FNV-1a: stable over processes and releases, which std::hash is not.
class Fingerprint {
 public:
  void Add(std::string_view text) {
    for (const char c : text) state_ = (state_ ^ static_cast<unsigned char>(c)) * 1099511628211u;
    state_ = (state_ ^ 0xffu) * 1099511628211u;
  }
  template <typename T>
  void AddNumber(T number) {
    Add(absl::StrFormat("%.17g", static_cast<double>(number)));
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 14695981039346656037u;
};

absl::Status Refuse(const std::string& message) { return absl::InvalidArgumentError(message); }

absl::Status ValidateStrategy(const TrainingJob& job, const StreamPlan& plan) {
  if (plan.strategy == Strategy::kHorizon) return absl::OkStatus();
  const std::string who = StrCat("strategy ", ToString(plan.strategy), " ");
  if (plan.embedding_home != EmbeddingHome::kDevice) {
    return Refuse(StrCat(who, "keeps the embedding on the device: set embedding_home device"));
  }
  if (plan.accumulation_order != AccumulationOrder::kBatchMajor) {
    return Refuse(StrCat(who,
                         "takes micro-batches one by one: set accumulation_order "
                         "batch_major"));
  }
  if (plan.anchor_home != AnchorHome::kDevice) {
    return Refuse(
        StrCat(who, "keeps activation checkpoints on the device: set anchor_home device"));
  }
  if (plan.resident_chunks != 0) {
    return Refuse(StrCat(who, "decides by itself what is resident: set resident_chunks 0"));
  }
  if (!plan.backward_prefetch) {
    return Refuse(StrCat(who, "decides by itself when it loads: set backward_prefetch true"));
  }
  if (plan.strategy == Strategy::kResident) return absl::OkStatus();
  if (!plan.keep_feed_forward) {
    return Refuse(StrCat(who, "keeps gate and up: set keep_feed_forward true"));
  }
  if (job.optimizer_place != OptimizerPlace::kAfterStep) {
    return Refuse(StrCat(who, "updates after the step: set optimizer_place after_step"));
  }
  if (plan.strategy == Strategy::kReference && !plan.recompute) {
    return Refuse(StrCat(who, "always recomputes: set recompute true"));
  }
  if (plan.buffer_depth > 2) {
    return Refuse(StrCat(who, "has two staging buffers: buffer_depth ", plan.buffer_depth,
                         " is not possible, use 1 or 2"));
  }
  return absl::OkStatus();
}

}  // namespace

std::span<const EnumWord<Strategy>> WordsOf(Strategy) { return kStrategyWords; }
std::span<const EnumWord<AnchorHome>> WordsOf(AnchorHome) { return kAnchorWords; }
std::span<const EnumWord<AccumulationOrder>> WordsOf(AccumulationOrder) { return kOrderWords; }
std::span<const EnumWord<EmbeddingHome>> WordsOf(EmbeddingHome) { return kEmbeddingWords; }

bool IsSimulatedOnly(Strategy strategy) { return FindOffloadBaseline(strategy) != nullptr; }

StageOptions StageOptionsOf(const TrainingJob& job, const StreamPlan& plan) {
  return {.piece_tokens = IsSimulatedOnly(plan.strategy) ? kAllTokens : job.piece_tokens,
          .keep_feed_forward = plan.keep_feed_forward,
          .sample_lengths = job.sample_lengths};
}

namespace {

void AddRope(const RopeSpec& rope, Fingerprint& print) {
  print.Add(ToString(rope.kind));
  for (const double number :
       {rope.theta, rope.factor, rope.low_frequency_factor, rope.high_frequency_factor,
        static_cast<double>(rope.original_max_positions), rope.beta_fast, rope.beta_slow,
        rope.attention_factor, rope.mscale, rope.mscale_all_dim, rope.query_scale_beta}) {
    print.AddNumber(number);
  }
  print.AddNumber(rope.truncate);
  print.AddNumber(rope.rotary_dim);
  for (const std::vector<double>* factors : {&rope.short_factors, &rope.long_factors}) {
    print.AddNumber(static_cast<int64_t>(factors->size()));
    for (const double factor : *factors) print.AddNumber(factor);
  }
}

// What a model has beyond a plain one. Nothing is added for that, so that plans and runs of plain
// models made before there were these options stay valid.
void AddOptions(const ModelSpec& spec, Fingerprint& print) {
  const ModelSpec plain;
  const auto add = [&](std::string_view name, double value, double usual) {
    if (value == usual) return;
    print.Add(name);
    print.AddNumber(value);
  };
  add("norm_place", static_cast<double>(spec.norm_place), static_cast<double>(plain.norm_place));
  add("norm_adds_one", spec.norm_adds_one, plain.norm_adds_one);
  add("qk_norm", spec.qk_norm == QkNorm::kFullWidth, 0);
  add("activation", static_cast<double>(spec.activation), static_cast<double>(plain.activation));
  add("attention_scale", spec.attention_scale, plain.attention_scale);
  add("embedding_multiplier", spec.embedding_multiplier, plain.embedding_multiplier);
  add("embedding_multiplier_rounds", spec.embedding_multiplier_rounds, 0);
  add("padding_token", static_cast<double>(spec.padding_token), -1);
  add("residual_multiplier", spec.residual_multiplier, plain.residual_multiplier);
  add("logit_multiplier", spec.logit_multiplier, plain.logit_multiplier);
  const RopeSpec& first = spec.ropes.front();
  const bool plain_ropes = spec.ropes.size() == 1 && first.rotary_dim == 0 &&
                           first.query_scale_beta == 0 && first.short_factors.empty() &&
                           first.long_factors.empty();
  if (!plain_ropes) {
    print.Add("ropes");
    for (const RopeSpec& rope : spec.ropes) AddRope(rope, print);
  }
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    if (spec.layers[i].rope == 0) continue;
    print.Add("rope of layer");
    print.AddNumber(static_cast<int64_t>(i));
    print.AddNumber(spec.layers[i].rope);
  }
}

}  // namespace

std::string FingerprintOf(const ModelSpec& spec) {
  Fingerprint print;
  print.Add(spec.family);
  for (const int64_t size : {spec.hidden, spec.intermediate, spec.heads, spec.kv_heads,
                             spec.head_dim, spec.vocab, spec.max_positions, spec.experts.experts,
                             spec.experts.experts_per_token, spec.experts.intermediate}) {
    print.AddNumber(size);
  }
  const RopeSpec& rope = spec.ropes.front();
  for (const bool flag : {spec.tied, spec.qkv_bias, spec.output_bias, spec.mlp_bias,
                          spec.expert_bias, spec.qk_norm != QkNorm::kNone, spec.attention_sinks,
                          spec.experts.normalise_top_k, rope.truncate}) {
    print.AddNumber(flag);
  }
  print.Add(ToString(rope.kind));
  for (const double number :
       {spec.norm_epsilon, spec.swiglu_limit, spec.swiglu_alpha, rope.theta, rope.factor,
        rope.low_frequency_factor, rope.high_frequency_factor,
        static_cast<double>(rope.original_max_positions), rope.beta_fast, rope.beta_slow,
        rope.attention_factor, rope.mscale, rope.mscale_all_dim}) {
    print.AddNumber(number);
  }
  for (const LayerSpec& layer : spec.layers) {
    print.AddNumber(layer.sliding_window);
    print.AddNumber(layer.has_experts);
  }
  AddOptions(spec, print);
  return absl::StrFormat("%016x", print.value());
}

void NameModel(const ModelSpec& spec, StreamPlan& plan) {
  plan.model = spec.name;
  plan.model_fingerprint = FingerprintOf(spec);
}

absl::Status ValidatePlan(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan) {
  RecordChecker ranges;
  VisitFields(plan, ranges);
  RETURN_IF_ERROR(ranges.status());
  if (!plan.model_fingerprint.empty() && plan.model_fingerprint != FingerprintOf(spec)) {
    return Refuse(StrCat("the plan is for model '", plan.model, "' (fingerprint ",
                         plan.model_fingerprint, "), not for '", spec.name, "' (fingerprint ",
                         FingerprintOf(spec), "): make a plan for this model"));
  }
  if (plan.model_fingerprint.empty() && !plan.model.empty() && plan.model != spec.name) {
    return Refuse(StrCat("the plan is for model '", plan.model, "', not for '", spec.name,
                         "': make a plan for this model"));
  }
  if (plan.loss_chunk_tokens < job.micro_batch_tokens() &&
      plan.loss_chunk_tokens % kLossTile != 0) {
    return Refuse(StrCat("loss_chunk_tokens ", plan.loss_chunk_tokens, " must be a multiple of ",
                         kLossTile, ", or at least the ", job.micro_batch_tokens(),
                         " tokens of a micro-batch"));
  }
  return ValidateStrategy(job, plan);
}

absl::StatusOr<StreamPlan> ReadPlan(const Document& document) {
  StreamPlan plan;
  ObjectReader reader(document, document.root);
  EitherSpellingReader visit(reader);
  VisitFields(plan, visit);
  RETURN_IF_ERROR(reader.Finish());
  return plan;
}

void WritePlan(const StreamPlan& plan, JsonWriter& writer) {
  writer.BeginObject();
  RecordWriter visit(writer);
  VisitFields(plan, visit);
  writer.EndObject();
}

std::string WritePlan(const StreamPlan& plan) {
  JsonWriter writer;
  WritePlan(plan, writer);
  return std::move(writer).Finish();
}

std::string PlanFieldTable() {
  const StreamPlan plan;
  RecordTable visit;
  VisitFields(plan, visit);
  return visit.text();
}

}  // namespace horizon
