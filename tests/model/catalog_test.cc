#include "model/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "common/files/io.h"
#include "model/load_model_spec.h"
#include "model/stages.h"

namespace horizon {
namespace {

// Total and active parameters. Where the numbers come from:
//   total   the number of parameters that the model card on Hugging Face gives for its safetensors
//           files. Cards of tied models whose files hold the head a second time (qwen3-0.6b, -1.7b)
//           count it twice; it is here once. The cards of gemma-3-4b, -12b and -27b give
//           4'300'079'472, 12'187'325'040 and 27'432'406'640 with the image encoder and its
//           projector, which are 419'816'304, 421'290'864 and 423'060'336 of them.
//           For exaone-4.0 we had the rounded 1.28B and 32.0B of its authors' README alone; the
//           numbers here are those of transformers.
//   active  what one token touches, from the shapes (embedding and head included).
// All totals, and from them the active numbers, were computed a second time with transformers 5.23:
// unique parameters of AutoModelForCausalLM.from_config on the meta device.
const std::map<std::string, ParameterCounts> kPublished = {
    {"exaone-4.0-1.2b", {1'279'391'488, 1'279'391'488}},
    {"exaone-4.0-32b", {32'003'216'384, 32'003'216'384}},
    {"gemma-3-12b", {11'766'034'176, 11'766'034'176}},
    {"gemma-3-1b", {999'885'952, 999'885'952}},
    {"gemma-3-27b", {27'009'346'304, 27'009'346'304}},
    {"gemma-3-4b", {3'880'263'168, 3'880'263'168}},
    {"gpt-oss-120b", {116'829'156'672, 5'711'982'912}},
    {"gpt-oss-20b", {20'914'757'184, 4'187'440'704}},
    {"granite-3.3-2b", {2'533'539'840, 2'533'539'840}},
    {"granite-3.3-8b", {8'170'864'640, 8'170'864'640}},
    {"llama-3.1-405b", {405'853'388'800, 405'853'388'800}},
    {"llama-3.1-70b", {70'553'706'496, 70'553'706'496}},
    {"llama-3.1-8b", {8'030'261'248, 8'030'261'248}},
    {"llama-3.2-1b", {1'235'814'400, 1'235'814'400}},
    {"llama-3.2-3b", {3'212'749'824, 3'212'749'824}},
    {"llama-3.3-70b", {70'553'706'496, 70'553'706'496}},
    {"mistral-7b", {7'241'732'096, 7'241'732'096}},
    {"mistral-7b-v0.3", {7'248'023'552, 7'248'023'552}},
    {"mistral-nemo-12b", {12'247'782'400, 12'247'782'400}},
    {"mistral-small-24b", {23'572'403'200, 23'572'403'200}},
    {"mixtral-8x7b", {46'702'792'704, 12'879'925'248}},
    {"olmo-2-13b", {13'716'198'400, 13'716'198'400}},
    {"olmo-2-32b", {32'234'279'936, 32'234'279'936}},
    {"olmo-2-7b", {7'298'617'344, 7'298'617'344}},
    {"olmo-3-32b", {32'233'522'176, 32'233'522'176}},
    {"olmo-3-7b", {7'298'011'136, 7'298'011'136}},
    {"phi-4", {14'659'507'200, 14'659'507'200}},
    {"phi-4-mini", {3'836'021'760, 3'836'021'760}},
    {"qwen2.5-0.5b", {494'032'768, 494'032'768}},
    {"qwen2.5-1.5b", {1'543'714'304, 1'543'714'304}},
    {"qwen2.5-14b", {14'770'033'664, 14'770'033'664}},
    {"qwen2.5-32b", {32'763'876'352, 32'763'876'352}},
    {"qwen2.5-3b", {3'085'938'688, 3'085'938'688}},
    {"qwen2.5-72b", {72'706'203'648, 72'706'203'648}},
    {"qwen2.5-7b", {7'615'616'512, 7'615'616'512}},
    {"qwen3-0.6b", {596'049'920, 596'049'920}},
    {"qwen3-1.7b", {1'720'574'976, 1'720'574'976}},
    {"qwen3-14b", {14'768'307'200, 14'768'307'200}},
    {"qwen3-235b-a22b", {235'093'634'560, 22'190'763'520}},
    {"qwen3-30b-a3b", {30'532'122'624, 3'353'032'704}},
    {"qwen3-32b", {32'762'123'264, 32'762'123'264}},
    {"qwen3-4b", {4'022'468'096, 4'022'468'096}},
    {"qwen3-8b", {8'190'735'360, 8'190'735'360}},
    {"smollm2-1.7b", {1'711'376'384, 1'711'376'384}},
    {"smollm2-135m", {134'515'008, 134'515'008}},
    {"smollm2-360m", {361'821'120, 361'821'120}},
    {"smollm3-3b", {3'075'098'624, 3'075'098'624}},
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
  EXPECT_EQ(FindInCatalog("qwen2.5-7b "), FindCatalogName("qwen2.5-7b"));
  EXPECT_EQ(FindInCatalog(""), nullptr);
}

TEST(FindInCatalog, UnderstandsNamesAndIdsAsPeopleTypeThem) {
  for (const char* typed :
       {"Qwen2.5 7B", "qwen2.5_7b", "Qwen2.5-7B-Instruct", "qwen/qwen2.5-7b-instruct",
        "https://huggingface.co/Qwen/Qwen2.5-7B", "hf.co/Qwen/Qwen2.5-7B-Instruct"}) {
    const CatalogEntry* entry = FindInCatalog(typed);
    ASSERT_NE(entry, nullptr) << typed;
    EXPECT_EQ(entry->name, "qwen2.5-7b") << typed;
  }
  EXPECT_EQ(FindInCatalog("llama3.1-8b"), FindCatalogName("llama-3.1-8b"));
}

// A model that resembles one of the catalog may have another shape.
TEST(FindInCatalog, TakesNoOtherModelForTheOneThatIsMeant) {
  for (const char* typed :
       {"qwen2-57b", "qwen257b", "unsloth/Llama-3.1-8B-Instruct", "Qwen2.5-7B-Instruct-1M",
        "llama-8b", "Qwen/", "/", "-", "https://huggingface.co/", "Qwen/Qwen2.5"}) {
    EXPECT_EQ(FindInCatalog(typed), nullptr) << typed;
  }
}

// Otherwise one of two models would be taken silently.
TEST(FindInCatalog, NoTwoModelsHaveOneSpelling) {
  for (const CatalogEntry& entry : Catalog()) {
    std::string spaced(entry.name);
    std::replace(spaced.begin(), spaced.end(), '-', ' ');
    EXPECT_EQ(FindInCatalog(spaced), &entry) << spaced;
  }
  for (const CatalogId& id : CatalogIds()) {
    const std::string_view model = id.id.substr(id.id.find('/') + 1);
    ASSERT_NE(FindInCatalog(model), nullptr) << model;
    EXPECT_EQ(FindInCatalog(model)->name, id.name) << model;
  }
}

TEST(Catalog, FindsHuggingFaceIdsInAnyCase) {
  const auto name_of = [](std::string_view id) {
    const CatalogEntry* entry = FindInCatalog(id);
    return entry == nullptr ? "" : std::string(entry->name);
  };
  EXPECT_EQ(name_of("meta-llama/Llama-3.1-8B"), "llama-3.1-8b");
  EXPECT_EQ(name_of("Qwen/Qwen3-4B"), "qwen3-4b");
  EXPECT_EQ(name_of("google/gemma-3-4b-pt"), "gemma-3-4b");
  EXPECT_EQ(name_of("allenai/OLMo-2-1124-7B"), "olmo-2-7b");
  EXPECT_EQ(name_of("MISTRALAI/mistral-small-24b-instruct-2501"), "mistral-small-24b");
  EXPECT_EQ(name_of("somebody/Llama-3.1-8B"), "");
  EXPECT_EQ(name_of("meta-llama/Llama-3.1-8B-Instruct-GGUF"), "");
  EXPECT_EQ(FindCatalogName("Qwen/Qwen3-4B"), nullptr);
}

TEST(Catalog, EveryEntryHasIdsAndNoIdIsTwice) {
  std::set<std::string> ids;
  std::set<std::string> names;
  for (const CatalogId& id : CatalogIds()) {
    std::string lower(id.id);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    EXPECT_TRUE(ids.insert(lower).second) << id.id;
    EXPECT_NE(lower.find('/'), std::string::npos) << id.id;
    ASSERT_NE(FindCatalogName(id.name), nullptr) << id.name;
    EXPECT_EQ(FindInCatalog(id.id), FindCatalogName(id.name)) << id.id;
    names.emplace(id.name);
  }
  EXPECT_EQ(names.size(), Catalog().size());
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
  EXPECT_EQ(load("llama-3.2-1b").ropes[0].factor, 32);
  EXPECT_EQ(load("gemma-3-27b").attention_scale, 1.0 / std::sqrt(168.0));
  EXPECT_EQ(load("gemma-3-27b").ropes[0].kind, RopeKind::kLinear);
  EXPECT_EQ(load("gemma-3-27b").layers[5].rope, 0);
  EXPECT_EQ(load("gemma-3-27b").layers[6].sliding_window, 1024);
  EXPECT_EQ(load("gemma-3-1b").ropes[0].kind, RopeKind::kDefault);
  EXPECT_EQ(load("olmo-3-7b").ropes[0].kind, RopeKind::kYarn);
  EXPECT_EQ(load("olmo-3-7b").ropes[1], RopeSpec{.theta = 500000});
  EXPECT_EQ(load("phi-4-mini").ropes[0].rotary_dim, 96);
  EXPECT_EQ(load("phi-4-mini").ropes[0].long_factors.size(), 48u);
  EXPECT_EQ(load("smollm3-3b").layers[3].rope, kNoRotary);
  EXPECT_TRUE(load("smollm3-3b").tied);
  EXPECT_EQ(load("exaone-4.0-1.2b").layers[3].rope, 0);
  EXPECT_EQ(load("exaone-4.0-1.2b").ropes[0].kind, RopeKind::kLlama3);
  EXPECT_TRUE(load("exaone-4.0-1.2b").tied);
  EXPECT_EQ(load("exaone-4.0-32b").layers[2], LayerSpec{.sliding_window = 4096});
  EXPECT_EQ(load("exaone-4.0-32b").layers[3], LayerSpec{.rope = kNoRotary});
  EXPECT_EQ(load("granite-3.3-8b").logit_multiplier, 1.0 / 16);
}

}  // namespace
}  // namespace horizon
