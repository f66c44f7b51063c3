#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/files/io.h"
#include "common/units.h"
#include "model/files/disk_tensors.h"
#include "model/files/model_folder_writer.h"
#include "model/model_spec.h"
#include "model/quantization.h"

namespace horizon {

// A model folder whose tensors are known, for tests of quantised and fused weights.

// A tensor of a folder with its bytes.
struct TestTensor {
  TensorDeclaration declaration;
  std::vector<std::byte> bytes;
};

// The tensors of a folder, in the order in which they are written, and what a reader must find:
// the values of our tensors by our names, computed from the bytes with the formulas alone.
struct TestFolder {
  std::string config_text;
  std::vector<TestTensor> tensors;
  std::map<std::string, std::vector<float>> values;

  // A failure fails the test if there is no such tensor.
  TestTensor& Tensor(std::string_view name);
  void Remove(std::string_view name);
};

// How a test folder is stored.
struct TestStorage {
  // Where a config.json has `quantization_config`, it is as this says.
  Quantization quantization = {};
  Dtype scale_dtype = Dtype::kF32;  // fp8
  ExpertLayout experts = ExpertLayout::kUsual;
  unsigned seed = 1;
};

// Makes a folder of the model of `config_text`, a config.json without quantization_config, which is
// added as `storage` has it. With kMxfp4 the experts are stored in MXFP4, with kFp8 all matrices
// but the tables and routers; the other tensors are BF16. Codes, scales and values differ from
// place to place.
TestFolder MakeTestFolderOf(const std::string& config_text, const TestStorage& storage);

// Writes the tensors and the config.json. The folder must exist.
void WriteTestFolder(Io& io, const std::string& folder, const TestFolder& content,
                     Bytes max_shard = 1_GiB);

// The values of codes, written down from the definitions of the formats.
float ReferenceE4m3(unsigned code);
float ReferenceE2m1(unsigned code);

}  // namespace horizon
