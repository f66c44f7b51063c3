// What the fake CUDA plays in a program of the tests, read from HORIZON_FAKE_CUDA before main:
// words "name=value" between spaces. Without it there is one device of 1 GiB.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "tests/fake_cuda/fake_cuda_control.h"

namespace {

[[noreturn]] void Refuse(const std::string& word) {
  std::fprintf(stderr, "HORIZON_FAKE_CUDA: there is no '%s'\n", word.c_str());
  std::abort();
}

void Read(const std::string& word, fake_cuda::Options& options) {
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  fake_cuda::Device& device = options.devices.front();
  if (name == "driver" && value == "none") {
    options.driver = cudaErrorInsufficientDriver;
    options.driver_version = 0;
  } else if (name == "driver" && value == "old") {
    options.driver = cudaErrorInsufficientDriver;
    options.driver_version = 11040;
  } else if (name == "devices" && value == "none") {
    options.driver = cudaErrorNoDevice;
  } else if (name == "image" && value == "none") {
    device.has_kernel_image = false;
  } else if (name == "memory") {
    device.memory_bytes = std::stoull(value);
  } else if (name == "others") {
    device.memory_of_others_bytes = std::stoull(value);
  } else if (name == "locking" && value == "refused") {
    options.registers = false;
  } else if (name == "seed") {
    options.seed = std::stoull(value);
  } else if (name != "fail-work") {
    Refuse(word);
  }
}

struct World {
  World() {
    const char* text = std::getenv("HORIZON_FAKE_CUDA");
    if (text == nullptr) return;
    fake_cuda::Options options;
    uint64_t fail_work = 0;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      Read(word, options);
      if (word.starts_with("fail-work=")) fail_work = std::stoull(word.substr(10));
    }
    fake_cuda::Reset(options);
    if (fail_work > 0) fake_cuda::FailWork(fail_work, cudaErrorECCUncorrectable);
  }
} world;

}  // namespace
