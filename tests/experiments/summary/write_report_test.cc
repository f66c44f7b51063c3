#include "experiments/summary/write_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <span>

#include "common/files/faulting_io.h"
#include "presentation/csv.h"
#include "tests/experiments/made_runs.h"
#include "tests/presentation/xml_check.h"

namespace horizon {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Every kind of row: over our memory, out of memory, ignored, fitted, not simulated, hostile text.
std::vector<ExperimentRun> Runs() {
  ComparedRow none = MakeRow({.id = "d", .system = "ratel_ssd"});
  none.is_simulated = false;
  none.result.simulated.reset();
  none.result.error.reset();
  ComparedRow first = MakeRow({.id = "<b> & \"c\"", .simulated = 112});
  first.result.row.note = "a <script> note";
  first.horizon.push_back({.fits = true});
  first.horizon[0].prediction.model_tflops = 224;
  first.horizon[0].prediction.step_seconds = first.result.prediction.step_seconds / 2;
  ComparedRow over = MakeRow({.id = "over", .simulated = 130, .fits = false});
  over.horizon.push_back(
      {.fits = false,
       .shortages = {{.limit = Limit::kDeviceMemory, .needed = 2_B, .available = 1_B}}});
  ExperimentRun run = MakeRun(
      "made",
      {first, over,
       MakeRow({.id = "out",
                .system = "gemini",
                .metric = Metric::kStatus,
                .fits = false,
                .status = RunStatus::kOutOfMemory}),
       MakeRow({.id = "ignored", .simulated = 7777, .tier = Tier::kC, .use = RowUse::kIgnored}),
       MakeRow({.id = "fitted", .simulated = 50, .use = RowUse::kFitted}), none},
      {.worst = 20,
       .misses = {{.rows = {"over, megatrain"}, .worst = 25, .reason = "It is <odd> & known."}}});
  run.experiment.remarks = {"Why a row is missed & more."};
  run.experiment.charts = {
      {.kind = ChartKind::kBars, .x_label = "x", .y_label = "y"},
      {.kind = ChartKind::kLines, .x = ChartX::kLayers, .metric = Metric::kTokensPerSecond}};
  return {run, MakeRun("empty", {})};
}

std::vector<Claim> Claims() {
  return {{.what = "12 times as fast",
           .claimed = "12x",
           .simulated = "13x",
           .error = 0.083,
           .error_text = "+8.3 %",
           .agreement = Agreement::kHolds},
          {.what = "twice as fast",
           .claimed = "2x",
           .simulated = "3.8x",
           .error = 0.9,
           .error_text = "+90.0 %",
           .agreement = Agreement::kMisses},
          {.what = "nobody says so", .simulated = "yes"}};
}

std::map<std::string, std::string> Files() {
  std::map<std::string, std::string> files;
  for (ReportFile& file : MakeReport(Runs(), Claims(), BuiltInCalibration())) {
    EXPECT_TRUE(files.emplace(file.name, std::move(file.text)).second) << file.name;
  }
  return files;
}

TEST(WriteReport, HasAFileForEveryTableAndChart) {
  std::vector<std::string> names;
  for (const auto& [name, text] : Files()) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre("claims.csv", "empty.csv", "made.csv", "made.svg",
                                          "made_tokens_per_second.svg", "report.html",
                                          "results.json", "summary.csv"));
  EXPECT_EQ(MakeReport(Runs(), Claims(), BuiltInCalibration()).back().name, "report.html");
}

TEST(WriteReport, ThePageIsWellFormedAndNeedsNothingElse) {
  const std::string html = Files()["report.html"];
  EXPECT_EQ(XmlProblem(html), "");
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<link")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
  EXPECT_THAT(html, Not(HasSubstr("url(")));
  for (const std::string& target : AttributeValues(html, "href")) {
    EXPECT_TRUE(target.starts_with("#")) << target;
  }
  for (const auto& [name, text] : Files()) {
    if (name.ends_with(".svg")) {
      EXPECT_EQ(XmlProblem(text), "") << name;
    }
  }
}

TEST(WriteReport, ThePageTellsEverythingAboutARow) {
  const std::string html = Files()["report.html"];
  const std::vector<std::string> cells = ElementTexts(html, "td");
  for (const char* text :
       {"+12.0 %", "130.0 *", "OOM", "holds", "224.0", "2.00x", "does not fit", "none", "simulated",
        "not simulated", "A, judged", "A, fitted", "C, ignored", "1 exceeded", "12 times as fast",
        "Gemini", "Ratel (SSD)", "misses 1 of 2 rows by up to 30.0 %", "misses by 90.0 %"}) {
    EXPECT_THAT(cells, Contains(text));
  }
  EXPECT_THAT(html, HasSubstr("Drift bound exceeded: over, megatrain is 30.0 % off, the bound of "
                              "this known miss is 25 %"));
  EXPECT_THAT(html, HasSubstr("It is &lt;odd&gt; &amp; known."));
  EXPECT_THAT(html, HasSubstr("Why a row is missed &amp; more."));
  EXPECT_THAT(html, HasSubstr("a &lt;script&gt; note"));
  for (const MachineCalibration& entry : BuiltInCalibration().machines) {
    EXPECT_THAT(cells, Contains(entry.machine));
  }
}

// Sections in reading order.
TEST(WriteReport, ClaimsAndVerdictsComeFirstAndTheCalibrationLast) {
  const std::string html = Files()["report.html"];
  EXPECT_THAT(ElementTexts(html, "h2"),
              testing::ElementsAre("What the paper claims, and what we get",
                                   "Verdict by experiment", "Rows that miss, and why",
                                   "How to read this page", "A title", "A title", "Calibration"));
  // Only two sentences stand above the claims, and the contents below the misses.
  EXPECT_THAT(
      ElementTexts(html, "p")[0],
      HasSubstr("Of 2 claims of the MegaTrain paper that can be judged here, 1 holds, 0 are "
                "close and 1 misses."));
  EXPECT_LT(html.find("<table>"), html.find("<nav>"));
  EXPECT_LT(html.find("Rows that miss, and why</h2>"), html.find("<nav>"));
}

TEST(WriteReport, TheVerdictStandsBesideTheClaimAndWhatNobodyClaimsLast) {
  const std::vector<std::string> cells = ElementTexts(Files()["report.html"], "td");
  ASSERT_GE(cells.size(), 15u);
  EXPECT_THAT(std::span(cells).first(5),
              testing::ElementsAre("12 times as fast", "holds", "12x", "13x", ""));
  EXPECT_EQ(cells[6], "misses by 90.0 %");
  EXPECT_THAT(std::span(cells).subspan(10, 4),
              testing::ElementsAre("nobody says so", "not claimed", "-", "yes"));
}

TEST(WriteReport, NoTextForPeopleHasAnUnderscore) {
  const std::string html = Files()["report.html"];
  for (const char* tag : {"td", "th", "h2", "h3", "p", "figcaption", "caption", "text"}) {
    for (const std::string& text : ElementTexts(html, tag)) {
      EXPECT_THAT(text, Not(HasSubstr("_"))) << tag;
    }
  }
}

TEST(WriteReport, EveryChartIsDrawnForAWideAndForANarrowScreen) {
  const std::string html = Files()["report.html"];
  EXPECT_EQ(CountOf(html, "<div class=\"wide\"><svg"), 2);
  EXPECT_EQ(CountOf(html, "<div class=\"narrow\"><svg"), 2);
  EXPECT_EQ(CountOf(html, "viewBox=\"0 0 320 "), 2);
  // The files beside the page are the wide ones.
  EXPECT_THAT(Files()["made.svg"], HasSubstr("viewBox=\"0 0 720 "));
}

TEST(WriteReport, ErrorsAreColoredOnlyWhereTheyJudge) {
  const std::string html = Files()["report.html"];
  const auto tone_of = [&](const std::string& text) {
    const size_t end = html.find(">" + text + "<");
    EXPECT_NE(end, std::string::npos) << text;
    return html.substr(html.rfind("<td", end), end - html.rfind("<td", end));
  };
  EXPECT_THAT(tone_of("+12.0 %"), HasSubstr("warn"));
  EXPECT_THAT(tone_of("+30.0 %"), HasSubstr("bad"));
  EXPECT_THAT(tone_of("-50.0 %"), Not(testing::AnyOf(HasSubstr("bad"), HasSubstr("warn"))));
  EXPECT_THAT(tone_of("+7677.0 %"), HasSubstr("muted"));
}

TEST(WriteReport, TablesAreReadBackAsCsv) {
  const std::map<std::string, std::string> files = Files();
  const absl::StatusOr<CsvTable> rows = ParseCsv("made.csv", files.at("made.csv"));
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->rows.size(), 6);
  EXPECT_EQ(CellText(*rows, 0, *Column(*rows, "id")), "<b> & \"c\"");
  EXPECT_NEAR(**CellDouble(*rows, 0, *Column(*rows, "error_percent")), 12, 1e-9);
  EXPECT_EQ(**CellDouble(*rows, 0, *Column(*rows, "horizon")), 224);
  EXPECT_EQ(CellText(*rows, 1, *Column(*rows, "fits")), "no");
  EXPECT_EQ(CellText(*rows, 5, *Column(*rows, "how")), "not simulated");
  EXPECT_EQ(CellText(*rows, 5, *Column(*rows, "simulated")), "");
  for (const char* name : {"summary.csv", "claims.csv", "empty.csv"}) {
    EXPECT_TRUE(ParseCsv(name, files.at(name)).ok()) << name;
  }
}

TEST(WriteReport, ChartsShowWhatRanOutAndLeaveOutWhatIsIgnored) {
  const std::string svg = Files()["made.svg"];
  EXPECT_THAT(ElementTexts(svg, "text"), Contains("OOM"));
  EXPECT_THAT(ElementTexts(svg, "text"), Contains("published"));
  EXPECT_THAT(svg, Not(HasSubstr("7777")));
  EXPECT_THAT(svg, HasSubstr("224"));
}

class WriteReportFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }

  const std::unique_ptr<Io> io_ = MakePosixIo();
  const std::string folder_ = testing::TempDir() + "/report";
  const std::vector<ReportFile> files_ = {{"a.csv", "a\n"}, {"report.html", "<p/>\n"}};
};

TEST_F(WriteReportFiles, AreWrittenIntoANewFolderAndOverAnOldOne) {
  ASSERT_TRUE(WriteReport(*io_, folder_, files_).ok());
  EXPECT_EQ(*ReadTextFile(*io_, folder_ + "/a.csv"), "a\n");
  const std::vector<ReportFile> newer = {{"a.csv", "b\n"}};
  ASSERT_TRUE(WriteReport(*io_, folder_, newer).ok());
  EXPECT_EQ(*ReadTextFile(*io_, folder_ + "/a.csv"), "b\n");
  EXPECT_EQ(*ReadTextFile(*io_, folder_ + "/report.html"), "<p/>\n");
}

TEST_F(WriteReportFiles, AFileInTheFoldersPlaceIsNamed) {
  ASSERT_TRUE(WriteTextFile(*io_, folder_, "mine").ok());
  const absl::Status status = WriteReport(*io_, folder_, files_);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("not a directory"));
  EXPECT_EQ(*ReadTextFile(*io_, folder_), "mine");
}

TEST_F(WriteReportFiles, AMissingParentIsAnError) {
  const absl::Status status = WriteReport(*io_, folder_ + "/deep/er", files_);
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("deep/er"));
}

TEST_F(WriteReportFiles, WhateverFailsIsSaidAndLeavesNoPartOfAFile) {
  const uint64_t hit = ForEachFault(*io_, {.error_number = ENOSPC}, [&](FaultingIo& io) {
    std::filesystem::remove_all(folder_);
    const absl::Status status = WriteReport(io, folder_, files_);
    if (!io.reached()) {
      EXPECT_TRUE(status.ok()) << status;
      return;
    }
    // A failed clean-up after success is the only fault that may pass unseen.
    if (!status.ok()) {
      EXPECT_EQ(IoErrno(status), ENOSPC) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("report"));
    }
    for (const ReportFile& file : files_) {
      const absl::StatusOr<std::string> text = ReadTextFile(*io_, JoinPath(folder_, file.name));
      if (text.ok()) {
        EXPECT_EQ(*text, file.text);
      } else {
        EXPECT_FALSE(status.ok()) << file.name;
      }
    }
  });
  EXPECT_GT(hit, 10);
}

}  // namespace
}  // namespace horizon
