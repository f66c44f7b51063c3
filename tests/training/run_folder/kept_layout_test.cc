#include "training/run_folder/kept_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "tests/model/model_specs.h"
#include "tests/model/quantized_folder.h"
#include "tests/model/test_files.h"
#include "training/run_folder/run_folder.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kQwen3Moe[] = R"({"model_type": "qwen3_moe", "hidden_size": 20, "head_dim": 6,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24, "vocab_size": 11,
    "moe_intermediate_size": 7, "num_hidden_layers": 2, "num_experts": 3, "num_experts_per_tok": 2,
    "mlp_only_layers": [0]})";

class KeptLayout : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return JoinPath(folder_, name); }
  // A model folder, which the runs below begin with.
  std::string Model(ExpertLayout experts) {
    std::string model = Path(StrCat("model_", ToString(experts)));
    EXPECT_TRUE(io_->MakeDirectory(model).ok());
    WriteTestFolder(*io_, model, MakeTestFolderOf(kQwen3Moe, {.experts = experts}));
    return model;
  }
  // What an export of a run that begins with the model writes.
  ExpertLayout Exported(const std::string& model) {
    const std::string run = Path("run");
    EXPECT_TRUE(io_->MakeDirectory(run).ok());
    EXPECT_EQ(SaveModelFiles(*io_, run, {.config_text = kQwen3Moe, .model = model, .spec = spec_}),
              absl::OkStatus());
    ExportOptions options;
    EXPECT_EQ(*AddModelFiles(*io_, JoinPath(run, kBaseFolder), spec_, options), "");
    return options.experts;
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
  ModelSpec spec_ = ReadConfigText(kQwen3Moe)->spec;
};

TEST_F(KeptLayout, OfAFusedFolderIsRememberedWhenTheFolderIsGone) {
  const std::string model = Model(ExpertLayout::kFused);
  EXPECT_EQ(Exported(model), ExpertLayout::kFused);
  ASSERT_TRUE(io_->Rename(model, Path("elsewhere")).ok());
  ExportOptions options;
  ASSERT_TRUE(AddModelFiles(*io_, Path("run/base"), spec_, options).ok());
  EXPECT_EQ(options.experts, ExpertLayout::kFused);
  EXPECT_TRUE(FileExists(*io_, Path("run/base/experts.json")));
  // Named as --base, the folder itself says it.
  options = {};
  ASSERT_TRUE(AddModelFiles(*io_, Path("elsewhere"), spec_, options).ok());
  EXPECT_EQ(options.experts, ExpertLayout::kFused);
}

TEST_F(KeptLayout, OfAUsualFolderLeavesNoFile) {
  EXPECT_EQ(Exported(Model(ExpertLayout::kUsual)), ExpertLayout::kUsual);
  EXPECT_FALSE(FileExists(*io_, Path("run/base/experts.json")));
}

TEST_F(KeptLayout, OfAModelWithoutAFolderIsTheUsualOne) {
  EXPECT_EQ(Exported("qwen3-30b-a3b"), ExpertLayout::kUsual);
  EXPECT_FALSE(FileExists(*io_, Path("run/base/experts.json")));
}

TEST_F(KeptLayout, IsNotLookedForInModelsWithoutSeparateExperts) {
  WriteBytes(*io_, Path("experts.json"), "not json");
  for (const char* family : {"llama", "gpt_oss"}) {
    EXPECT_EQ(*FindKeptLayout(*io_, folder_, TinySpec(family)), ExpertLayout::kUsual);
  }
}

TEST_F(KeptLayout, ABadFileIsRefusedWithFileAndKey) {
  const auto error_of = [&](std::string_view text) {
    WriteBytes(*io_, Path("experts.json"), text);
    const absl::Status status = FindKeptLayout(*io_, folder_, spec_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(error_of(R"({"layout": "stacked"})"),
              AllOf(HasSubstr("experts.json:1: layout: is \"stacked\""), HasSubstr("fused")));
  EXPECT_THAT(error_of("{}"), HasSubstr("layout: required"));
  EXPECT_THAT(error_of(R"({"layout": "fused", "more": 1})"), HasSubstr("more"));
  EXPECT_THAT(error_of("{"), HasSubstr("experts.json:1"));
  EXPECT_THAT(error_of(R"({"layout": 3})"), HasSubstr("layout"));
}

TEST_F(KeptLayout, EveryFailureOfIoIsAnError) {
  const std::string model = Model(ExpertLayout::kFused);
  int runs = 0;
  const auto run_once = [&](FaultingIo& io) {
    const std::string run = Path(StrCat("run", runs++));
    ASSERT_TRUE(io_->MakeDirectory(run).ok());
    const absl::StatusOr<ExpertLayout> found = FindKeptLayout(io, model, spec_);
    const absl::Status kept = found.ok() ? KeepLayout(io, run, *found) : found.status();
    EXPECT_EQ(kept.ok(), !io.reached()) << kept;
    EXPECT_TRUE(!found.ok() || *found == ExpertLayout::kFused);
  };
  EXPECT_GT(ForEachFault(*io_, {.kind = FaultPlan::Kind::kFail}, run_once), 5u);
}

}  // namespace
}  // namespace horizon
