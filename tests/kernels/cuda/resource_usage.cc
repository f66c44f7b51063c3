#include "tests/kernels/cuda/resource_usage.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <regex>
#include <sstream>

#include "absl/status/status.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

std::string Demangle(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? std::string(text.get()) : symbol;
}

// "Update" of "void horizon::(anonymous namespace)::Update<horizon::Kept>(horizon::Step, bool)".
std::string PlainName(const std::string& signature) {
  static const std::regex kName(R"((\w+)(<.*>)?\([^()]*\)$)");
  std::string text = std::regex_replace(signature, std::regex(R"(\(anonymous namespace\)::)"), "");
  // Template arguments may hold "::" and blanks: away with them first, from the inside out.
  static const std::regex kInnermost("<[^<>]*>");
  while (std::regex_search(text, kInnermost)) text = std::regex_replace(text, kInnermost, "");
  std::smatch match;
  return std::regex_search(text, match, kName) ? match[1].str() : signature;
}

int64_t Number(const std::ssub_match& text) { return std::stoll(text.str()); }

}  // namespace

absl::StatusOr<std::vector<KernelUsage>> ParseResourceUsage(std::string_view text) {
  static const std::regex kEntryLine(R"(Compiling entry function '(\w+)' for 'sm_(\d+)a?')");
  static const std::regex kStackLine(
      R"(^ +(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads)");
  static const std::regex kUsedLine(R"(: Used (\d+) registers)");
  static const std::regex kShared(R"(, (\d+) bytes smem)");
  enum class Expected { kEntry, kStack, kUsed };
  Expected expected = Expected::kEntry;
  std::vector<KernelUsage> kernels;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, kEntryLine)) {
      if (expected != Expected::kEntry) break;
      KernelUsage& kernel = kernels.emplace_back();
      kernel.signature = Demangle(match[1]);
      kernel.kernel = PlainName(kernel.signature);
      kernel.architecture = static_cast<int>(Number(match[2]));
      expected = Expected::kStack;
    } else if (expected != Expected::kEntry && std::regex_search(line, match, kStackLine)) {
      // Once for the kernel, and once more for each function that was not inlined into it.
      kernels.back().stack_bytes += Number(match[1]);
      kernels.back().spill_store_bytes += Number(match[2]);
      kernels.back().spill_load_bytes += Number(match[3]);
      expected = Expected::kUsed;
    } else if (expected == Expected::kUsed && std::regex_search(line, match, kUsedLine)) {
      kernels.back().registers = static_cast<int>(Number(match[1]));
      if (std::regex_search(line, match, kShared)) kernels.back().shared_bytes = Number(match[1]);
      expected = Expected::kEntry;
    }
  }
  if (expected != Expected::kEntry) {
    return absl::InvalidArgumentError(
        StrCat("ptxas did not tell all figures of ", kernels.back().signature));
  }
  return kernels;
}

}  // namespace horizon
