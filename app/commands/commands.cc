#include "app/commands/commands.h"

namespace horizon {

CommandList MakeCommands() {
  CommandList commands;
  commands.push_back(MakePlanCommand());
  commands.push_back(MakeMaxModelCommand());
  commands.push_back(MakeCompareCommand());
  commands.push_back(MakeSimulateCommand());
  commands.push_back(MakeModelsCommand());
  commands.push_back(MakeModelCommand());
  commands.push_back(MakeMachinesCommand());
  commands.push_back(MakeProfileCommand());
  commands.push_back(MakeDemoCommand());
  commands.push_back(MakeTrainCommand());
  commands.push_back(MakeDataCommand());
  commands.push_back(MakeCheckpointCommand());
  commands.push_back(MakeExportCommand());
  commands.push_back(MakeEvalCommand());
  commands.push_back(MakeGenerateCommand());
  commands.push_back(MakeReportCommand());
  commands.push_back(MakeTopCommand());
  commands.push_back(MakeWatchCommand());
  commands.push_back(MakeDevicesCommand());
  commands.push_back(MakeSelftestCommand());
  commands.push_back(MakeValidateCommand());
  commands.push_back(MakeCalibrateCommand());
  commands.push_back(MakeExperimentsCommand());
  commands.push_back(MakeScheduleCommand());
  commands.push_back(MakeWeightsCommand());
  commands.push_back(MakeTokenizeCommand());
  commands.push_back(MakeCompletionCommand());
  commands.push_back(MakeHelpCommand());
  commands.push_back(MakeVersionCommand());
  return commands;
}

}  // namespace horizon
