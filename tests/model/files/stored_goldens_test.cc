// Dequantised values compared with those of transformers (tests/goldens/stored).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "model/files/convert.h"
#include "model/files/dequantize.h"
#include "model/files/dtype.h"
#include "model/files/safetensors_reader.h"

namespace horizon {
namespace {

// One file of goldens, open.
class GoldenFile {
 public:
  explicit GoldenFile(const std::string& name)
      : io_(MakePosixIo()), reader_(SafetensorsReader::Open(*io_, "tests/goldens/stored/" + name)) {
    EXPECT_TRUE(reader_.ok()) << reader_.status();
  }

  std::vector<int64_t> Shape(const std::string& name) const {
    return reader_->header().Find(name)->shape;
  }
  std::vector<std::byte> Bytes(const std::string& name) const {
    std::vector<std::byte> bytes(reader_->header().Find(name)->bytes().value());
    EXPECT_EQ(reader_->ReadTensor(name, bytes), absl::OkStatus());
    return bytes;
  }
  std::vector<float> Values(const std::string& name) const {
    const Dtype dtype = reader_->header().Find(name)->dtype;
    const std::vector<std::byte> bytes = Bytes(name);
    std::vector<float> values(bytes.size() * 8 / BitsOf(dtype));
    EXPECT_EQ(ConvertToFloat(dtype, bytes, values), absl::OkStatus());
    return values;
  }

 private:
  std::unique_ptr<Io> io_;
  absl::StatusOr<SafetensorsReader> reader_;
};

uint32_t Bits(float value) { return std::bit_cast<uint32_t>(value); }

TEST(StoredGoldens, Mxfp4HasTheValuesOfTransformers) {
  const GoldenFile file("mxfp4.safetensors");
  const std::vector<int64_t> shape = file.Shape("values");  // [experts, inputs, outputs]
  const std::vector<std::byte> blocks = file.Bytes("blocks");
  const std::vector<std::byte> scales = file.Bytes("scales");
  const std::vector<float> wanted = file.Values("values");
  const auto columns = static_cast<uint64_t>(shape[1]);
  const auto rows = static_cast<uint64_t>(shape[2]);
  const uint64_t size = rows * columns;
  // Both ends of what scales can be.
  EXPECT_EQ(std::count(scales.begin(), scales.end(), std::byte{0}) > 0, true);
  EXPECT_EQ(std::count(scales.begin(), scales.end(), std::byte{252}) > 0, true);
  for (uint64_t expert = 0; expert < static_cast<uint64_t>(shape[0]); ++expert) {
    std::vector<float> got(size);
    DequantizeMxfp4Transposed({.blocks = std::span(blocks).subspan(expert * size / 2, size / 2),
                               .scales = std::span(scales).subspan(expert * size / 32, size / 32),
                               .rows = rows,
                               .columns = columns},
                              0, got);
    for (uint64_t i = 0; i < size; ++i) {
      ASSERT_EQ(Bits(got[i]), Bits(wanted[expert * size + i])) << expert << " " << i;
    }
  }
}

// Where transformers gets an infinity, so do we; such weights are refused where they are read. The
// third block has the scale that is no number: it is refused before this function is called.
TEST(StoredGoldens, Mxfp4OverflowsWhereTransformersDoes) {
  const GoldenFile file("mxfp4.safetensors");
  const std::vector<std::byte> blocks = file.Bytes("extreme_blocks");
  const std::vector<std::byte> scales = file.Bytes("extreme_scales");
  const std::vector<float> wanted = file.Values("extreme_values");
  ASSERT_EQ(scales, (std::vector<std::byte>{std::byte{253}, std::byte{254}, kMxfp4NanScale}));
  std::vector<float> got(wanted.size());
  DequantizeMxfp4Transposed({.blocks = blocks, .scales = scales, .rows = 1, .columns = 96}, 0, got);
  uint64_t infinite = 0;
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(Bits(got[i]), Bits(wanted[i])) << i;
    infinite += std::isinf(got[i]) ? 1 : 0;
  }
  EXPECT_EQ(infinite, 8u + 16u);  // magnitudes 4 and 6 with 2^126; 2, 3, 4 and 6 with 2^127
}

TEST(StoredGoldens, Fp8HasTheValuesOfTransformersInBothTypes) {
  const GoldenFile file("fp8.safetensors");
  struct Case {
    std::string name;
    uint64_t block_rows;
    uint64_t block_columns;
  };
  for (const Case& golden : {Case{"usual", 128, 128}, Case{"small", 8, 16}}) {
    const std::vector<int64_t> shape = file.Shape(golden.name + ".codes");
    const auto rows = static_cast<uint64_t>(shape[shape.size() - 2]);
    const auto columns = static_cast<uint64_t>(shape.back());
    const std::vector<std::byte> codes = file.Bytes(golden.name + ".codes");
    const std::vector<float> scales = file.Values(golden.name + ".scales");
    const std::vector<float> fp32 = file.Values(golden.name + ".fp32");
    const std::vector<float> bf16 = file.Values(golden.name + ".bf16");
    for (uint64_t i = 0; i < codes.size(); ++i) {
      const uint64_t row = i / columns;  // matrices one after another: rows is a multiple of blocks
      ASSERT_EQ(rows % golden.block_rows, 0u);
      const float scale = scales[row / golden.block_rows * (columns / golden.block_columns) +
                                 i % columns / golden.block_columns];
      float got = 0;
      DequantizeE4m3(std::span(codes).subspan(i, 1), scale, std::span(&got, 1));
      ASSERT_EQ(Bits(got), Bits(fp32[i])) << golden.name << " " << i;
      // transformers rounds the fp32 product to the type that the model is loaded in.
      ASSERT_EQ(Bits(FloatFromBf16(Bf16FromFloat(got))), Bits(bf16[i])) << golden.name << " " << i;
    }
  }
}

}  // namespace
}  // namespace horizon
