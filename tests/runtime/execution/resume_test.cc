// A run that is saved while it goes on and taken up again, under whatever plan, ends with the bits
// of the run that was never stopped.
#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/files/faulting_io.h"
#include "common/files/io.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/embedding/embedding.h"
#include "runtime/checkpoint/checkpoint_layout.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_saver.h"
#include "runtime/checkpoint/load_checkpoint.h"
#include "runtime/checkpoint/run_lock.h"
#include "runtime/device/host_device.h"
#include "runtime/loop/metrics.h"
#include "runtime/loop/training_run.h"
#include "tests/model/test_files.h"
#include "tests/runtime/support/small_training.h"

namespace horizon {
namespace {

// Rows drawn from where it stands.
class DrawnTokens final : public TokenSource {
 public:
  DrawnTokens(const ModelSpec& spec, const TrainingJob& job) : spec_(spec), job_(job) {}
  absl::StatusOr<int64_t> Fill(std::span<TokenRecord> records) override {
    const std::vector<TokenRecord> drawn =
        RandomTokens(spec_, job_, static_cast<uint64_t>(1 + position_.index), 3);
    std::copy(drawn.begin(), drawn.end(), records.begin());
    ++position_.index;
    return std::count_if(drawn.begin(), drawn.end(),
                         [](const TokenRecord& token) { return token.label >= 0; });
  }
  DataPosition position() const override { return position_; }
  double passes() const override { return 0.5 * static_cast<double>(position_.index); }
  absl::Status Seek(DataPosition position) override {
    position_ = position;
    return absl::OkStatus();
  }

 private:
  const ModelSpec& spec_;
  const TrainingJob& job_;
  DataPosition position_;
};

struct Outcome {
  absl::Status status;
  uint64_t digest = 0;
  std::string metrics;
  std::vector<SaveReport> saves;
  std::vector<size_t> threads;  // of the process, after each step
  RunSummary summary;
};

struct Request {
  StreamPlan plan;
  int64_t every = 0;
  std::string folder;
  std::string resume;  // a checkpoint
  bool must_succeed = false;
  int64_t stop_after = 0;
  std::function<absl::Status()> check_folder;
  bool evaluates = false;  // after the last step, one batch
  Io* io = nullptr;
  int64_t keep = 100;
};

class Resume : public testing::Test {
 public:
  Resume() : folder_(MakeTestFolder(*io_)) {
    spec_.vocab = 1100;  // three tiles
    // Attention and feed-forward are larger than a tile.
    spec_.heads = spec_.kv_heads = 24;
    spec_.intermediate = 200;
    job_ = TinyJob();
    job_.steps = 8;
    job_.gradient_type = NumberType::kFp32;
  }

  std::string NewFolder() {
    std::string folder = StrCat(folder_, "/run", ++folders_);
    EXPECT_TRUE(io_->MakeDirectory(folder).ok());
    return folder;
  }

  Outcome Run(const Request& request) {
    Outcome outcome;
    outcome.status = TryRun(request, outcome);
    return outcome;
  }

  absl::Status TryRun(const Request& request, Outcome& outcome) {
    Io& io = request.io == nullptr ? *io_ : *request.io;
    ASSIGN_OR_RETURN(const std::unique_ptr<HostDevice> device,
                     HostDevice::Create({.capacity = Bytes(uint64_t{1} << 24), .clock = &clock_}));
    ASSIGN_OR_RETURN(
        const std::unique_ptr<Trainer> trainer,
        Trainer::Create(spec_, job_, request.plan,
                        {.device = *device, .kernels = HostKernels(), .clock = clock_}));
    DrawnTokens data(spec_, job_);
    TrainingRun run{.io = *io_,
                    .clock = clock_,
                    .device = *device,
                    .trainer = *trainer,
                    .data = data,
                    .folder = request.folder};
    if (request.resume.empty()) {
      RETURN_IF_ERROR(trainer->store().Fill(RandomSource(spec_, 3)));
    } else {
      ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(*io_, request.resume));
      RETURN_IF_ERROR(LoadCheckpoint(checkpoint, trainer->store()));
      if (!job_.trains_all()) RETURN_IF_ERROR(trainer->store().FillFrozen(RandomSource(spec_, 3)));
      const Manifest& manifest = checkpoint.manifest();
      run.first_step = manifest.step + 1;
      run.counters = manifest.facts.counters;
      RETURN_IF_ERROR(data.Seek(manifest.facts.data_position));
      RETURN_IF_ERROR(CutAfterStep(*io_, request.folder + "/metrics.jsonl", manifest.step));
    }
    ASSIGN_OR_RETURN(const RunLock lock, RunLock::Acquire(*io_, request.folder));
    ASSIGN_OR_RETURN(
        const CheckpointLayout layout,
        LayOutCheckpoint(SavedTensorsOf(trainer->schedule()), job_.state_format, SaveMode::kFull));
    ASSIGN_OR_RETURN(
        const std::unique_ptr<CheckpointSaver> saver,
        CheckpointSaver::Create(
            trainer->schedule(), trainer->store(),
            {.io = io, .clock = clock_, .lock = lock, .layout = layout, .keep = request.keep}));
    const RunSaving saving{
        .saver = *saver,
        .every = request.every,
        .must_succeed = request.must_succeed,
        .on_save = [&](const SaveReport& report) { outcome.saves.push_back(report); }};
    if (request.every != 0) run.saving = &saving;
    std::unique_ptr<ModelPass> held_out;
    DrawnTokens held_out_data(spec_, job_);
    std::optional<RunEvaluation> evaluation;
    if (request.evaluates) {
      ASSIGN_OR_RETURN(
          held_out,
          ModelPass::CreateBeside(
              {.spec = spec_, .job = job_, .plan = request.plan, .kind = PassKind::kEvaluate},
              trainer->pass()));
      evaluation.emplace(RunEvaluation{
          .pass = *held_out, .data = held_out_data, .data_ended = [] { return true; }});
      run.evaluation = &*evaluation;
    }
    run.stop_requested = [&] { return stopping_; };
    run.check_folder = request.check_folder;
    run.on_step = [&](const StepProgress& progress) {
      stopping_ = progress.step == request.stop_after;
      outcome.threads.push_back(io_->List("/proc/self/task")->size());
    };
    stopping_ = false;
    ASSIGN_OR_RETURN(outcome.summary, RunTrainingLoop(run));
    ASSIGN_OR_RETURN(outcome.digest, trainer->store().Digest());
    ASSIGN_OR_RETURN(outcome.metrics, ReadTextFile(*io_, request.folder + "/metrics.jsonl"));
    return absl::OkStatus();
  }

  // Steps and losses of a metrics file, without times.
  static std::string Losses(const std::string& metrics) {
    std::string losses;
    for (size_t begin = 0; begin < metrics.size();) {
      const size_t end = metrics.find('\n', begin);
      const std::string line = metrics.substr(begin, end - begin);
      losses += line.substr(0, line.find(", \"learning_rate\"")) + "\n";
      begin = end + 1;
    }
    return losses;
  }

  StreamPlan Plain() const { return {}; }
  StreamPlan NoPrefetch() const {
    StreamPlan plan;
    plan.backward_prefetch = false;
    plan.buffer_depth = 3;
    return plan;
  }
  StreamPlan Reference() const {
    StreamPlan plan;
    plan.strategy = Strategy::kReference;
    plan.embedding_home = EmbeddingHome::kDevice;
    return plan;
  }
  StreamPlan Resident() const {
    StreamPlan plan;
    plan.strategy = Strategy::kResident;
    plan.embedding_home = EmbeddingHome::kDevice;
    plan.recompute = false;
    return plan;
  }
  // Of the head, of attention and of feed-forward.
  StreamPlan Shards() const {
    StreamPlan plan;
    plan.chunk_bytes = 6200 * BytesOfParameter(job_).link;
    plan.buffer_depth = 3;
    plan.compute_threads = 2;
    plan.optimizer_threads = 2;
    return plan;
  }

  using PlanOf = StreamPlan (Resume::*)() const;
  struct Kind {
    OptimizerPlace place;
    StateFormat format;
    NumberType compute;
    std::vector<PlanOf> plans;
  };
  static const std::vector<Kind> kKinds;
  void Take(const Kind& kind) {
    job_.optimizer_place = kind.place;
    job_.state_format = kind.format;
    job_.compute_type = kind.compute;
    job_.clip_norm = kind.place == OptimizerPlace::kInBackward ? 0 : 1;
  }
  void ExpectEqualFromEveryCheckpoint(const std::vector<PlanOf>& plans,
                                      const std::vector<int64_t>& cadences);

  std::unique_ptr<Io> io_ = MakePosixIo();
  RealClock clock_;
  std::string folder_;
  int folders_ = 0;
  ModelSpec spec_ = TinyLlama();
  TrainingJob job_;
  bool stopping_ = false;
};

const std::vector<Resume::Kind> Resume::kKinds = {
    {OptimizerPlace::kBehindForward,
     StateFormat::kFp32,
     NumberType::kFp32,
     {&Resume::NoPrefetch, &Resume::Shards}},
    {OptimizerPlace::kInBackward,
     StateFormat::kBf16Moments,
     NumberType::kBf16,
     {&Resume::Plain, &Resume::Shards}},
    {OptimizerPlace::kAfterStep,
     StateFormat::k8BitMoments,
     NumberType::kBf16,
     {&Resume::Shards, &Resume::Reference, &Resume::Resident}},
    {OptimizerPlace::kAfterStep,
     StateFormat::kBf16Weights,
     NumberType::kBf16,
     {&Resume::Plain, &Resume::Resident}}};

// Saved under one plan and taken up under the next, from each of its checkpoints.
void Resume::ExpectEqualFromEveryCheckpoint(const std::vector<PlanOf>& plans,
                                            const std::vector<int64_t>& cadences) {
  const Outcome whole = Run({.folder = NewFolder()});
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  for (size_t p = 0; p < plans.size(); ++p) {
    for (const int64_t every : cadences) {
      const std::string folder = NewFolder();
      const Outcome saved = Run({.plan = (this->*plans[p])(), .every = every, .folder = folder});
      ASSERT_TRUE(saved.status.ok()) << saved.status;
      EXPECT_EQ(saved.digest, whole.digest);
      EXPECT_EQ(Losses(saved.metrics), Losses(whole.metrics));
      const auto found = FindCheckpoints(*io_, folder);
      ASSERT_TRUE(found.ok()) << found.status();
      ASSERT_EQ(found->size(), every == 1 ? 8u : 3u);
      for (const FoundCheckpoint& checkpoint : *found) {
        const Outcome again = Run({.plan = (this->*plans[(p + 1) % plans.size()])(),
                                   .folder = folder,
                                   .resume = checkpoint.path});
        if (checkpoint.step == job_.steps) continue;
        ASSERT_TRUE(again.status.ok()) << again.status;
        EXPECT_EQ(again.digest, whole.digest) << "from step " << checkpoint.step;
        EXPECT_EQ(Losses(again.metrics), Losses(whole.metrics)) << checkpoint.step;
        EXPECT_EQ(again.summary.first_loss, whole.summary.first_loss);
        EXPECT_EQ(again.summary.best_loss, whole.summary.best_loss);
      }
    }
  }
}

TEST_F(Resume, EndsWithTheSameBitsFromEveryCheckpointUnderEveryPlan) {
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(StrCat(ToString(kind.place), " ", ToString(kind.format)));
    Take(kind);
    ExpectEqualFromEveryCheckpoint(kind.plans, {1, 3});
  }
}

// Checkpoints hold the trained tensors alone; the frozen ones are read where the run began.
TEST_F(Resume, SoDoesARunThatTrainsAPartOfTheModel) {
  struct Part {
    std::vector<std::string> train;
    std::vector<std::string> freeze;
  };
  const std::vector<Part> parts = {
      {.train = {"model.layers.1.*", "lm_head.weight"}, .freeze = {"*norm*", "*up_proj*"}},
      {.freeze = {"model.layers.[12].self_attn.*", "lm_head.weight"}}};
  for (const Part& part : parts) {
    job_.train = part.train;
    job_.freeze = part.freeze;
    for (const Kind& kind : kKinds) {
      SCOPED_TRACE(StrCat(part.freeze[0], " ", ToString(kind.place), " ", ToString(kind.format)));
      Take(kind);
      ExpectEqualFromEveryCheckpoint(kind.plans, {3});
    }
  }
}

// Of a tensor of all experts each has norm blocks, moment blocks and rounding of its own.
TEST_F(Resume, SoDoesAMixtureOfExperts) {
  for (const bool fused : {false, true}) {
    spec_.family = fused ? "gpt_oss" : "qwen3_moe";
    spec_.experts = {
        .experts = 3, .experts_per_token = 2, .intermediate = 30, .fused_tensors = fused};
    for (LayerSpec& layer : spec_.layers) layer.has_experts = true;
    job_.router_aux_loss = 0.01;
    for (const Kind& kind : kKinds) {
      SCOPED_TRACE(
          StrCat(fused ? "fused " : "separate ", ToString(kind.place), " ", ToString(kind.format)));
      Take(kind);
      ExpectEqualFromEveryCheckpoint(kind.plans, {3});
    }
  }
}

// What a checkpoint holds is what its own run trains: loading it for another set of tensors is
// refused by the tensor, whichever of the two sets is the larger one.
TEST_F(Resume, ACheckpointOfAnotherSetOfTrainedTensorsIsRefused) {
  job_.train = {"model.layers.1.*"};
  const Outcome saved = Run({.every = 4, .folder = NewFolder()});
  ASSERT_TRUE(saved.status.ok()) << saved.status;
  const std::string path = saved.saves.front().path;
  for (const std::vector<std::string>& other :
       {std::vector<std::string>{"model.layers.1.*", "model.norm.weight"},
        {"model.layers.1.mlp.*"},
        {}}) {
    job_.train = other;
    const absl::Status status = Run({.folder = NewFolder(), .resume = path}).status;
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_NE(status.message().find(".weight"), absl::string_view::npos) << status;
  }
}

// The disk takes a while for every call: many steps pass, or wait, during a save.
TEST_F(Resume, ASaveOnASlowDiskHoldsOneStep) {
  job_.steps = 20;
  const Outcome whole = Run({.folder = NewFolder()});
  for (const bool shards : {false, true}) {
    FaultingIo slow(*io_,
                    {.kind = FaultPlan::Kind::kDelay,
                     .extent = FaultPlan::Extent::kFromThereOn,
                     .at_call = 1,
                     .delay = std::chrono::microseconds(300)},
                    &clock_);
    const std::string folder = NewFolder();
    const Outcome saved =
        Run({.plan = shards ? Shards() : StreamPlan{}, .every = 7, .folder = folder, .io = &slow});
    ASSERT_TRUE(saved.status.ok()) << saved.status;
    EXPECT_EQ(saved.digest, whole.digest);
    ASSERT_EQ(saved.saves.size(), 3u);
    for (const SaveReport& report : saved.saves) {
      EXPECT_TRUE(report.status.ok()) << report.status;
      EXPECT_GT(report.bytes, 0_B);
      // Stopped there, the run has the state that was saved.
      const Outcome stopped =
          Run({.every = 1000, .folder = NewFolder(), .stop_after = report.step});
      ASSERT_TRUE(stopped.status.ok()) << stopped.status;
      const Outcome again = Run({.folder = folder, .resume = report.path});
      EXPECT_EQ(again.digest, whole.digest) << report.step;
    }
  }
}

TEST_F(Resume, AStoppedRunIsSavedAndGoesOn) {
  const Outcome whole = Run({.folder = NewFolder()});
  for (int64_t stop = 1; stop < job_.steps; ++stop) {
    const std::string folder = NewFolder();
    const Outcome stopped = Run({.every = 1000, .folder = folder, .stop_after = stop});
    ASSERT_TRUE(stopped.status.ok()) << stopped.status;
    EXPECT_EQ(stopped.summary.interrupted, stopped.summary.steps < job_.steps);
    ASSERT_TRUE(stopped.summary.saved.has_value());
    // A step more may have been under way.
    EXPECT_GE(stopped.summary.saved->step, stop);
    EXPECT_LE(stopped.summary.saved->step, stop + 1);
    EXPECT_EQ(stopped.summary.saved->step, stopped.summary.steps);
    if (stopped.summary.steps == job_.steps) continue;
    const Outcome again =
        Run({.plan = Shards(), .folder = folder, .resume = stopped.summary.saved->path});
    ASSERT_TRUE(again.status.ok()) << again.status;
    EXPECT_EQ(again.digest, whole.digest);
    EXPECT_EQ(Losses(again.metrics), Losses(whole.metrics));
  }
}

// Whichever call of the saves fails, the run ends as without it, every save is reported, and the
// checkpoints that are there are whole.
TEST_F(Resume, TrainingGoesOnAfterAFailedSave) {
  job_.steps = 4;
  const Outcome whole = Run({.folder = NewFolder()});
  int failed = 0;
  bool reached = true;
  // Every call of a save by itself is failed in the tests of the writer.
  for (uint64_t call = 1; reached; call += 5) {
    FaultingIo faulting(*io_, {.at_call = call, .error_number = ENOSPC});
    const std::string folder = NewFolder();
    const Outcome saved = Run({.every = 2, .folder = folder, .io = &faulting});
    ASSERT_TRUE(saved.status.ok()) << saved.status;
    EXPECT_EQ(saved.digest, whole.digest);
    ASSERT_EQ(saved.saves.size(), 2u);
    for (const SaveReport& report : saved.saves) failed += !report.status.ok();
    const auto found = FindCheckpoints(*io_, folder);
    ASSERT_TRUE(found.ok()) << found.status();
    for (const FoundCheckpoint& checkpoint : *found) {
      const absl::StatusOr<Checkpoint> open = Checkpoint::Open(*io_, checkpoint.path);
      ASSERT_TRUE(open.ok()) << open.status();
      EXPECT_TRUE(open->VerifyPayload().ok());
    }
    reached = faulting.reached();
  }
  EXPECT_GT(failed, 20);
}

TEST_F(Resume, AFailedSaveEndsTheRunWhereThatIsAskedFor) {
  FaultingIo faulting(*io_, {.extent = FaultPlan::Extent::kFromThereOn, .at_call = 3});
  const Outcome saved =
      Run({.every = 2, .folder = NewFolder(), .must_succeed = true, .io = &faulting});
  EXPECT_EQ(IoErrno(saved.status), EIO) << saved.status;
}

TEST_F(Resume, AThreadIsStartedForTheRunAndNoneForASave) {
  const Outcome saved = Run({.every = 1, .folder = NewFolder()});
  ASSERT_TRUE(saved.status.ok()) << saved.status;
  ASSERT_EQ(saved.threads.size(), 8u);
  EXPECT_EQ(saved.threads, std::vector<size_t>(8, saved.threads[0]));
}

TEST_F(Resume, AStateThatCannotBeSavedInTheEndIsReportedAndStillThere) {
  const Outcome whole = Run({.folder = NewFolder()});
  for (const int64_t stop_after : {0, 5}) {
    FaultingIo faulting(
        *io_, {.extent = FaultPlan::Extent::kFromThereOn, .at_call = 3, .error_number = ENOSPC});
    const Outcome saved = Run({.every = 100,
                               .folder = NewFolder(),
                               .must_succeed = true,
                               .stop_after = stop_after,
                               .io = &faulting});
    ASSERT_TRUE(saved.status.ok()) << saved.status;
    EXPECT_EQ(IoErrno(saved.summary.end_not_saved), ENOSPC) << saved.summary.end_not_saved;
    ASSERT_EQ(saved.saves.size(), 1u);
    EXPECT_TRUE(saved.saves[0].at_end);
    EXPECT_EQ(saved.summary.steps, stop_after == 0 ? 8 : 6);  // the one under way ends too
    if (stop_after == 0) {
      EXPECT_EQ(saved.digest, whole.digest);
    }
  }
}

TEST_F(Resume, ALostFolderEndsTheStepsAtOnceAndNothingIsSavedThere) {
  int asked = 0;
  const Outcome lost = Run({.every = 100, .folder = NewFolder(), .check_folder = [&] {
                              return ++asked < 3 ? absl::OkStatus() : IoError(ESTALE, "see it");
                            }});
  ASSERT_TRUE(lost.status.ok()) << lost.status;
  EXPECT_EQ(IoErrno(lost.summary.folder_lost), ESTALE);
  EXPECT_EQ(lost.summary.steps, 4);  // the one under way ends too
  EXPECT_EQ(asked, 3);
  EXPECT_TRUE(lost.saves.empty());
}

TEST_F(Resume, KeepsAsManyAsAskedFor) {
  const std::string folder = NewFolder();
  const Outcome saved = Run({.every = 1, .folder = folder, .keep = 3});
  ASSERT_TRUE(saved.status.ok()) << saved.status;
  const auto found = FindCheckpoints(*io_, folder);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 3u);
  EXPECT_EQ(found->front().step, 8);
}

TEST_F(Resume, ACheckpointOfAnotherModelIsRefused) {
  const std::string folder = NewFolder();
  const Outcome saved = Run({.every = 4, .folder = folder});
  ASSERT_TRUE(saved.status.ok()) << saved.status;
  const std::string path = saved.saves.front().path;
  spec_.layers.resize(4);
  absl::Status status = Run({.folder = NewFolder(), .resume = path}).status;
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_NE(status.message().find("model.layers.3"), absl::string_view::npos) << status;
  spec_.layers.resize(2);
  status = Run({.folder = NewFolder(), .resume = path}).status;
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  spec_.layers.resize(3);
  spec_.intermediate = 22;
  status = Run({.folder = NewFolder(), .resume = path}).status;
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

// A stop that is heard behind the last step, or while it is under way, stops nothing: the run is
// complete, and nobody would make its last evaluation later.
TEST_F(Resume, AStopAtTheEndDoesNotTakeTheLastEvaluation) {
  const Outcome whole =
      Run({.plan = Plain(), .every = 3, .folder = NewFolder(), .evaluates = true});
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  ASSERT_TRUE(whole.summary.evaluation.has_value());
  for (const int64_t stop : {job_.steps - 1, job_.steps}) {
    const std::string folder = NewFolder();
    const Outcome stopped =
        Run({.plan = Plain(), .every = 3, .folder = folder, .stop_after = stop, .evaluates = true});
    ASSERT_TRUE(stopped.status.ok()) << stopped.status;
    EXPECT_EQ(stopped.summary.steps, job_.steps) << stop;
    EXPECT_FALSE(stopped.summary.interrupted) << stop;
    ASSERT_TRUE(stopped.summary.evaluation.has_value()) << stop;
    EXPECT_EQ(stopped.summary.evaluation->loss(), whole.summary.evaluation->loss());
    EXPECT_TRUE(io_->Info(folder + "/eval.jsonl").ok());
  }
}

}  // namespace
}  // namespace horizon
