#pragma once

#include <memory>

#include "app/command.h"

namespace horizon {

// Every command of the program, in the order the help lists them. Names are unique.
CommandList MakeCommands();

// One factory for each command, defined in NAME_command.cc.
std::unique_ptr<Command> MakeCheckpointCommand();
std::unique_ptr<Command> MakeCompareCommand();
std::unique_ptr<Command> MakeCompletionCommand();
std::unique_ptr<Command> MakeDataCommand();
std::unique_ptr<Command> MakeDemoCommand();
std::unique_ptr<Command> MakeDevicesCommand();
std::unique_ptr<Command> MakeEvalCommand();
std::unique_ptr<Command> MakeExperimentsCommand();
std::unique_ptr<Command> MakeExportCommand();
std::unique_ptr<Command> MakeGenerateCommand();
std::unique_ptr<Command> MakeHelpCommand();
std::unique_ptr<Command> MakeMachinesCommand();
std::unique_ptr<Command> MakeMaxModelCommand();
std::unique_ptr<Command> MakeModelCommand();
std::unique_ptr<Command> MakeModelsCommand();
std::unique_ptr<Command> MakePlanCommand();
std::unique_ptr<Command> MakeProfileCommand();
std::unique_ptr<Command> MakeReportCommand();
std::unique_ptr<Command> MakeScheduleCommand();
std::unique_ptr<Command> MakeSelftestCommand();
std::unique_ptr<Command> MakeSimulateCommand();
std::unique_ptr<Command> MakeTokenizeCommand();
std::unique_ptr<Command> MakeTopCommand();
std::unique_ptr<Command> MakeTrainCommand();
std::unique_ptr<Command> MakeCalibrateCommand();
std::unique_ptr<Command> MakeValidateCommand();
std::unique_ptr<Command> MakeVersionCommand();
std::unique_ptr<Command> MakeWatchCommand();
std::unique_ptr<Command> MakeWeightsCommand();

}  // namespace horizon
