#include "model/catalog.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "common/io.h"
#include "model/load_model_spec.h"
#include "model/stages.h"

namespace horizon {
namespace {

// Published counts of the weights files; active ones follow from the shapes (embedding and head
// included).
const std::map<std::string, ParameterCounts> kPublished = {
    {"gpt-oss-120b", {116'829'156'672, 5'711'982'912}},
    {"gpt-oss-20b", {20'914'757'184, 4'187'440'704}},
    {"llama-3.1-405b", {405'853'388'800, 405'853'388'800}},
    {"llama-3.1-70b", {70'553'706'496, 70'553'706'496}},
    {"llama-3.1-8b", {8'030'261'248, 8'030'261'248}},
    {"mistral-7b", {7'241'732'096, 7'241'732'096}},
    {"mistral-7b-v0.3", {7'248'023'552, 7'248'023'552}},
    {"mixtral-8x7b", {46'702'792'704, 12'879'925'248}},
    {"qwen2.5-0.5b", {494'032'768, 494'032'768}},
    {"qwen2.5-1.5b", {1'543'714'304, 1'543'714'304}},
    {"qwen2.5-14b", {14'770'033'664, 14'770'033'664}},
    {"qwen2.5-32b", {32'763'876'352, 32'763'876'352}},
    {"qwen2.5-3b", {3'085'938'688, 3'085'938'688}},
    {"qwen2.5-72b", {72'706'203'648, 72'706'203'648}},
    {"qwen2.5-7b", {7'615'616'512, 7'615'616'512}},
    {"qwen3-0.6b", {596'049'920, 596'049'920}},
    {"qwen3-30b-a3b", {30'532'122'624, 3'353'032'704}},
    {"qwen3-32b", {32'762'123'264, 32'762'123'264}},
    {"qwen3-8b", {8'190'735'360, 8'190'735'360}},
};

TEST(Catalog, HasThePublishedModels) {
  std::set<std::string> names;
  for (const std::string& name : CatalogNames()) EXPECT_TRUE(names.insert(name).second) << name;
  std::set<std::string> published;
  for (const auto& [name, counts] : kPublished) published.insert(name);
  EXPECT_EQ(names, published);
}

TEST(Catalog, EveryCountIsThePublishedOne) {
  for (const CatalogEntry& entry : Catalog()) {
    const std::string name(entry.name);
    const absl::StatusOr<ModelConfig> config = LoadModelSpec(*MakePosixIo(), name);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->spec.name, name);
    EXPECT_TRUE(config->ignored_keys.empty()) << name << ": " << config->ignored_keys[0];
    const ParameterCounts counts = CountParameters(ListStages(config->spec));
    EXPECT_EQ(counts.total, kPublished.at(name).total) << name;
    EXPECT_EQ(counts.active, kPublished.at(name).active) << name;
  }
}

TEST(Catalog, FindsNamesInAnyCase) {
  ASSERT_NE(FindInCatalog("Qwen2.5-7B"), nullptr);
  EXPECT_EQ(FindInCatalog("Qwen2.5-7B")->name, "qwen2.5-7b");
  EXPECT_EQ(FindInCatalog("qwen2.5-7"), nullptr);
  EXPECT_EQ(FindInCatalog("qwen2.5-7b "), nullptr);
  EXPECT_EQ(FindInCatalog(""), nullptr);
}

TEST(Catalog, KnowsWhatIsSpecialInEachModel) {
  const auto load = [](const std::string& name) {
    return LoadModelSpec(*MakePosixIo(), name).value().spec;
  };
  EXPECT_EQ(load("mistral-7b").layers[31].sliding_window, 4096);
  EXPECT_EQ(load("mistral-7b-v0.3").layers[31].sliding_window, 0);
  EXPECT_EQ(load("gpt-oss-20b").layers[0].sliding_window, 128);
  EXPECT_EQ(load("gpt-oss-20b").layers[1].sliding_window, 0);
  EXPECT_EQ(load("llama-3.1-405b").ropes[0].kind, RopeKind::kLlama3);
  EXPECT_EQ(load("llama-3.1-405b").ropes[0].original_max_positions, 8192);
  EXPECT_TRUE(load("qwen2.5-3b").tied);
  EXPECT_FALSE(load("qwen2.5-7b").tied);
  EXPECT_EQ(load("qwen2.5-7b").layers[27].sliding_window, 0);
  EXPECT_TRUE(load("qwen3-30b-a3b").experts.normalise_top_k);
  EXPECT_EQ(load("qwen3-0.6b").head_dim, 128);
}

}  // namespace
}  // namespace horizon
