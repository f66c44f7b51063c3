// The files of examples/: every key is an option of `train`, every value one that it takes, and the
// options go together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "app/options/config_file.h"
#include "app/options/train_options.h"
#include "common/files/io.h"
#include "model/load_model_spec.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

std::vector<std::string> Examples(Io& io) {
  std::vector<std::string> names;
  const absl::StatusOr<std::vector<std::string>> all = io.List("examples");
  for (const std::string& name : *all) {
    if (name.ends_with(".yaml")) names.push_back(name);
  }
  return names;
}

TEST(Examples, AreTheOnesThatTheReadmeNames) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::vector<std::string> names = Examples(*io);
  EXPECT_THAT(names,
              IsSupersetOf({"cpu.yaml", "finetune.yaml", "pretrain.yaml", "small_gpu.yaml"}));
  const std::string readme = *ReadTextFile(*io, "examples/README.md");
  for (const std::string& name : names) EXPECT_THAT(readme, HasSubstr("](" + name + ")"));
}

TEST(Examples, AreReadWithoutAnErrorAndSayWhatIsRequired) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const absl::StatusOr<ModelConfig> model = LoadModelSpec(*io, "qwen2.5-7b");
  ASSERT_TRUE(model.ok()) << model.status();
  for (const std::string& name : Examples(*io)) {
    SCOPED_TRACE(name);
    TrainOptions options;
    OptionList list;
    options.AddTo(list);
    const absl::Status read = ReadConfigFile(*io, "examples/" + name, list.options);
    ASSERT_TRUE(read.ok()) << read;
    for (const Option& option : list.options) {
      EXPECT_FALSE(option.required) << option.name << " is missing";
    }
    const DeviceKind device = options.device == "cuda" ? DeviceKind::kCuda : DeviceKind::kHost;
    const absl::StatusOr<TrainingJob> job = options.job.ToJob(model->spec, device);
    EXPECT_TRUE(job.ok()) << job.status();
  }
}

TEST(Examples, BeginWithWhatTheyAreForAndFitAHundredAndThirtyColumns) {
  const std::unique_ptr<Io> io = MakePosixIo();
  for (const std::string& name : Examples(*io)) {
    SCOPED_TRACE(name);
    const std::string text = *ReadTextFile(*io, "examples/" + name);
    EXPECT_TRUE(text.starts_with("# "));
    for (const absl::string_view line : absl::StrSplit(text, '\n')) EXPECT_LE(line.size(), 130u);
  }
}

}  // namespace
}  // namespace horizon
