#include "tests/model/quantized_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "common/check.h"
#include "common/text/str_cat.h"
#include "model/files/convert.h"
#include "model/files/tensor_entry.h"
#include "model/stages.h"
#include "tests/model/model_specs.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

uint64_t ElementsOf(const std::vector<int64_t>& shape) {
  uint64_t elements = 1;
  for (const int64_t length : shape) elements *= static_cast<uint64_t>(length);
  return elements;
}

std::string ConfigWith(const std::string& config_text, const Quantization& quantization) {
  if (quantization.method == QuantMethod::kNone) return config_text;
  const std::string settings =
      quantization.method == QuantMethod::kMxfp4
          ? R"({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]})"
          : StrCat(R"({"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", )",
                   R"("weight_block_size": [)", quantization.block_rows, ", ",
                   quantization.block_columns, "]}");
  const size_t end = config_text.rfind('}');
  return StrCat(config_text.substr(0, end), ", \"quantization_config\": ", settings, "}");
}

template <typename T>
std::vector<std::byte> BytesOf(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// Makes the tensors of one folder.
class Maker {
 public:
  Maker(const TestStorage& storage, TestFolder& folder) : storage_(storage), folder_(folder) {}

  void Add(const DiskTensor& tensor) {
    const TensorRole role = tensor.parts.front().tensor->role;
    const bool is_fused = role == TensorRole::kGateUp || role == TensorRole::kExpertsDown;
    const bool is_matrix =
        tensor.shape.size() >= 2 && role != TensorRole::kTable && role != TensorRole::kRouter;
    seed_ += 1;
    std::vector<float> values;
    if (storage_.quantization.method == QuantMethod::kMxfp4 && is_fused) {
      values = AddMxfp4(tensor);
    } else if (storage_.quantization.method == QuantMethod::kFp8 && is_matrix) {
      values = AddFp8(tensor);
    } else {
      values = AddBf16(tensor);
    }
    for (const DiskPart& part : tensor.parts) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(part.first);
      folder_.values[part.tensor->name] =
          std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(part.tensor->parameters));
    }
  }

 private:
  void Put(const std::string& name, Dtype dtype, std::vector<int64_t> shape,
           std::vector<std::byte> bytes) {
    CHECK(TensorBytes(dtype, shape)->value() == bytes.size());
    folder_.tensors.push_back(
        {.declaration = {.name = name, .dtype = dtype, .shape = std::move(shape)},
         .bytes = std::move(bytes)});
  }

  std::vector<float> AddBf16(const DiskTensor& tensor) {
    const std::vector<std::byte> pattern = PatternBytes(ElementsOf(tensor.shape), seed_);
    std::vector<uint16_t> bits;
    std::vector<float> values;
    bits.reserve(pattern.size());
    values.reserve(pattern.size());
    for (const std::byte byte : pattern) {
      bits.push_back(static_cast<uint16_t>(0x3C00 | static_cast<uint16_t>(byte) << 1));
      values.push_back(std::bit_cast<float>(uint32_t{bits.back()} << 16));
    }
    Put(tensor.name, Dtype::kBF16, tensor.shape, BytesOf(bits));
    return values;
  }

  std::vector<float> AddFp8(const DiskTensor& tensor) {
    std::vector<std::byte> codes = PatternBytes(ElementsOf(tensor.shape), seed_);
    for (std::byte& code : codes) {
      if ((code & std::byte{0x7F}) == std::byte{0x7F}) code = std::byte{0x31};  // not NaN
    }
    const auto rows = static_cast<uint64_t>(tensor.shape[tensor.shape.size() - 2]);
    const auto columns = static_cast<uint64_t>(tensor.shape.back());
    const auto block_rows = static_cast<uint64_t>(storage_.quantization.block_rows);
    const auto block_columns = static_cast<uint64_t>(storage_.quantization.block_columns);
    const uint64_t scale_rows = (rows + block_rows - 1) / block_rows;
    const uint64_t scale_columns = (columns + block_columns - 1) / block_columns;
    const uint64_t matrices = codes.size() / (rows * columns);
    const std::vector<std::byte> pattern =
        PatternBytes(matrices * scale_rows * scale_columns, seed_ + 1000);
    std::vector<float> scales;
    scales.reserve(pattern.size());
    for (const std::byte byte : pattern) {
      // Exact as bf16.
      scales.push_back((1.0F + static_cast<float>(byte & std::byte{0x7F}) / 128.0F) * 0x1p-9F);
    }
    std::vector<float> values;
    values.reserve(codes.size());
    for (uint64_t i = 0; i < codes.size(); ++i) {
      const uint64_t row = i / columns % rows;
      const uint64_t scale =
          (i / (rows * columns) * scale_rows + row / block_rows) * scale_columns +
          i % columns / block_columns;
      values.push_back(ReferenceE4m3(static_cast<unsigned>(codes[i])) * scales[scale]);
    }
    std::vector<int64_t> shape = tensor.shape;
    shape[shape.size() - 2] = static_cast<int64_t>(scale_rows);
    shape.back() = static_cast<int64_t>(scale_columns);
    std::vector<std::byte> scale_bytes(scales.size() * BitsOf(storage_.scale_dtype) / 8);
    CHECK(ConvertFromFloat(scales, storage_.scale_dtype, scale_bytes).ok());
    Put(tensor.name, Dtype::kF8E4M3, tensor.shape, std::move(codes));
    Put(StrCat(tensor.name, "_scale_inv"), storage_.scale_dtype, std::move(shape),
        std::move(scale_bytes));
    return values;
  }

  // The logical tensor is [experts, inputs, outputs].
  std::vector<float> AddMxfp4(const DiskTensor& tensor) {
    const auto inputs = static_cast<uint64_t>(tensor.shape[1]);
    const auto outputs = static_cast<uint64_t>(tensor.shape[2]);
    const uint64_t elements = ElementsOf(tensor.shape);
    const std::vector<std::byte> blocks = PatternBytes(elements / 2, seed_);
    std::vector<std::byte> scales = PatternBytes(elements / 32, seed_ + 1000);
    for (std::byte& scale : scales) {
      scale = static_cast<std::byte>(110 + static_cast<unsigned>(scale) % 20);
    }
    std::vector<float> values(elements);
    for (uint64_t i = 0; i < elements; ++i) {
      const uint64_t expert = i / (inputs * outputs);
      const uint64_t input = i / outputs % inputs;
      const uint64_t stored = (expert * outputs + i % outputs) * inputs + input;
      const auto byte = static_cast<unsigned>(blocks[stored / 2]);
      const unsigned code = stored % 2 == 0 ? byte & 15 : byte >> 4;
      values[i] = std::ldexp(ReferenceE2m1(code), static_cast<int>(scales[stored / 32]) - 127);
    }
    Put(StrCat(tensor.name, "_blocks"), Dtype::kU8,
        {tensor.shape[0], tensor.shape[2], tensor.shape[1] / 32, 16}, blocks);
    Put(StrCat(tensor.name, "_scales"), Dtype::kU8,
        {tensor.shape[0], tensor.shape[2], tensor.shape[1] / 32}, scales);
    return values;
  }

  const TestStorage& storage_;
  TestFolder& folder_;
  unsigned seed_ = storage_.seed * 100'000;
};

}  // namespace

TestTensor& TestFolder::Tensor(std::string_view name) {
  for (TestTensor& tensor : tensors) {
    if (tensor.declaration.name == name) return tensor;
  }
  ADD_FAILURE() << "no tensor " << name;
  return tensors.front();
}

void TestFolder::Remove(std::string_view name) {
  EXPECT_EQ(std::erase_if(
                tensors, [&](const TestTensor& tensor) { return tensor.declaration.name == name; }),
            1u)
      << name;
}

TestFolder MakeTestFolderOf(const std::string& config_text, const TestStorage& storage) {
  TestFolder folder{.config_text = ConfigWith(config_text, storage.quantization)};
  const absl::StatusOr<ModelConfig> config = ReadConfigText(folder.config_text);
  EXPECT_TRUE(config.ok()) << config.status();
  if (!config.ok()) return folder;
  const std::vector<Stage> stages = ListStages(config->spec);
  Maker maker(storage, folder);
  for (const DiskTensor& tensor : ListDiskTensors(stages, DiskNaming::kPlain, storage.experts)) {
    maker.Add(tensor);
  }
  return folder;
}

void WriteTestFolder(Io& io, const std::string& folder, const TestFolder& content,
                     Bytes max_shard) {
  std::vector<TensorDeclaration> declarations;
  std::map<std::string, const TestTensor*> by_name;
  for (const TestTensor& tensor : content.tensors) {
    declarations.push_back(tensor.declaration);
    by_name[tensor.declaration.name] = &tensor;
  }
  const absl::Status written = WriteModelFolder(
      io, folder, declarations,
      [&](const TensorDeclaration& tensor, uint64_t offset, std::span<std::byte> into) {
        const std::vector<std::byte>& bytes = by_name.at(tensor.name)->bytes;
        CHECK(offset + into.size() <= bytes.size());
        std::memcpy(into.data(), bytes.data() + offset, into.size());
        return absl::OkStatus();
      },
      {.max_shard = max_shard});
  ASSERT_TRUE(written.ok()) << written;
  WriteBytes(io, JoinPath(folder, "config.json"), content.config_text);
}

float ReferenceE4m3(unsigned code) {
  const int exponent = static_cast<int>(code >> 3 & 15);
  const int mantissa = static_cast<int>(code & 7);
  const float sign = (code & 0x80) != 0 ? -1.0F : 1.0F;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -9);
  return sign * std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
}

float ReferenceE2m1(unsigned code) {
  constexpr float kMagnitudes[] = {0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F};
  const float magnitude = kMagnitudes[code & 7];
  return (code & 8) != 0 ? -magnitude : magnitude;
}

}  // namespace horizon
