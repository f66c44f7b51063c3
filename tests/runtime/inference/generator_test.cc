// Generation with a cache gives what computing the whole text again for every token gives, in any
// batch, and the same bits under every plan.
#include "runtime/inference/generator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/documents/json.h"
#include "common/failure_source.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/device/host_device.h"
#include "tests/runtime/support/small_training.h"

namespace horizon {
namespace {

using Prompts = std::vector<std::vector<int32_t>>;

// A generator with a device of exactly the memory it says it takes.
struct Made {
  RealClock clock;
  std::unique_ptr<HostDevice> device;
  std::unique_ptr<Generator> generator;

  Made(const ModelSpec& spec, const GenerationSetup& setup, const ParameterStore::Source& source) {
    const absl::StatusOr<InferenceBytes> bytes = GenerationBytes(spec, setup);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    device = *HostDevice::Create({.capacity = bytes->device, .clock = &clock});
    auto made = Generator::Create(spec, setup,
                                  {.device = *device, .kernels = HostKernels(), .clock = clock});
    EXPECT_TRUE(made.ok()) << made.status();
    generator = *std::move(made);
    EXPECT_TRUE(generator->store().Fill(source).ok());
  }
};

struct Outcome {
  std::vector<Answer> answers;
  std::vector<std::vector<std::vector<float>>> logits;  // by text and token
};

Outcome Generate(Generator& generator, const Prompts& prompts, const GenerateOptions& options) {
  Outcome outcome;
  outcome.logits.resize(prompts.size());
  absl::StatusOr<std::vector<Answer>> answers =
      generator.Generate(prompts, options, {}, [&](size_t text, std::span<const float> logits) {
        outcome.logits[text].emplace_back(logits.begin(), logits.end());
      });
  EXPECT_TRUE(answers.ok()) << answers.status();
  if (answers.ok()) outcome.answers = *std::move(answers);
  return outcome;
}

// Prompts of one token, of many, and between.
Prompts MakePrompts(const ModelSpec& spec, std::initializer_list<int> lengths) {
  Prompts prompts;
  uint64_t state = 88172645463325252;
  for (const int length : lengths) {
    prompts.emplace_back();
    for (int i = 0; i < length; ++i) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      prompts.back().push_back(static_cast<int32_t>(state % static_cast<uint64_t>(spec.vocab)));
    }
  }
  return prompts;
}

double Largest(const std::vector<float>& values) {
  double largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(double{value}));
  return largest;
}

// Every answer token by token: the whole text so far as a prompt, alone.
void ExpectLikeRecomputing(const ModelSpec& spec, const GenerationSetup& setup,
                           const ParameterStore::Source& source, const Prompts& prompts,
                           int64_t tokens) {
  Made cached(spec, setup, source);
  const Outcome outcome = Generate(*cached.generator, prompts, {.max_tokens = tokens});
  GenerationSetup alone = setup;
  alone.batch = 1;
  alone.longest_prompt = setup.capacity - 1;
  alone.plan = {};
  Made whole(spec, alone, source);
  for (size_t i = 0; i < prompts.size(); ++i) {
    std::vector<int32_t> text = prompts[i];
    ASSERT_EQ(outcome.answers[i].ids.size(), static_cast<size_t>(tokens));
    for (size_t t = 0; t < outcome.answers[i].ids.size(); ++t) {
      const Outcome one = Generate(*whole.generator, {text}, {.max_tokens = 1});
      const std::vector<float>& expected = one.logits[0][0];
      // fp32 throughout, the same terms in another order. A stage adds to the hidden state what has
      // about 2 sqrt(terms) roundings of half an epsilon of its size, terms being the longest of
      // its sums; errors of the stages add up, and 4 is for luck.
      const auto terms = static_cast<double>(std::max(spec.intermediate, spec.hidden));
      const double stages = 2.0 * static_cast<double>(spec.layers.size()) + 2;
      const double tolerance = 4 * 0x1p-24 * 2 * std::sqrt(terms) * stages * Largest(expected);
      for (size_t v = 0; v < expected.size(); ++v) {
        ASSERT_NEAR(outcome.logits[i][t][v], expected[v], tolerance)
            << "text " << i << ", token " << t << ", logit " << v;
      }
      ASSERT_EQ(outcome.answers[i].ids[t], one.answers[0].ids[0])
          << "text " << i << ", token " << t;
      text.push_back(outcome.answers[i].ids[t]);
    }
  }
}

class GeneratorOfGolden : public testing::TestWithParam<std::string> {};

TEST_P(GeneratorOfGolden, GreedyTextIsThatOfComputingAllOfItAgain) {
  const Golden golden = LoadGolden(GetParam());
  for (const NumberType compute : {NumberType::kFp32, NumberType::kBf16}) {
    const GenerationSetup setup{
        .compute_type = compute, .batch = 4, .capacity = 60, .longest_prompt = 37};
    ExpectLikeRecomputing(golden.spec, setup, SourceOf(golden),
                          MakePrompts(golden.spec, {1, 37, 16, 5}), 12);
  }
}

std::vector<int32_t> Ids(const Value& list) {
  std::vector<int32_t> ids;
  for (const Value& id : *list.As<Value::Array>()) {
    ids.push_back(static_cast<int32_t>(*id.As<int64_t>()));
  }
  return ids;
}

// What transformers decodes greedily, computing the whole text for every token.
TEST_P(GeneratorOfGolden, GreedyTextIsThatOfTransformers) {
  const Golden golden = LoadGolden(GetParam());
  const std::unique_ptr<Io> io = MakePosixIo();
  const absl::StatusOr<std::string> text =
      ReadTextFile(*io, StrCat("tests/goldens/", GetParam(), "/generated.json"));
  ASSERT_TRUE(text.ok()) << text.status();
  const absl::StatusOr<Document> document = ParseJson("generated.json", *text);
  ASSERT_TRUE(document.ok()) << document.status();
  const Value::Array& prompts = *document->root.Find("prompts")->As<Value::Array>();
  const Value::Array& tokens = *document->root.Find("tokens")->As<Value::Array>();
  const int64_t new_tokens = *document->root.Find("new_tokens")->As<int64_t>();
  ASSERT_EQ(prompts.size(), 2u);
  for (size_t i = 0; i < prompts.size(); ++i) {
    const std::vector<int32_t> prompt = Ids(prompts[i]);
    const auto length = static_cast<int64_t>(prompt.size());
    const Made made(golden.spec,
                    {.compute_type = NumberType::kFp32,
                     .batch = 1,
                     .capacity = length + new_tokens,
                     .longest_prompt = length},
                    SourceOf(golden));
    const Outcome outcome = Generate(*made.generator, {prompt}, {.max_tokens = new_tokens});
    ASSERT_EQ(outcome.answers.size(), 1u);
    EXPECT_EQ(outcome.answers[0].ids, Ids(tokens[i])) << "prompt " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GeneratorOfGolden, testing::ValuesIn(AllGoldens()),
                         [](const auto& family) { return family.param; });

ModelSpec Model() {
  ModelSpec spec = TinyLlama();
  spec.vocab = 1100;
  // Attention and feed-forward have more than 7,000 parameters, which some plans cut.
  spec.heads = spec.kv_heads = 26;
  spec.intermediate = 220;
  spec.max_positions = 256;
  spec.layers.resize(5);
  return spec;
}

// Layers with and without a window; prompts and answers that stay below it, pass it, go round.
TEST(Generator, WindowsShorterAndLongerThanTheText) {
  for (const int64_t window : {1, 7, 16, 30, 200}) {
    SCOPED_TRACE(window);
    ModelSpec spec = Model();
    for (size_t i = 0; i < spec.layers.size(); i += 2) {
      spec.layers[i].sliding_window = window;
    }
    GenerationSetup setup{
        .compute_type = NumberType::kFp32, .batch = 3, .capacity = 64, .longest_prompt = 40};
    setup.plan.anchor_interval = 3;  // layers of both kinds in a chunk
    ExpectLikeRecomputing(spec, setup, RandomSource(spec, 3), MakePrompts(spec, {40, 3, 20}), 20);
  }
}

// A sink of another size for each head, as after training; the heads of a group share their keys.
TEST(Generator, SinksOfPromptsAndOfCachedTokens) {
  ModelSpec spec = Model();
  spec.attention_sinks = true;
  spec.kv_heads = spec.heads / 2;
  spec.layers[1].sliding_window = 10;
  const ParameterStore::Source random = RandomSource(spec, 3);
  const ParameterStore::Source source = [&](const TensorSpec& tensor, uint64_t first,
                                            std::span<float> into) {
    absl::Status status = random(tensor, first, into);
    if (tensor.role == TensorRole::kSinks) {
      for (float& sink : into) sink *= 100;
    }
    return status;
  };
  const GenerationSetup setup{
      .compute_type = NumberType::kFp32, .batch = 3, .capacity = 64, .longest_prompt = 40};
  ExpectLikeRecomputing(spec, setup, source, MakePrompts(spec, {40, 3, 20}), 12);
}

std::vector<std::pair<std::string, StreamPlan>> Plans(NumberType compute) {
  std::vector<std::pair<std::string, StreamPlan>> plans;
  StreamPlan plan;
  plan.strategy = Strategy::kResident;
  plan.embedding_home = EmbeddingHome::kDevice;
  plan.recompute = false;
  plans.emplace_back("resident", plan);
  plan.compute_threads = 3;
  plans.emplace_back("resident, three threads", plan);
  plans.emplace_back("streamed", StreamPlan{});
  plan = {};
  plan.chunk_bytes = 7'000 * BytesOfParameter({.compute_type = compute}).link;
  plan.embedding_home = EmbeddingHome::kStreamed;
  plans.emplace_back("stages in shards", plan);
  plan.buffer_depth = 1;
  plan.compute_threads = 2;
  plans.emplace_back("one slot", plan);
  plan.resident_chunks = 3;
  plan.buffer_depth = 2;
  plans.emplace_back("three resident chunks", plan);
  plan = {};
  plan.strategy = Strategy::kReference;
  plan.embedding_home = EmbeddingHome::kDevice;
  plans.emplace_back("reference", plan);
  return plans;
}

TEST(Generator, EveryPlanGivesTheSameBits) {
  for (const bool tied : {false, true}) {
    ModelSpec spec = Model();
    spec.tied = spec.attention_sinks = tied;
    spec.layers[1].sliding_window = 10;
    for (const NumberType compute : {NumberType::kFp32, NumberType::kBf16}) {
      Outcome expected;
      for (const auto& [name, plan] : Plans(compute)) {
        SCOPED_TRACE(name);
        const GenerationSetup setup{.compute_type = compute,
                                    .batch = tied ? 9 : 2,  // few rows, and more
                                    .capacity = 50,
                                    .longest_prompt = 30,
                                    .plan = plan};
        Made made(spec, setup, RandomSource(spec, 3));
        const GenerateOptions options{.max_tokens = 8,
                                      .sampling = {.temperature = 1, .top_p = 0.9, .seed = 5}};
        const Outcome outcome = Generate(*made.generator, MakePrompts(spec, {30, 9}), options);
        const ChunkTable& chunks = made.generator->decode_schedule().chunks;
        EXPECT_EQ(chunks.head.size() > 1, plan.chunk_bytes < 1_MiB);
        if (expected.logits.empty()) expected = outcome;
        EXPECT_EQ(outcome.logits, expected.logits);
        // Again with the same generator: nothing is left of the first time.
        const Outcome again = Generate(*made.generator, MakePrompts(spec, {30, 9}), options);
        EXPECT_EQ(again.logits, expected.logits);
      }
    }
  }
}

// Up to 8 rows, where a row's sums do not depend on the others.
TEST(Generator, ATextDoesNotDependOnTheTextsBesideIt) {
  const ModelSpec spec = Model();
  const Prompts prompts = MakePrompts(spec, {30, 1, 17, 8, 29});
  GenerationSetup setup{.batch = 5, .capacity = 50, .longest_prompt = 30};
  const GenerateOptions options{.max_tokens = 10, .sampling = {.temperature = 2, .seed = 9}};
  Made together(spec, setup, RandomSource(spec, 3));
  const Outcome all = Generate(*together.generator, prompts, options);
  setup.batch = 2;
  Made pair(spec, setup, RandomSource(spec, 3));
  for (size_t i = 0; i < prompts.size(); ++i) {
    GenerateOptions one = options;
    one.first_text = i;
    const Outcome alone = Generate(*pair.generator, {prompts[i]}, one);
    EXPECT_EQ(alone.answers[0].ids, all.answers[i].ids) << i;
  }
}

TEST(Generator, AnswersEndForTheRightReason) {
  const ModelSpec spec = Model();
  const GenerationSetup setup{.batch = 2, .capacity = 20, .longest_prompt = 12};
  Made made(spec, setup, RandomSource(spec, 3));
  const Prompts prompts = MakePrompts(spec, {12, 5});
  const Outcome full = Generate(*made.generator, prompts, {.max_tokens = 100});
  EXPECT_EQ(full.answers[0].reason, FinishReason::kContextFull);
  EXPECT_EQ(full.answers[0].ids.size(), 8u);
  EXPECT_EQ(full.answers[1].ids.size(), 15u);
  EXPECT_EQ(made.generator->times().prompt_tokens, 17);
  EXPECT_EQ(made.generator->times().answer_tokens, 21);

  const Outcome three = Generate(*made.generator, prompts, {.max_tokens = 3});
  EXPECT_EQ(three.answers[1].reason, FinishReason::kMaxTokens);
  EXPECT_EQ(three.answers[1].ids.size(), 3u);
  EXPECT_TRUE(std::equal(three.answers[1].ids.begin(), three.answers[1].ids.end(),
                         full.answers[1].ids.begin()));

  // The end token of one text is not the other's end, and is in no answer.
  const int32_t end = full.answers[0].ids[4];
  const auto first = [&](size_t text) {
    const std::vector<int32_t>& ids = full.answers[text].ids;
    return static_cast<size_t>(std::find(ids.begin(), ids.end(), end) - ids.begin());
  };
  const Outcome ended =
      Generate(*made.generator, prompts, {.max_tokens = 100, .end_ids = {-1, end}});
  EXPECT_EQ(ended.answers[0].reason, FinishReason::kEndToken);
  EXPECT_EQ(ended.answers[0].ids.size(), first(0));
  EXPECT_EQ(ended.answers[1].ids.size(), first(1));

  EXPECT_TRUE(Generate(*made.generator, prompts, {.max_tokens = 0}).answers[0].ids.empty());
  EXPECT_TRUE(Generate(*made.generator, {}, {}).answers.empty());
  EXPECT_EQ(Generate(*made.generator, prompts, {.max_tokens = 1}).answers[1].ids.size(), 1u);

  std::vector<std::pair<size_t, int32_t>> heard;
  const auto stopped =
      made.generator->Generate(prompts, {.max_tokens = 9}, [&](size_t text, int32_t id) {
        heard.emplace_back(text, id);
        return text == 1 || heard.size() < 4;
      });
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ((*stopped)[0].reason, FinishReason::kStopped);
  EXPECT_EQ((*stopped)[0].ids.size(), 3u);
  EXPECT_EQ((*stopped)[1].ids.size(), 9u);
  EXPECT_EQ(heard.size(), 12u);
  EXPECT_EQ(ToString(FinishReason::kContextFull), "context_full");
}

TEST(Generator, BadRequestsAreRefused) {
  const ModelSpec spec = Model();
  const GenerationSetup setup{.batch = 1, .capacity = 20, .longest_prompt = 12};
  Made made(spec, setup, RandomSource(spec, 3));
  const auto status = [&](const Prompts& prompts, const GenerateOptions& options = {}) {
    return made.generator->Generate(prompts, options).status();
  };
  EXPECT_TRUE(absl::IsInvalidArgument(status({{}})));
  EXPECT_TRUE(absl::IsInvalidArgument(status(MakePrompts(spec, {13}))));
  EXPECT_TRUE(absl::IsInvalidArgument(status({{-1}})));
  EXPECT_TRUE(absl::IsInvalidArgument(status({{1100}})));
  EXPECT_TRUE(absl::IsInvalidArgument(status({{1}}, {.max_tokens = -1})));
  EXPECT_TRUE(absl::IsInvalidArgument(status({{1}}, {.sampling = {.top_p = 0}})));
  EXPECT_TRUE(status({{1}}).ok());
  for (const auto& [batch, capacity, longest] :
       {std::tuple<int64_t, int64_t, int64_t>{0, 20, 12},
        {1, 1, 1},
        {1, 20, 0},
        {1, 20, 20},
        {1, 257, 12}}) {  // one more than the model has positions
    EXPECT_TRUE(absl::IsInvalidArgument(
        GenerationBytes(spec, {.batch = batch, .capacity = capacity, .longest_prompt = longest})
            .status()))
        << capacity;
  }
}

// What GenerationBytes says is enough (Made has no more) and not more than is used.
TEST(Generator, ADeviceThatIsTooSmallIsRefused) {
  const ModelSpec spec = Model();
  const GenerationSetup setup{.batch = 1, .capacity = 200, .longest_prompt = 150};
  RealClock clock;
  const auto device = *HostDevice::Create(
      {.capacity = GenerationBytes(spec, setup)->device - 4096_B, .clock = &clock});
  const auto made =
      Generator::Create(spec, setup, {.device = *device, .kernels = HostKernels(), .clock = clock});
  EXPECT_TRUE(absl::IsResourceExhausted(made.status())) << made.status();
}

TEST(Generator, WeightsThatGiveNoNumbersAreAFailureOfNumerics) {
  const ModelSpec spec = Model();
  const GenerationSetup setup{.batch = 1, .capacity = 20, .longest_prompt = 12};
  // The last norm and the head together pass the largest number.
  Made made(spec, setup, [](const TensorSpec& tensor, uint64_t, std::span<float> into) {
    const bool last = tensor.name == "model.norm.weight" || tensor.name == "lm_head.weight";
    std::fill(into.begin(), into.end(), last ? 1e30f : 0.5f);
    return absl::OkStatus();
  });
  const absl::Status status = made.generator->Generate(MakePrompts(spec, {3}), {}).status();
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_EQ(FailureSourceOf(status), FailureSource::kNumerics);
}

}  // namespace
}  // namespace horizon
