// The bytes of a stage's arrays, and where they lie.
#include "model/stage_memory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "model/stages/array_layout.h"
#include "model/stages/describe.h"
#include "tests/model/model_specs.h"

namespace horizon {
namespace {

constexpr TokenBatch kTokens = {.batch = 2, .sequence = 5};
constexpr StageKind kAttention = StageKind::kAttention;
constexpr StageKind kFeedForward = StageKind::kFeedForward;

// Bytes that `spec` keeps for each of ten tokens, and what of it is not the input.
uint64_t KeptEach(const ModelSpec& spec, StageKind kind, uint64_t value_bytes) {
  const uint64_t kept = KeptActivationBytes(spec, kind, kTokens, Bytes(value_bytes)).value();
  EXPECT_EQ(kept % 10, 0u);
  return kept / 10;
}
uint64_t WorkspaceEach(const ModelSpec& spec, StageKind kind, uint64_t value_bytes,
                       PassesOver passes = PassesOver::kTraining) {
  const uint64_t bytes = WorkspaceBytes(spec, kind, kTokens, Bytes(value_bytes), passes).value();
  EXPECT_EQ(bytes % 10, 0u);
  return bytes / 10;
}

TEST(StageMemory, AttentionKeepsWhatBackwardReads) {
  // Input 64; q 64, k and v 32 each; output 64; then fp32: inverse rms, log-sum-exp of 4 heads.
  const uint64_t plain_values = 64 + 64 + 32 + 32 + 64;
  EXPECT_EQ(KeptEach(TinySpec("llama"), kAttention, 4), 4 * (plain_values + 1 + 4));
  EXPECT_EQ(KeptEach(TinySpec("llama"), kAttention, 2), 2 * plain_values + uint64_t{4} * (1 + 4));
  EXPECT_EQ(InputBytes(TinySpec("llama"), kAttention, kTokens, 2_B).value(), 10u * 2 * 64);
  // q and k before their norm, and an inverse rms of each head.
  EXPECT_EQ(KeptEach(TinySpec("qwen3"), kAttention, 2),
            2 * (plain_values + 64 + 32) + uint64_t{4} * (1 + 4 + 4 + 2));
  // The norm over all heads has one inverse rms; there is no norm before, but one after, which
  // reads the projected output and its inverse rms.
  EXPECT_EQ(KeptEach(TinySpec("olmo2"), kAttention, 2),
            2 * (plain_values + 64 + 32 + 64) + uint64_t{4} * (4 + 1 + 1 + 1));
}

TEST(StageMemory, FeedForwardKeepsGateAndUp) {
  EXPECT_EQ(KeptEach(TinySpec("llama"), kFeedForward, 2), 2u * (64 + 2 * 176) + 4);
  EXPECT_EQ(KeptEach(TinySpec("olmo2"), kFeedForward, 2), 2u * (64 + 2 * 176 + 64) + 4);
  // A multiplier needs no more: its gradient does not depend on the branch.
  EXPECT_EQ(KeptEach(TinySpec("granite"), kFeedForward, 2),
            KeptEach(TinySpec("llama"), kFeedForward, 2));
}

TEST(StageMemory, ExpertsKeepGateAndUpOfTheChosen) {
  // Router probabilities of 4 experts; number, weight, gate and up of 2.
  EXPECT_EQ(KeptEach(TinySpec("mixtral"), StageKind::kExperts, 2),
            uint64_t{2} * (64 + 2 * 2 * 176) + uint64_t{4} * (1 + 4 + 2 * 2));
}

// Backward has the gradients of gate and up beside what was activated, which is dead when the
// normed input and the fp32 sum of its gradient come.
TEST(StageMemory, ArraysThatAreNotInUseAtOnceShareMemory) {
  EXPECT_EQ(WorkspaceEach(TinySpec("llama"), kFeedForward, 2),
            2u * 2 * 176 + std::max(2u * 176, 2u * 64 + 4u * 64));
  ModelSpec narrow = TinySpec("llama");
  narrow.intermediate = 24;
  EXPECT_EQ(WorkspaceEach(narrow, kFeedForward, 2), 2u * 2 * 24 + (2u * 64 + 4u * 64));
}

TEST(StageMemory, APassThatTrainsNothingNeedsLess) {
  for (const StageKind kind : {kAttention, kFeedForward}) {
    EXPECT_LT(WorkspaceEach(TinySpec("llama"), kind, 2, PassesOver::kForwardOnly),
              WorkspaceEach(TinySpec("llama"), kind, 2));
  }
}

TEST(StageMemory, EndsOfTheModelKeepTheirInputOnly) {
  const ModelSpec spec = TinySpec("llama");
  EXPECT_EQ(KeptEach(spec, StageKind::kEmbedding, 2), 0u);
  EXPECT_EQ(KeptEach(spec, StageKind::kFinalNorm, 2), 2u * 64 + 4);
  EXPECT_EQ(KeptEach(spec, StageKind::kHead, 2), 2u * 64);
  EXPECT_EQ(WorkspaceEach(spec, StageKind::kHead, 2), 0u);
}

TEST(StageMemory, CountsThatDoNotFitAreSaidToOverflow) {
  ModelSpec spec = TinySpec("llama");
  spec.intermediate = (int64_t{1} << 31) - 1;
  const TokenBatch many = {.batch = int64_t{1} << 20, .sequence = int64_t{1} << 20};
  EXPECT_FALSE(KeptActivationBytes(spec, kFeedForward, many, 4_B).ok());
  // All tokens at once; a piece of them fits.
  const StageOptions whole{.piece_tokens = kAllTokens};
  EXPECT_FALSE(WorkspaceBytes(spec, kFeedForward, many, 4_B, PassesOver::kTraining, whole).ok());
  EXPECT_TRUE(WorkspaceBytes(spec, kFeedForward, many, 4_B, PassesOver::kTraining).ok());
  spec.hidden = (int64_t{1} << 31) - 1;
  EXPECT_FALSE(WorkspaceBytes(spec, kAttention, many, 4_B, PassesOver::kTraining).ok());
}

LiveRange UseOf(const ArrayDescription& array, ScratchPass pass) {
  return pass == ScratchPass::kBackward ? array.backward : array.forward;
}

// Beyond a piece, a feed-forward stage needs for a token what it keeps of the hidden state, and no
// array as wide as its intermediate.
TEST(StageMemory, OfAFeedForwardStageDoesNotGrowWithTokensTimesIntermediate) {
  for (const char* family : {"llama", "olmo2", "gemma3_text", "granite"}) {
    ModelSpec spec = TinySpec(family);
    const auto grows_by = [&](auto&& bytes, int64_t intermediate) {
      spec.intermediate = intermediate;
      const TokenBatch few{.batch = 1, .sequence = 2 * kPieceTokens};
      const TokenBatch many{.batch = 1, .sequence = 3 * kPieceTokens};
      return bytes(many).value() - bytes(few).value();
    };
    const StageOptions options{.keep_feed_forward = false};
    const auto kept = [&](TokenBatch tokens) {
      return KeptActivationBytes(spec, kFeedForward, tokens, 2_B, options);
    };
    const auto workspace = [&](TokenBatch tokens) {
      return WorkspaceBytes(spec, kFeedForward, tokens, 2_B, PassesOver::kTraining, options);
    };
    const uint64_t norm = spec.norm_before() ? 4 : 0;  // the inverse rms
    EXPECT_EQ(grows_by(kept, 96), kPieceTokens * (2u * spec.hidden + norm)) << family;
    EXPECT_EQ(grows_by(kept, 960), kPieceTokens * (2u * spec.hidden + norm)) << family;
    EXPECT_EQ(grows_by(workspace, 96), 0u) << family;
    EXPECT_EQ(grows_by(workspace, 960), 0u) << family;
    // Attention's workspace has no intermediate, and the sum of one matrix more than with one
    // piece.
    const auto attention = [&](TokenBatch tokens) {
      return WorkspaceBytes(spec, kAttention, tokens, 2_B, PassesOver::kTraining, options);
    };
    EXPECT_EQ(grows_by(attention, 96), grows_by(attention, 960)) << family;
  }
}

// 512K tokens of the widest model we know of pass 2^31 elements and 2^32 bytes; nothing wraps.
TEST(StageMemory, OfLongSequencesDoesNotWrap) {
  ModelSpec spec = TinySpec("llama");
  spec.hidden = 16384;
  spec.intermediate = 53248;
  constexpr uint64_t kTokens512K = 524288;
  const TokenBatch tokens{.batch = 1, .sequence = kTokens512K};
  EXPECT_EQ(KeptActivationBytes(spec, kFeedForward, tokens, 2_B).value(),
            kTokens512K * (2 * 16384 + 4 + 2 * 2 * 53248));
  const ArrayLayout kept =
      ArrayLayout::Kept(ArraysOf(spec, kFeedForward), CheckedU64(kTokens512K), 2_B);
  EXPECT_EQ(kept.At(ArrayRole::kUp).offset, kTokens512K * 2 * (16384 + 53248));
  EXPECT_EQ(kept.At(ArrayRole::kUp).token_stride, 53248);
}

RC_GTEST_PROP(ArrayLayout, NoTwoArraysInUseAtOnceShareMemory, ()) {
  const ModelSpec spec = *AnySpec();
  const Bytes value_bytes = *rc::gen::element(2_B, 4_B);
  const uint64_t tokens = *rc::gen::inRange<uint64_t>(1, 50);
  for (const StageKind kind : {StageKind::kAttention, StageKind::kFeedForward, StageKind::kExperts,
                               StageKind::kFinalNorm, StageKind::kHead}) {
    if (kind == StageKind::kExperts && spec.experts.experts == 0) continue;
    const StageOptions options{.piece_tokens = *rc::gen::inRange<int64_t>(1, 60),
                               .keep_feed_forward = *rc::gen::arbitrary<bool>()};
    const auto piece = static_cast<uint64_t>(options.piece_tokens);
    const ArrayDescriptions arrays = ArraysOf(spec, kind, options);
    const ArrayLayout kept = ArrayLayout::Kept(arrays, tokens, value_bytes);
    for (const ScratchPass pass :
         {ScratchPass::kForward, ScratchPass::kKeepingForward, ScratchPass::kBackward}) {
      const ArrayLayout layout =
          ArrayLayout::Scratch(arrays, pass, tokens, value_bytes, options.piece_tokens);
      for (const ArrayDescription& a : arrays) {
        const ArrayLayout::Place& place = layout.At(a.role);
        // Every array that a pass uses has a place, and in one of the two only.
        const bool in_kept = a.kept && pass != ScratchPass::kForward;
        const bool is_sum = a.rows == ArrayRows::kOne;
        RC_ASSERT(place.laid_out ==
                  (!in_kept && !UseOf(a, pass).empty() && (!is_sum || tokens > piece)));
        RC_ASSERT(kept.At(a.role).laid_out == a.kept);
        if (!place.laid_out) continue;
        const bool is_one = is_sum || a.rows == ArrayRows::kAlways;
        const uint64_t rows = is_one                        ? 1
                              : a.rows == ArrayRows::kPiece ? std::min(tokens, piece)
                                                            : tokens;
        RC_ASSERT(place.token_stride == (a.rows == ArrayRows::kTokens ? a.width : 0));
        RC_ASSERT(place.bytes == rows * static_cast<uint64_t>(a.width) *
                                     (a.type == ArrayType::kActivation ? value_bytes : 4_B));
        RC_ASSERT(place.offset + place.bytes.value() <= layout.bytes().value());
        for (const ArrayDescription& b : arrays) {
          const ArrayLayout::Place& other = layout.At(b.role);
          if (a.role == b.role || !other.laid_out) continue;
          if (!UseOf(a, pass).Overlaps(UseOf(b, pass))) continue;
          RC_ASSERT(place.offset + place.bytes.value() <= other.offset ||
                    other.offset + other.bytes.value() <= place.offset);
        }
      }
    }
  }
}

RC_GTEST_PROP(ArrayLayout, KeptArraysLieSideBySide, ()) {
  const ModelSpec spec = *AnySpec();
  const uint64_t tokens = *rc::gen::inRange<uint64_t>(1, 50);
  for (const StageKind kind : {StageKind::kAttention, StageKind::kFeedForward}) {
    const ArrayDescriptions arrays = ArraysOf(spec, kind);
    const ArrayLayout kept = ArrayLayout::Kept(arrays, tokens, 2_B);
    RC_ASSERT(kept.At(ArrayRole::kInput).offset == 0u);
    uint64_t sum = 0;
    for (const ArrayDescription& array : arrays) {
      if (!array.kept) continue;
      sum += kept.At(array.role).bytes.value();
      for (const ArrayDescription& other : arrays) {
        if (!other.kept || other.role == array.role) continue;
        const ArrayLayout::Place& a = kept.At(array.role);
        const ArrayLayout::Place& b = kept.At(other.role);
        RC_ASSERT(a.offset + a.bytes.value() <= b.offset || b.offset + b.bytes.value() <= a.offset);
      }
    }
    RC_ASSERT(sum == kept.bytes().value());
  }
}

// Before arrays shared memory by their use, sizes were sums with one pair of arrays in one place.
RC_GTEST_PROP(StageMemory, PlainModelsNeedNoMoreThanTheSumsOfBefore, ()) {
  ModelSpec spec = *AnySpec();
  spec.norm_place = NormPlace::kBefore;
  spec.residual_multiplier = 1.0;
  const uint64_t value_bytes = *rc::gen::element<uint64_t>(2, 4);
  const auto hidden = static_cast<uint64_t>(spec.hidden);
  const auto query = static_cast<uint64_t>(spec.query_width());
  const auto key = static_cast<uint64_t>(spec.key_width());
  const auto heads = static_cast<uint64_t>(spec.heads);
  const auto width = static_cast<uint64_t>(spec.intermediate);
  const uint64_t attention = value_bytes * (hidden + query + 2 * key) + 4 * (heads + 1) +
                             std::max(value_bytes * query, 4 * hidden);
  const uint64_t feed_forward =
      value_bytes * (hidden + 2 * width) + 4 + std::max(value_bytes * width, 4 * hidden);
  RC_ASSERT(WorkspaceEach(spec, kAttention, value_bytes) <= attention);
  RC_ASSERT(WorkspaceEach(spec, kFeedForward, value_bytes) <= feed_forward);
}

}  // namespace
}  // namespace horizon
