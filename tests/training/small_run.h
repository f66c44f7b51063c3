#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

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

// A training of a model of two layers on data of token ids, in a folder of the test's own: what
// `train` would be told, ready to be changed. One thread.
class SmallRun {
 public:
  SmallRun();
  ~SmallRun();

  // Through `io`, which may be one that fails.
  TrainingContext Context(Io& io);
  TrainingContext Context() { return Context(*io_); }
  Io& io() { return *io_; }
  const LoadedModel& model() const { return model_; }
  TrainingSettings settings;
  int asked_for_machine = 0;
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string LogText();

  // The steps one after the other; an error fails the test.
  PreparedTraining Prepare();
  BegunTraining Begin();
  FinishedTraining Train(const std::function<bool()>& stop_requested = {});
  // The steps and the end of it through `io`.
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
