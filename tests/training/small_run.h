#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/files/io.h"
#include "common/log.h"
#include "model/load_model_spec.h"
#include "training/begin_training.h"
#include "training/finish_training.h"
#include "training/prepare_training.h"
#include "training/train_steps.h"
#include "training/training_context.h"
#include "training/training_settings.h"

namespace horizon {

// A small training run for tests: a model of two layers, data of token ids, and a temporary folder.
// A test changes `settings` as needed and then calls the steps:
//   SmallRun run;
//   run.settings.job.steps = 5;
//   const FinishedTraining finished = run.Train();
// One thread uses it.
class SmallRun {
 public:
  SmallRun();
  // Of another model, whose config.json this is; it has a vocabulary of 128.
  explicit SmallRun(std::string_view config);
  ~SmallRun();

  // The context of the run; all file access goes through `io`, which may be a FaultingIo.
  TrainingContext Context(Io& io);
  TrainingContext Context() { return Context(*io_); }
  Io& io() { return *io_; }
  const LoadedModel& model() const { return model_; }
  TrainingSettings settings;
  int machine_requests = 0;  // how often the run has asked for the machine's profile
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string LogText();  // everything logged so far

  // Each runs the steps of a training up to its own: prepare, begin, or all of them. An error fails
  // the test.
  PreparedTraining Prepare();
  BegunTraining Begin();
  FinishedTraining Train(const std::function<bool()>& stop_requested = {});
  // The same, with TrainSteps and FinishTraining through `io`.
  FinishedTraining Train(Io& io, const std::function<bool()>& stop_requested = {});

 private:
  const std::unique_ptr<Io> io_ = MakePosixIo();
  const std::string folder_;
  RealClock clock_;
  std::FILE* const log_file_;
  Log log_;
  LoadedModel model_;
};

}  // namespace horizon
