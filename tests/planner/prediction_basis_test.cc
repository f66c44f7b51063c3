#include "planner/prediction_basis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "common/documents/json.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "planner/machines/machine_catalog.h"
#include "tests/planner/small_cases.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kNoGpu = "nothing was measured on a GPU with this program";

std::string TextOf(const HardwareProfile& profile, Strategy strategy = Strategy::kHorizon) {
  return BasisText(BasisOf(profile, strategy));
}

TEST(PredictionBasis, ADataSheetIsCalledOneWithTheErrorsOfItsKind) {
  const PredictionBasis basis = BasisOf(CatalogMachine("rtx4090"), Strategy::kHorizon);
  EXPECT_EQ(basis.kind, BasisKind::kDataSheet);
  EXPECT_EQ(basis.device_class, "geforce");
  ASSERT_TRUE(basis.errors.has_value());
  const PastErrors& past = BuiltInPredictionErrors().data_sheet;
  EXPECT_EQ(BasisText(basis),
            StrCat("rests on data sheets and the shares of class geforce; such predictions were "
                   "off by ",
                   Percent(past.median), " (median of ", past.runs, " ", past.runs_of, "), ",
                   Percent(past.worst), " at worst; ", kNoGpu));
}

TEST(PredictionBasis, FittedSpeedsAreOfTheStrategyTheyWereFittedTo) {
  const HardwareProfile gh200 = CatalogMachine("gh200");
  EXPECT_EQ(BasisOf(gh200, Strategy::kReference).kind, BasisKind::kFitted);
  EXPECT_EQ(BasisOf(gh200, Strategy::kHorizon).kind, BasisKind::kDataSheet);
  EXPECT_EQ(BasisOf(CatalogMachine("l40s"), Strategy::kReference).kind, BasisKind::kDataSheet);
  EXPECT_THAT(TextOf(gh200, Strategy::kReference),
              AllOf(HasSubstr("speeds fitted to published runs of this machine"),
                    HasSubstr(BuiltInPredictionErrors().fitted.runs_of)));
}

// The runs on data sheets were on one card: of other classes they say nothing.
TEST(PredictionBasis, ErrorsOfAnotherClassAreSaidToBeThat) {
  const PredictionBasis geforce = BasisOf(CatalogMachine("rtx5090"), Strategy::kHorizon);
  EXPECT_TRUE(geforce.errors_are_of_class());
  EXPECT_THAT(BasisText(geforce), Not(HasSubstr("only")));
  const PredictionBasis hopper = BasisOf(CatalogMachine("h200"), Strategy::kHorizon);
  ASSERT_TRUE(hopper.errors.has_value());
  EXPECT_FALSE(hopper.errors_are_of_class());
  EXPECT_THAT(BasisText(hopper),
              HasSubstr("such predictions were compared with runs on class geforce only, nothing "
                        "for class hopper-sxm: off by "));
  // Speeds fitted to the published system were judged on four classes, and on this one.
  EXPECT_TRUE(BasisOf(CatalogMachine("gh200"), Strategy::kReference).errors_are_of_class());
  HardwareProfile here = CatalogMachine("cpu-desktop");
  here.measured_on.emplace();
  EXPECT_TRUE(BasisOf(here, Strategy::kHorizon).errors_are_of_class());
  EXPECT_FALSE(PredictionBasis{}.errors_are_of_class());
}

TEST(PredictionBasis, AMeasuredHostIsJudgedByRunsOnHosts) {
  HardwareProfile here = CatalogMachine("cpu-desktop");
  here.device_class.reset();
  here.measured_on.emplace();
  EXPECT_EQ(BasisOf(here, Strategy::kHorizon).kind, BasisKind::kMeasured);
  EXPECT_THAT(TextOf(here), AllOf(HasSubstr("a measured profile; such predictions were off by "),
                                  HasSubstr("runs on device host"), Not(HasSubstr("GPU"))));
  // Runs on a host say nothing of a GPU, measured profile or not.
  here.device.kind = DeviceKind::kCuda;
  EXPECT_THAT(TextOf(here), AllOf(HasSubstr("no such prediction was ever compared with a run"),
                                  HasSubstr(kNoGpu)));
}

TEST(PredictionBasis, WithoutAnyComparisonThereIsNoError) {
  for (const char* name : {"mi300x", "m4-max", "gb10"}) {
    EXPECT_EQ(BasisOf(CatalogMachine(name), Strategy::kHorizon).kind, BasisKind::kPlannedOnly);
    EXPECT_THAT(TextOf(CatalogMachine(name)),
                AllOf(HasSubstr("horizon does not run on it"), Not(HasSubstr("off by"))));
  }
  HardwareProfile file = CatalogMachine("rtx4090");
  file.device_class.reset();
  EXPECT_EQ(BasisOf(file, Strategy::kHorizon).kind, BasisKind::kUnknown);
  EXPECT_THAT(TextOf(file), AllOf(HasSubstr("machine file"), Not(HasSubstr("off by"))));
  EXPECT_FALSE(BasisOf(CatalogMachine("cpu-desktop"), Strategy::kHorizon).errors.has_value());
}

TEST(PredictionBasis, EveryMachineHasALineOfOneSentence) {
  for (const MachineEntry& entry : MachineCatalog()) {
    const std::string text = TextOf(CatalogMachine(entry.name));
    EXPECT_EQ(text.find('\n'), text.npos) << entry.name;
    EXPECT_THAT(text, testing::StartsWith("rests on ")) << entry.name;
  }
}

TEST(PredictionBasis, JsonSaysTheSame) {
  JsonWriter writer;
  WriteBasis(BasisOf(CatalogMachine("rtx4090"), Strategy::kHorizon), writer);
  const absl::StatusOr<Document> document = ParseJson("basis.json", std::move(writer).Finish());
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(*document->root.Find("kind")->As<std::string>(), "data_sheet");
  EXPECT_EQ(*document->root.Find("runs")->As<int64_t>(), BuiltInPredictionErrors().data_sheet.runs);
  EXPECT_EQ(*document->root.Find("text")->As<std::string>(), TextOf(CatalogMachine("rtx4090")));
  EXPECT_EQ(*document->root.Find("measured_on_gpu")->As<bool>(), false);
  EXPECT_EQ(*document->root.Find("errors_are_of_class")->As<bool>(), true);
  JsonWriter other;
  WriteBasis(BasisOf(CatalogMachine("h200"), Strategy::kHorizon), other);
  const absl::StatusOr<Document> of_other = ParseJson("other.json", std::move(other).Finish());
  ASSERT_TRUE(of_other.ok()) << of_other.status();
  EXPECT_EQ(*of_other->root.Find("errors_are_of_class")->As<bool>(), false);
  EXPECT_EQ(*of_other->root.Find("classes")->As<Value::Array>()->front().As<std::string>(),
            "geforce");
  JsonWriter none;
  WriteBasis(BasisOf(CatalogMachine("mi300x"), Strategy::kHorizon), none);
  EXPECT_EQ(ParseJson("none.json", std::move(none).Finish())->root.Find("median_error"), nullptr);
}

TEST(PredictionErrors, AreReadBackAndBadOnesAreRefused) {
  const std::string text = WritePredictionErrors(BuiltInPredictionErrors());
  EXPECT_EQ(WritePredictionErrors(*ReadPredictionErrors(*ParseJson("errors.json", text))), text);
  for (const auto& [from, to] :
       {std::pair{"\"fitted\"", "\"fited\""}, std::pair{"\"runs\"", "\"rums\""},
        std::pair{"\"median_error\": 0", "\"median_error\": -0"}}) {
    std::string bad = text;
    const size_t at = bad.find(from);
    ASSERT_NE(at, bad.npos) << from;
    bad.replace(at, std::string_view(from).size(), to);
    EXPECT_EQ(ReadPredictionErrors(*ParseJson("errors.json", bad)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << from;
  }
}

}  // namespace
}  // namespace horizon
