// Each stage of a layer by itself, forward and backward: as PyTorch computes it, as finite
// differences say, in shards as in one call, and within the memory that was laid out.
#include "runtime/execution/layer_template.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/embedding/embedding.h"
#include "model/files/safetensors_reader.h"
#include "model/stages.h"
#include "runtime/execution/fill_rotary_tables.h"
#include "runtime/execution/stage_arrays.h"
#include "tests/kernels/support/kernel_lane.h"
#include "tests/runtime/support/block_models.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {
namespace {

using Floats = std::vector<float>;

constexpr std::byte kPoison{0xFF};  // NaN as fp32

// One stage on one micro-batch, in memory of exactly the sizes that were laid out; all of it is NaN
// before a pass writes it.
class StageRun {
 public:
  StageRun(const ModelSpec& spec, const Stage& stage, int64_t batch, int64_t sequence,
           const StageOptions& options = {})
      : spec_(spec),
        stage_(stage),
        batch_(batch),
        sequence_(sequence),
        templates_(spec, batch * sequence, ValueType::kFp32, options),
        tables_(RotaryTables(spec, sequence)),
        records_(static_cast<size_t>(batch * sequence)) {
    for (size_t i = 0; i < records_.size(); ++i) {
      records_[i].position = static_cast<int32_t>(i % static_cast<size_t>(sequence));
    }
    const StageTemplate& layout = templates_.Of(stage.kind);
    // Behind the activations a stage in shards has the weights of its norm.
    kept_.assign((layout.kept_bytes() + 4_B * spec.hidden).value(), kPoison);
    uint64_t workspace = 0;
    for (const ScratchPass pass :
         {ScratchPass::kForward, ScratchPass::kKeepingForward, ScratchPass::kBackward}) {
      workspace = std::max(workspace, layout.ScratchOfPass(pass).bytes().value());
    }
    workspace_.assign(workspace, kPoison);
  }

  int64_t values() const { return batch_ * sequence_ * spec_.hidden; }
  std::vector<UnitRange> Whole() const { return {{0, stage_.units}}; }
  std::vector<UnitRange> OneByOne() const {
    std::vector<UnitRange> ranges;
    for (int64_t unit = 0; unit < stage_.units; ++unit) ranges.push_back({unit, unit + 1});
    return ranges;
  }

  enum class Keeps { kNothing, kAll, kAllWithoutOutput };
  absl::StatusOr<Floats> Forward(const Floats& weights, const Floats& input,
                                 const std::vector<UnitRange>& shards, Keeps keeps) {
    std::fill(workspace_.begin(), workspace_.end(), kPoison);
    if (keeps != Keeps::kNothing) std::fill(kept_.begin(), kept_.end(), kPoison);
    Floats output(static_cast<size_t>(values()), std::nanf(""));
    const KernelContext context = lane_.context();
    for (const UnitRange units : shards) {
      absl::Status status = RunStageForward(
          Shapes(),
          {.stage = stage_,
           .units = units,
           .weights = weights.data() + ParametersInUnits(stage_, {0, units.begin}),
           .input = input.data(),
           .output = keeps == Keeps::kAllWithoutOutput ? Values() : Values(output.data()),
           .kept = keeps == Keeps::kNothing ? std::span<std::byte>() : std::span(kept_),
           .workspace = workspace_},
          context);
      if (!status.ok()) return status;
    }
    return output;
  }

  struct Gradients {
    Floats input;
    Floats weights;
  };
  absl::StatusOr<Gradients> Backward(const Floats& weights, const Floats& output_gradient,
                                     std::vector<UnitRange> shards) {
    std::fill(workspace_.begin(), workspace_.end(), kPoison);
    Gradients gradients{Floats(static_cast<size_t>(values()), std::nanf("")),
                        Floats(stage_.parameters, std::nanf(""))};
    const KernelContext context = lane_.context();
    std::reverse(shards.begin(), shards.end());
    for (const UnitRange units : shards) {
      const auto begin = static_cast<int64_t>(ParametersInUnits(stage_, {0, units.begin}));
      absl::Status status = RunStageBackward(Shapes(),
                                             {.stage = stage_,
                                              .units = units,
                                              .weights = weights.data() + begin,
                                              .kept = kept_,
                                              .output_gradient = output_gradient.data(),
                                              .input_gradient = gradients.input.data(),
                                              .gradient = {.sum = gradients.weights.data() + begin},
                                              .workspace = workspace_},
                                             context);
      if (!status.ok()) return status;
    }
    return gradients;
  }

  const std::vector<std::byte>& kept() const { return kept_; }
  std::vector<std::byte>& workspace() { return workspace_; }
  std::vector<std::byte>& kept() { return kept_; }

 private:
  LayerShapes Shapes() const {
    return {.spec = spec_,
            .templates = templates_,
            .batch = batch_,
            .sequence = sequence_,
            .records = records_.data(),
            .rotary_tables = tables_.data(),
            .positions = sequence_,
            .kernels = HostKernels()};
  }

  const ModelSpec& spec_;
  const Stage& stage_;
  const int64_t batch_;
  const int64_t sequence_;
  const StageTemplates templates_;
  const Floats tables_;
  std::vector<TokenRecord> records_;
  std::vector<std::byte> kept_;
  std::vector<std::byte> workspace_;
  KernelLane lane_{2};
};

float Largest(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// fp32 throughout, the same terms in another order: about 2 sqrt(terms) roundings of half an
// epsilon of the largest value, from each of the some ten arrays that lead there; 4 is for luck.
void ExpectNear(std::span<const float> got, std::span<const float> wanted, int64_t terms,
                const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  const double tolerance =
      4 * 0x1p-24 * 2 * std::sqrt(static_cast<double>(terms)) * 10 * Largest(wanted);
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(double{got[i]} - double{wanted[i]});
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  EXPECT_LE(worst, tolerance) << what << ", largest " << Largest(wanted);
}

class StageGoldens {
 public:
  explicit StageGoldens(const std::string& family) : io_(MakePosixIo()) {
    auto reader =
        SafetensorsReader::Open(*io_, StrCat("tests/goldens/", family, "/stages.safetensors"));
    CHECK(reader.ok());
    reader_ = std::make_unique<SafetensorsReader>(*std::move(reader));
  }
  bool Has(const std::string& name) const { return Find(name) != nullptr; }
  Floats Read(const std::string& name) const {
    const TensorEntry* entry = Find(name);
    EXPECT_NE(entry, nullptr) << name;
    if (entry == nullptr) return {};
    Floats values((entry->end - entry->begin) / 4);
    EXPECT_TRUE(reader_->ReadTensor(name, std::as_writable_bytes(std::span(values))).ok());
    return values;
  }

 private:
  const TensorEntry* Find(const std::string& name) const {
    for (const TensorEntry& entry : reader_->header().tensors()) {
      if (entry.name == name) return &entry;
    }
    return nullptr;
  }
  std::unique_ptr<Io> io_;
  std::unique_ptr<SafetensorsReader> reader_;
};

std::vector<std::string> FamiliesWithStages() {
  std::vector<std::string> families = AllGoldens();
  std::erase_if(families, [](const std::string& name) { return name.ends_with("_wrapper"); });
  return families;
}

// Calls visit(tensor, first, count) for the parts of a stage's tensors in the order in which a
// chunk has them: each expert has its part of every tensor that all experts share.
template <typename Visit>
void ForEachPart(const Stage& stage, Visit visit) {
  const auto units = static_cast<uint64_t>(stage.units);
  for (int64_t unit = 0; unit < stage.units; ++unit) {
    for (const TensorSpec& tensor : stage.tensors) {
      if (tensor.split_axis >= 0) {
        const uint64_t each = tensor.parameters / units;
        visit(tensor, each * static_cast<uint64_t>(unit), each);
      } else if (tensor.unit == unit) {
        visit(tensor, uint64_t{0}, tensor.parameters);
      }
    }
  }
}

Floats WeightsOf(const Golden& golden, const Stage& stage) {
  Floats weights;
  ForEachPart(stage, [&](const TensorSpec& tensor, uint64_t first, uint64_t count) {
    const auto begin = golden.tensors.at(tensor.name).begin() + static_cast<int64_t>(first);
    weights.insert(weights.end(), begin, begin + static_cast<int64_t>(count));
  });
  return weights;
}

class LayerTemplateOfGolden : public testing::TestWithParam<std::string> {
 protected:
  void ExpectPyTorch(const StageOptions& options) const;
};

TEST_P(LayerTemplateOfGolden, ForwardAndBackwardOfEachStageAreThoseOfPyTorch) { ExpectPyTorch({}); }

// 48 tokens: six pieces of 7 and a tail of 6.
TEST_P(LayerTemplateOfGolden, SeveralPiecesAreThoseOfPyTorch) {
  for (const bool keeps : {true, false}) {
    ExpectPyTorch({.piece_tokens = 7, .keep_feed_forward = keeps});
  }
}

void LayerTemplateOfGolden::ExpectPyTorch(const StageOptions& options) const {
  const Golden golden = LoadGolden(GetParam());
  const StageGoldens goldens(GetParam());
  constexpr int64_t kBatch = 2;
  constexpr int64_t kSequence = 24;
  int stages_checked = 0;
  for (const Stage& stage : ListStages(golden.spec)) {
    const std::string prefix = stage.layer < 0
                                   ? StrCat(stage.name, ".")
                                   : StrCat("layers.", stage.layer, ".", ToString(stage.kind), ".");
    if (!goldens.Has(prefix + "input")) continue;
    ++stages_checked;
    const int64_t terms = std::max({golden.spec.hidden, golden.spec.intermediate,
                                    2 * golden.spec.experts.intermediate, kBatch * kSequence});
    StageRun run(golden.spec, stage, kBatch, kSequence, options);
    const Floats weights = WeightsOf(golden, stage);
    const auto output =
        run.Forward(weights, goldens.Read(prefix + "input"), run.Whole(), StageRun::Keeps::kAll);
    ASSERT_TRUE(output.ok()) << output.status();
    ExpectNear(*output, goldens.Read(prefix + "output"), terms, prefix + "output");
    const auto gradients =
        run.Backward(weights, goldens.Read(prefix + "output_gradient"), run.Whole());
    ASSERT_TRUE(gradients.ok()) << gradients.status();
    ExpectNear(gradients->input, goldens.Read(prefix + "input_gradient"), terms,
               prefix + "input_gradient");
    uint64_t begin = 0;
    ForEachPart(stage, [&](const TensorSpec& tensor, uint64_t first, uint64_t count) {
      const std::string name = golden.disk_names.at(tensor.name);
      const Floats all = goldens.Read(StrCat(prefix, "gradient.", name));
      const uint64_t before = tensor.fused.has_value() ? tensor.fused->first : 0;
      const auto wanted = all.begin() + static_cast<int64_t>(before + first);
      ExpectNear(std::span(gradients->weights).subspan(begin, count),
                 {wanted, wanted + static_cast<int64_t>(count)}, terms, prefix + tensor.name);
      begin += count;
    });
  }
  EXPECT_GE(stages_checked, 3) << "attention, feed-forward and final norm at least";
}

INSTANTIATE_TEST_SUITE_P(Families, LayerTemplateOfGolden, testing::ValuesIn(FamiliesWithStages()),
                         [](const auto& family) { return family.param; });

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  Floats Draw(uint64_t count, double deviation) {
    std::normal_distribution<float> normal(0.0F, static_cast<float>(deviation));
    Floats values(count);
    for (float& value : values) value = normal(engine_);
    return values;
  }

 private:
  std::mt19937 engine_;
};

// Norms around one (or zero, where one is added), everything else small.
Floats RandomWeights(const ModelSpec& spec, const Stage& stage, Random& random) {
  Floats weights;
  ForEachPart(stage, [&](const TensorSpec& tensor, uint64_t, uint64_t count) {
    const bool norm = tensor.role == TensorRole::kNorm || tensor.role == TensorRole::kNormAfter ||
                      tensor.role == TensorRole::kQueryNorm || tensor.role == TensorRole::kKeyNorm;
    Floats values = random.Draw(count, norm ? 0.2 : 0.4);
    if (norm && !spec.norm_adds_one) {
      for (float& value : values) value += 1;
    }
    weights.insert(weights.end(), values.begin(), values.end());
  });
  return weights;
}

class LayerTemplateOfBlocks : public testing::TestWithParam<BlockModel> {
 protected:
  static constexpr int64_t kBatch = 2;
  static constexpr int64_t kSequence = 9;
  const ModelSpec& spec() const { return GetParam().spec; }
  std::vector<Stage> StagesWithTemplates() const {
    std::vector<Stage> stages = ListStages(spec());
    std::erase_if(stages, [](const Stage& stage) {
      return stage.kind == StageKind::kEmbedding || stage.kind == StageKind::kHead;
    });
    return stages;
  }
};

double Dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

Floats Moved(const Floats& from, const Floats& direction, float step) {
  Floats moved = from;
  for (size_t i = 0; i < moved.size(); ++i) moved[i] += step * direction[i];
  return moved;
}

// The derivative along a random direction of the input, and of each tensor, is what the gradients
// say. Steps of 2^-7: the square of that times a third derivative of order one, beside the noise of
// fp32 divided by it, leaves three digits.
TEST_P(LayerTemplateOfBlocks, GradientsAreThoseOfFiniteDifferences) {
  constexpr float kStep = 0x1p-7F;
  Random random(7);
  ModelSpec smooth = spec();
  // Where a value is clamped its slope changes at once (gpt_oss_clamped has PyTorch's gradients).
  if (smooth.swiglu_limit > 0) smooth.swiglu_limit = 100;
  for (const Stage& stage : StagesWithTemplates()) {
    StageRun run(smooth, stage, kBatch, kSequence);
    const Floats weights = RandomWeights(smooth, stage, random);
    const Floats input = random.Draw(static_cast<uint64_t>(run.values()), 1.0);
    const Floats output_gradient = random.Draw(static_cast<uint64_t>(run.values()), 1.0);
    const auto value = [&](const Floats& at_weights, const Floats& at_input) {
      const auto output = run.Forward(at_weights, at_input, run.Whole(), StageRun::Keeps::kNothing);
      EXPECT_TRUE(output.ok()) << output.status();
      return Dot(*output, output_gradient);
    };
    ASSERT_TRUE(run.Forward(weights, input, run.Whole(), StageRun::Keeps::kAll).ok());
    const auto gradients = run.Backward(weights, output_gradient, run.Whole());
    ASSERT_TRUE(gradients.ok()) << gradients.status();
    const auto expect_slope = [&](double slope, std::span<const float> gradient,
                                  std::span<const float> direction, const std::string& what) {
      const double scale = std::sqrt(Dot(gradient, gradient) * Dot(direction, direction)) + 1e-3;
      EXPECT_NEAR(slope, Dot(gradient, direction), 5e-3 * scale) << stage.name << ", " << what;
    };
    const Floats of_input = random.Draw(input.size(), 0.3);
    expect_slope((value(weights, Moved(input, of_input, kStep)) -
                  value(weights, Moved(input, of_input, -kStep))) /
                     (2 * double{kStep}),
                 gradients->input, of_input, "input");
    uint64_t begin = 0;
    ForEachPart(stage, [&](const TensorSpec& tensor, uint64_t, uint64_t count) {
      Floats direction(weights.size());
      const Floats drawn = random.Draw(count, 0.3);
      std::copy(drawn.begin(), drawn.end(), direction.begin() + static_cast<int64_t>(begin));
      expect_slope((value(Moved(weights, direction, kStep), input) -
                    value(Moved(weights, direction, -kStep), input)) /
                       (2 * double{kStep}),
                   std::span(gradients->weights).subspan(begin, count), drawn, tensor.name);
      begin += count;
    });
  }
}

TEST_P(LayerTemplateOfBlocks, ShardsDoWhatOneCallDoes) {
  Random random(11);
  for (const Stage& stage : StagesWithTemplates()) {
    StageRun whole(spec(), stage, kBatch, kSequence);
    StageRun shards(spec(), stage, kBatch, kSequence);
    const Floats weights = RandomWeights(spec(), stage, random);
    const Floats input = random.Draw(static_cast<uint64_t>(whole.values()), 1.0);
    const Floats output_gradient = random.Draw(static_cast<uint64_t>(whole.values()), 1.0);
    for (const StageRun::Keeps keeps : {StageRun::Keeps::kNothing, StageRun::Keeps::kAll}) {
      const auto one = whole.Forward(weights, input, whole.Whole(), keeps);
      const auto many = shards.Forward(weights, input, shards.OneByOne(), keeps);
      ASSERT_TRUE(one.ok() && many.ok()) << one.status() << many.status();
      EXPECT_EQ(*many, *one) << stage.name;
    }
    const auto one = whole.Backward(weights, output_gradient, whole.Whole());
    const auto many = shards.Backward(weights, output_gradient, shards.OneByOne());
    ASSERT_TRUE(one.ok() && many.ok()) << one.status() << many.status();
    EXPECT_EQ(many->input, one->input) << stage.name;
    EXPECT_EQ(many->weights, one->weights) << stage.name;
  }
}

// The bits of a run.
struct StageBits {
  Floats output, input_gradient, weight_gradients;
  friend bool operator==(const StageBits&, const StageBits&) = default;
};

// Gate and up are the same numbers whether they were kept or are computed again, from a recompute
// with or without an output.
TEST_P(LayerTemplateOfBlocks, KeepingGateAndUpChangesNoBit) {
  for (const int64_t piece_tokens : {kBatch * kSequence, int64_t{1}, int64_t{5}, int64_t{9}}) {
    Random random(19);
    for (const Stage& stage : StagesWithTemplates()) {
      const Floats weights = RandomWeights(spec(), stage, random);
      const uint64_t values = static_cast<uint64_t>(kBatch * kSequence * spec().hidden);
      const Floats input = random.Draw(values, 1.0);
      const Floats output_gradient = random.Draw(values, 1.0);
      std::optional<StageBits> first;
      for (const bool keeps : {true, false}) {
        StageRun run(spec(), stage, kBatch, kSequence,
                     {.piece_tokens = piece_tokens, .keep_feed_forward = keeps});
        const auto output = run.Forward(weights, input, run.Whole(), StageRun::Keeps::kNothing);
        ASSERT_TRUE(output.ok()) << output.status();
        for (const auto what : {StageRun::Keeps::kAll, StageRun::Keeps::kAllWithoutOutput}) {
          ASSERT_TRUE(run.Forward(weights, input, run.Whole(), what).ok());
          const auto gradients = run.Backward(weights, output_gradient, run.Whole());
          ASSERT_TRUE(gradients.ok()) << gradients.status();
          const StageBits bits{*output, gradients->input, gradients->weights};
          if (!first.has_value()) first = bits;
          EXPECT_EQ(bits, *first) << stage.name << ", pieces of " << piece_tokens << ", keeps "
                                  << keeps;
        }
      }
    }
  }
}

// Hidden states are those of one piece but for the multiplies of few rows; weight gradients are
// sums in another order.
TEST_P(LayerTemplateOfBlocks, SeveralPiecesAreCloseToOne) {
  Random random(23);
  for (const Stage& stage : StagesWithTemplates()) {
    const Floats weights = RandomWeights(spec(), stage, random);
    const uint64_t values = static_cast<uint64_t>(kBatch * kSequence * spec().hidden);
    const Floats input = random.Draw(values, 1.0);
    const Floats output_gradient = random.Draw(values, 1.0);
    const auto run_with = [&](int64_t piece_tokens) {
      StageRun run(spec(), stage, kBatch, kSequence,
                   {.piece_tokens = piece_tokens, .keep_feed_forward = piece_tokens % 2 == 0});
      const auto output = run.Forward(weights, input, run.Whole(), StageRun::Keeps::kAll);
      EXPECT_TRUE(output.ok()) << output.status();
      const auto gradients = run.Backward(weights, output_gradient, run.Whole());
      EXPECT_TRUE(gradients.ok()) << gradients.status();
      return StageBits{*output, gradients->input, gradients->weights};
    };
    const StageBits whole = run_with(kBatch * kSequence);
    const int64_t terms = std::max({spec().hidden, spec().intermediate, kBatch * kSequence});
    for (const int64_t piece_tokens : {1, 4, 7, 17}) {
      const StageBits bits = run_with(piece_tokens);
      const std::string what = StrCat(stage.name, ", pieces of ", piece_tokens);
      ExpectNear(bits.output, whole.output, terms, what);
      ExpectNear(bits.input_gradient, whole.input_gradient, terms, what);
      ExpectNear(bits.weight_gradients, whole.weight_gradients, terms, what);
    }
  }
}

// Attention may be cut with any number of pieces.
TEST_P(LayerTemplateOfBlocks, ShardsOfAttentionDoWhatOneCallDoesInPieces) {
  Random random(29);
  for (const Stage& stage : StagesWithTemplates()) {
    if (stage.kind != StageKind::kAttention) continue;
    const StageOptions options{.piece_tokens = 5, .keep_feed_forward = false};
    StageRun whole(spec(), stage, kBatch, kSequence, options);
    StageRun shards(spec(), stage, kBatch, kSequence, options);
    const Floats weights = RandomWeights(spec(), stage, random);
    const Floats input = random.Draw(static_cast<uint64_t>(whole.values()), 1.0);
    const Floats output_gradient = random.Draw(static_cast<uint64_t>(whole.values()), 1.0);
    const auto one = whole.Forward(weights, input, whole.Whole(), StageRun::Keeps::kAll);
    const auto many = shards.Forward(weights, input, shards.OneByOne(), StageRun::Keeps::kAll);
    ASSERT_TRUE(one.ok() && many.ok()) << one.status() << many.status();
    EXPECT_EQ(*many, *one);
    const auto gradient = whole.Backward(weights, output_gradient, whole.Whole());
    const auto gradients = shards.Backward(weights, output_gradient, shards.OneByOne());
    ASSERT_TRUE(gradient.ok() && gradients.ok()) << gradient.status() << gradients.status();
    EXPECT_EQ(gradients->input, gradient->input);
    EXPECT_EQ(gradients->weights, gradient->weights);
  }
}

TEST_P(LayerTemplateOfBlocks, WhatIsKeptDoesNotDependOnWhetherAnOutputIsWanted) {
  Random random(13);
  for (const Stage& stage : StagesWithTemplates()) {
    StageRun forward(spec(), stage, kBatch, kSequence);
    StageRun recompute(spec(), stage, kBatch, kSequence);
    const Floats weights = RandomWeights(spec(), stage, random);
    const Floats input = random.Draw(static_cast<uint64_t>(forward.values()), 1.0);
    const auto kept = forward.Forward(weights, input, forward.Whole(), StageRun::Keeps::kAll);
    const auto nothing =
        recompute.Forward(weights, input, recompute.Whole(), StageRun::Keeps::kNothing);
    ASSERT_TRUE(kept.ok() && nothing.ok());
    EXPECT_EQ(*nothing, *kept) << stage.name;
    ASSERT_TRUE(
        recompute.Forward(weights, input, recompute.Whole(), StageRun::Keeps::kAllWithoutOutput)
            .ok());
    EXPECT_EQ(recompute.kept(), forward.kept()) << stage.name;
  }
}

// Memory that is a byte short is refused before a kernel runs, by the name of stage and array.
TEST_P(LayerTemplateOfBlocks, MemoryThatIsTooSmallIsNamedAndLeftAlone) {
  Random random(17);
  for (const Stage& stage : StagesWithTemplates()) {
    if (stage.kind == StageKind::kFinalNorm) continue;
    StageRun run(spec(), stage, kBatch, kSequence);
    const Floats weights = RandomWeights(spec(), stage, random);
    const Floats input = random.Draw(static_cast<uint64_t>(run.values()), 1.0);
    ASSERT_TRUE(run.Forward(weights, input, run.Whole(), StageRun::Keeps::kAll).ok());
    const StageTemplate layout(spec(), stage.kind, kBatch * kSequence, ValueType::kFp32);
    const auto expect_refused = [&](ScratchPass pass, const auto& run_pass) {
      run.workspace().resize(layout.ScratchOfPass(pass).bytes().value() - 1);
      const absl::Status refused = run_pass();
      EXPECT_EQ(refused.code(), absl::StatusCode::kInternal) << refused;
      EXPECT_NE(refused.message().find(stage.name), std::string::npos) << refused;
      EXPECT_NE(refused.message().find("workspace"), std::string::npos) << refused;
      for (const std::byte value : run.workspace()) ASSERT_EQ(value, kPoison);
    };
    expect_refused(ScratchPass::kBackward,
                   [&] { return run.Backward(weights, input, run.Whole()).status(); });
    expect_refused(ScratchPass::kForward, [&] {
      return run.Forward(weights, input, run.Whole(), StageRun::Keeps::kNothing).status();
    });
  }
}

std::vector<BlockModel> AllModels() {
  std::vector<BlockModel> models = BlockModels();
  models.push_back({"plain", TinyPlain()});
  return models;
}

INSTANTIATE_TEST_SUITE_P(Models, LayerTemplateOfBlocks, testing::ValuesIn(AllModels()),
                         [](const auto& model) { return model.param.name; });

TEST(StageArrays, AnArrayThatWasNotLaidOutIsNamed) {
  const ModelSpec spec = TinyPlain();
  const std::vector<Stage> stages = ListStages(spec);
  const StageTemplate layout(spec, StageKind::kFeedForward, 6, ValueType::kFp32);
  std::vector<std::byte> memory(100000);
  StageArrays arrays(stages[2], layout, ScratchPass::kBackward, memory, memory, ValueType::kFp32);
  EXPECT_NE(arrays.Get(ArrayRole::kGate), nullptr);
  EXPECT_EQ(arrays.GetIfAny(ArrayRole::kQuery), nullptr);
  EXPECT_TRUE(arrays.status().ok());
  EXPECT_EQ(arrays.Get(ArrayRole::kQueryGradient), nullptr);
  EXPECT_EQ(arrays.status().code(), absl::StatusCode::kInternal);
  EXPECT_NE(arrays.status().message().find("'query gradient' of stage feed_forward_0"),
            std::string::npos)
      << arrays.status();
  EXPECT_EQ(arrays.Get(ArrayRole::kProjected), nullptr);
  EXPECT_NE(arrays.status().message().find("query gradient"), std::string::npos)
      << "the first error stays";
}

}  // namespace
}  // namespace horizon
