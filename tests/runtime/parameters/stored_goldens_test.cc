// Model folders in the layouts and formats that transformers writes and reads
// (tests/goldens/stored).
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "model/files/convert.h"
#include "model/files/disk_tensors.h"
#include "model/files/safetensors_reader.h"
#include "model/load_model_spec.h"
#include "model/stages.h"
#include "runtime/parameters/model_source.h"

namespace horizon {
namespace {

constexpr char kFolder[] = "tests/goldens/stored/";

ModelSpec SpecOf(Io& io, const std::string& folder) {
  absl::StatusOr<ModelConfig> config = LoadModelSpec(io, folder);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? config->spec : ModelSpec{};
}

// All values that a folder gives, by our names of the tensors.
std::map<std::string, std::vector<float>> ValuesIn(Io& io, const std::string& folder,
                                                   const ModelSpec& spec) {
  std::map<std::string, std::vector<float>> values;
  const absl::StatusOr<ParameterSource> source = OpenModelSource(io, folder, spec);
  EXPECT_TRUE(source.ok()) << source.status();
  if (!source.ok()) return values;
  for (const Stage& stage : ListStages(spec)) {
    for (const TensorSpec& tensor : stage.tensors) {
      std::vector<float>& into = values[tensor.name];
      into.resize(tensor.parameters);
      EXPECT_EQ((*source)(tensor, 0, into), absl::OkStatus()) << tensor.name;
    }
  }
  return values;
}

TEST(StoredGoldens, BothLayoutsOfExpertsHoldTheSameModel) {
  const std::unique_ptr<Io> io = MakePosixIo();
  for (const std::string name : {"mixtral", "qwen3_moe"}) {
    const std::string usual = StrCat(kFolder, name, "_usual");
    const std::string fused = StrCat(kFolder, name, "_fused");
    ModelSpec spec = SpecOf(*io, usual);
    ModelSpec other = SpecOf(*io, fused);
    other.name = spec.name;
    EXPECT_TRUE(spec == other);
    const auto values = ValuesIn(*io, usual, spec);
    EXPECT_EQ(values.size(), name == "mixtral" ? 35u : 32u);
    EXPECT_TRUE(values == ValuesIn(*io, fused, spec)) << name;
  }
}

// What transformers makes of a quantised folder, with its names in memory, in which all experts of
// a layer are one tensor.
TEST(StoredGoldens, QuantisedFoldersHaveTheValuesOfTransformers) {
  const std::unique_ptr<Io> io = MakePosixIo();
  for (const std::string name : {"gpt_oss_mxfp4", "qwen3_moe_fp8"}) {
    const std::string folder = kFolder + name;
    const ModelSpec spec = SpecOf(*io, folder);
    const auto values = ValuesIn(*io, folder, spec);
    const absl::StatusOr<SafetensorsReader> file =
        SafetensorsReader::Open(*io, folder + "/dequantized.safetensors");
    ASSERT_TRUE(file.ok()) << file.status();
    const std::vector<Stage> stages = ListStages(spec);
    const std::vector<DiskTensor> tensors =
        ListDiskTensors(stages, DiskNaming::kPlain, ExpertLayout::kFused);
    EXPECT_EQ(file->header().tensors().size(), tensors.size());
    for (const DiskTensor& tensor : tensors) {
      const TensorEntry* entry = file->header().Find(tensor.name);
      ASSERT_NE(entry, nullptr) << tensor.name;
      ASSERT_EQ(entry->shape, tensor.shape);
      std::vector<std::byte> bytes(entry->bytes().value());
      ASSERT_EQ(file->ReadTensor(tensor.name, bytes), absl::OkStatus());
      std::vector<float> wanted(bytes.size() * 8 / BitsOf(entry->dtype));
      ASSERT_EQ(ConvertToFloat(entry->dtype, bytes, wanted), absl::OkStatus());
      std::vector<float> got;
      for (const DiskPart& part : tensor.parts) {
        const std::vector<float>& more = values.at(part.tensor->name);
        got.insert(got.end(), more.begin(), more.end());
      }
      ASSERT_EQ(got, wanted) << name << " " << tensor.name;
    }
  }
}

}  // namespace
}  // namespace horizon
