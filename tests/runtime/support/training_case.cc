#include "tests/runtime/support/training_case.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/check.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "gtest/gtest.h"
#include "model/files/convert.h"
#include "model/files/disk_tensors.h"
#include "model/files/model_files.h"
#include "model/load_model_spec.h"
#include "runtime/device/host_device.h"
#include "runtime/execution/trainer.h"
#include "runtime/parameters/random_init.h"
#include "schedule/lay_out_memory.h"
#include "tests/goldens/golden_names.h"
#include "tests/runtime/support/golden_json.h"

namespace horizon {
namespace {

// Position t predicts label t + 1; the last of a row predicts nothing.
std::vector<TokenRecord> Records(const Value& batch) {
  std::vector<TokenRecord> records;
  const Value::Array& ids = *Member(batch, "input_ids").As<Value::Array>();
  const Value::Array& labels = *Member(batch, "labels").As<Value::Array>();
  for (size_t row = 0; row < ids.size(); ++row) {
    const std::vector<double> id = Numbers(ids[row]);
    const std::vector<double> label = Numbers(labels[row]);
    for (size_t t = 0; t < id.size(); ++t) {
      records.push_back({.id = static_cast<int32_t>(id[t]),
                         .label = t + 1 < id.size() ? static_cast<int32_t>(label[t + 1]) : -100,
                         .position = static_cast<int32_t>(t)});
    }
  }
  LinkSameTokens(records);
  return records;
}

// Our tensors, by our names, and which tensor on disk each is part of.
void ReadTensors(Io& io, const std::string& folder, Golden& golden) {
  const absl::StatusOr<ModelFiles> files = ModelFiles::Open(io, folder);
  CHECK(files.ok());
  const std::vector<Stage> stages = ListStages(golden.spec);
  const absl::StatusOr<DiskNaming> naming = FindNaming(golden.spec, stages, *files);
  CHECK(naming.ok());
  for (const DiskTensor& on_disk : ListDiskTensors(stages, *naming)) {
    const TensorEntry& entry = *files->Find(on_disk.name)->tensor;
    std::vector<std::byte> bytes(entry.end - entry.begin);
    CHECK(files->ReadTensor(entry.name, bytes).ok());
    std::vector<float> values(bytes.size() / 4);
    CHECK(ConvertToFloat(entry.dtype, bytes, values).ok());
    for (const DiskPart& part : on_disk.parts) {
      const auto begin = values.begin() + static_cast<int64_t>(part.first);
      golden.tensors[part.tensor->name] = {begin,
                                           begin + static_cast<int64_t>(part.tensor->parameters)};
      golden.disk_names[part.tensor->name] = on_disk.name;
      golden.parts_on_disk[on_disk.name].push_back(part.tensor->name);
    }
  }
}

// The kept gradient of a slice behind what is there.
void AddGradient(const Trainer& trainer, const ParameterStore::Place& place,
                 std::vector<float>& gradient) {
  const RunMemory& memory = trainer.memory();
  const BufferId kept = memory.Find(BufferKind::kKeptGradient, place.chunk);
  if (!place.slice.trained() || kept < 0 || memory.buffer(kept).memory == Memory::kDevice) return;
  const bool fp32 = BytesOfParameter(trainer.schedule().job).kept_gradient == 4_B;
  const uint64_t begin = place.slice.trained_offset;
  for (uint64_t i = begin; i < begin + place.slice.count; ++i) {
    gradient.push_back(fp32 ? memory.As<float>(kept)[i]
                            : FloatFromBf16(memory.As<uint16_t>(kept)[i]));
  }
}

}  // namespace

Golden LoadGolden(const std::string& family) {
  const std::unique_ptr<Io> files = MakePosixIo();
  Io& io = *files;
  const std::string folder = StrCat("tests/goldens/", family);
  Golden golden;
  const absl::StatusOr<ModelConfig> config = LoadModelSpec(io, folder);
  CHECK(config.ok());
  golden.spec = config->spec;
  const Document document = ReadGoldenJson(family + "/expected.json");
  const Value& root = document.root;
  for (const Value& batch : *Member(root, "batches").As<Value::Array>()) {
    golden.batches.push_back(Records(batch));
  }
  golden.first_loss = Number(Member(root, "first_loss"));
  golden.gradient_norm = Number(Member(root, "gradient_norm"));
  golden.losses = Numbers(Member(root, "losses"));
  for (const auto& [name, norm] : *Member(root, "gradient_norms").As<Value::Object>()) {
    golden.gradient_norms[name] = Number(norm);
  }
  const Value& optimizer = Member(root, "optimizer");
  golden.job.sequence = 40;
  golden.job.micro_batch = 2;
  golden.job.steps = static_cast<int64_t>(golden.batches.size());
  golden.job.learning_rate = Number(Member(optimizer, "learning_rate"));
  golden.job.beta1 = Number(Member(optimizer, "beta1"));
  golden.job.beta2 = Number(Member(optimizer, "beta2"));
  golden.job.epsilon = Number(Member(optimizer, "epsilon"));
  golden.job.weight_decay = Number(Member(optimizer, "weight_decay"));
  golden.job.decay_all = true;
  golden.job.clip_norm = Number(Member(optimizer, "clip_norm"));
  golden.job.compute_type = NumberType::kFp32;
  golden.job.gradient_type = NumberType::kFp32;
  ReadTensors(io, folder, golden);
  return golden;
}

std::vector<std::string> DenseGoldens() {
  std::vector<std::string> names = PlainGoldens();
  for (const std::string& name : WrapperGoldens()) names.push_back(name);
  return names;
}

std::map<std::string, double> NormsOnDisk(const Golden& golden,
                                          const TrainingCaseOutcome& outcome) {
  std::map<std::string, double> squares;
  for (size_t i = 0; i < outcome.tensor_names.size(); ++i) {
    const double norm = outcome.steps[0].norms[i];
    squares[golden.disk_names.at(outcome.tensor_names[i])] += norm * norm;
  }
  for (auto& [name, square] : squares) square = std::sqrt(square);
  return squares;
}

std::map<std::string, std::vector<float>> TensorsOnDisk(
    const Golden& golden, const std::map<std::string, std::vector<float>>& tensors) {
  std::map<std::string, std::vector<float>> on_disk;
  for (const auto& [name, parts] : golden.parts_on_disk) {
    std::vector<float>& values = on_disk[name];
    for (const std::string& part : parts) {
      const std::vector<float>& more = tensors.at(part);
      values.insert(values.end(), more.begin(), more.end());
    }
  }
  return on_disk;
}

TrainingCaseOutcome RunGolden(const Golden& golden, const TrainingJob& job, const StreamPlan& plan,
                              int64_t steps) {
  absl::StatusOr<TrainingCaseOutcome> outcome = RunTrainingCase(
      {.spec = golden.spec,
       .job = job,
       .plan = plan,
       .source = SourceOf(golden),
       .batch = [&](int64_t step,
                    int64_t) { return golden.batches[static_cast<size_t>(step - 1)]; },
       .steps = steps});
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *std::move(outcome) : TrainingCaseOutcome{};
}

double RelativeError(double got, double wanted) {
  // Both are 0 where no token chose an expert.
  return got == wanted ? 0 : std::abs(got - wanted) / std::abs(wanted);
}

double Cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double dot = 0;
  double a_square = 0;
  double b_square = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += double{a[i]} * b[i];
    a_square += double{a[i]} * a[i];
    b_square += double{b[i]} * b[i];
  }
  return dot / std::sqrt(a_square * b_square);
}

std::vector<TokenRecord> RandomTokens(const ModelSpec& spec, const TrainingJob& job, uint64_t seed,
                                      int64_t ignored) {
  std::vector<TokenRecord> records(static_cast<size_t>(job.micro_batch_tokens()));
  uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
  const auto next = [&state] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].id = static_cast<int32_t>(next() % static_cast<uint64_t>(spec.vocab));
    records[i].label = static_cast<int32_t>(next() % static_cast<uint64_t>(spec.vocab));
    if (ignored > 0 && static_cast<int64_t>(i) % ignored == 0) records[i].label = -100;
    const bool begins = static_cast<int64_t>(i) % job.sequence == 0 || next() % 20 == 0;
    records[i].position = begins ? 0 : records[i - 1].position + 1;
  }
  LinkSameTokens(records);
  return records;
}

MakeDevice OnHostDevice() {
  return [](Bytes bytes) -> absl::StatusOr<std::unique_ptr<Device>> {
    static RealClock clock;
    ASSIGN_OR_RETURN(std::unique_ptr<HostDevice> device,
                     HostDevice::Create({.capacity = bytes, .clock = &clock}));
    return device;
  };
}

absl::StatusOr<TrainingCaseOutcome> RunTrainingCase(const RunRequest& request) {
  ASSIGN_OR_RETURN(const MemoryLayout layout,
                   LayOutMemory(request.spec, request.job, request.plan));
  ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                   request.device(layout.totals[static_cast<size_t>(Memory::kDevice)]));
  RealClock clock;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Trainer> trainer,
      Trainer::Create(request.spec, request.job, request.plan,
                      {.device = *device,
                       .kernels = request.kernels == nullptr ? HostKernels() : *request.kernels,
                       .clock = clock,
                       .device_context = request.device_context}));
  RETURN_IF_ERROR(trainer->store().Fill(request.source));
  TrainingCaseOutcome outcome;
  outcome.tensor_names = trainer->TensorNames();
  RETURN_IF_ERROR(trainer->Train(
      1, request.steps,
      [&](int64_t number) -> absl::StatusOr<StepInput> {
        StepInput input{.learning_rate = request.job.learning_rate};
        for (int64_t mb = 0; mb < request.job.accumulation; ++mb) {
          const std::vector<TokenRecord> batch = request.batch(number, mb);
          input.tokens.insert(input.tokens.end(), batch.begin(), batch.end());
        }
        input.counted = std::count_if(input.tokens.begin(), input.tokens.end(),
                                      [](const TokenRecord& token) { return token.label >= 0; });
        return input;
      },
      [&](const Trainer::Report& report) -> absl::StatusOr<Trainer::Next> {
        outcome.steps.push_back(report.result);
        return Trainer::Next::kContinue;
      }));
  ASSIGN_OR_RETURN(outcome.digest, trainer->store().Digest());
  for (const ParameterStore::Place& place : trainer->store().places()) {
    AddGradient(*trainer, place, outcome.gradients[place.slice.tensor->name]);
    if (place.slice.first != 0) continue;
    std::vector<float>& values = outcome.tensors[place.slice.tensor->name];
    values.resize(place.slice.tensor->parameters);
    RETURN_IF_ERROR(trainer->store().ReadMaster(*place.slice.tensor, 0, values));
  }
  return outcome;
}

void ExpectEqualRuns(const TrainingCaseOutcome& got, const TrainingCaseOutcome& wanted) {
  ASSERT_EQ(got.steps.size(), wanted.steps.size());
  for (size_t i = 0; i < got.steps.size(); ++i) {
    EXPECT_EQ(got.steps[i].loss, wanted.steps[i].loss) << "step " << i + 1;
    EXPECT_EQ(got.steps[i].gradient_norm, wanted.steps[i].gradient_norm) << "step " << i + 1;
    EXPECT_EQ(got.steps[i].norms, wanted.steps[i].norms) << "step " << i + 1;
  }
  EXPECT_EQ(got.digest, wanted.digest);
  EXPECT_EQ(got.tensor_names, wanted.tensor_names);
  for (const auto& [name, values] : wanted.tensors) EXPECT_EQ(got.tensors.at(name), values) << name;
}

StreamPlan ResidentPlan() {
  StreamPlan plan;
  plan.strategy = Strategy::kResident;
  plan.embedding_home = EmbeddingHome::kDevice;
  plan.recompute = false;
  return plan;
}

ParameterStore::Source SourceOf(const Golden& golden) {
  return [&golden](const TensorSpec& tensor, uint64_t first, std::span<float> into) {
    const std::vector<float>& values = golden.tensors.at(tensor.name);
    std::copy_n(values.begin() + static_cast<int64_t>(first), into.size(), into.begin());
    return absl::OkStatus();
  };
}

ParameterStore::Source RandomSource(const ModelSpec& spec, int64_t seed) {
  return [&spec, seed](const TensorSpec& tensor, uint64_t first, std::span<float> into) {
    FillRandomTensor(spec, tensor, seed, first, into);
    return absl::OkStatus();
  };
}

}  // namespace horizon
