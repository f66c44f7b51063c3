#include "tests/app/support/run_program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace horizon {
namespace {

std::filesystem::path Folder() {
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "work";
  std::filesystem::create_directories(folder);
  return folder;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

ProcessResult RunShell(const std::string& command) {
  // The program's redirections are inside the braces, so a command can make its own.
  const std::filesystem::path script = Folder() / "command.sh";
  const std::filesystem::path out = Folder() / "out.txt";
  const std::filesystem::path err = Folder() / "err.txt";
  const std::string on_fake =
      std::filesystem::absolute("tests/app/support/horizon_on_fake_cuda").string();
  std::ofstream(script) << "horizon='" << std::filesystem::absolute("app/horizon").string()
                        << "'\nhorizon_on_fake_cuda='" << on_fake << "'\ncd '" << Folder().string()
                        << "'\nunset NO_COLOR\nexport XDG_CACHE_HOME=\"$PWD/cache\"\n"
                        << command << "\n";
  const std::string shell =
      "bash '" + script.string() + "' >'" + out.string() + "' 2>'" + err.string() + "' </dev/null";
  // NOLINTNEXTLINE(bugprone-command-processor): a shell is what these tests need.
  const int status = std::system(shell.c_str());
  ProcessResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = ReadFile(out);
  result.err = ReadFile(err);
  return result;
}

void WriteFile(const std::string& name, const std::string& text) {
  const std::filesystem::path path = Folder() / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace horizon
