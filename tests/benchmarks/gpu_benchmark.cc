// Stages on a GPU: learning steps a second, kernel by kernel and as graphs, with one, two and four
// stages on one GPU, against LibTorch alone, for each network.
//
//   gpu_benchmark [SIZE [TURNS [SAMPLES [PRECISION]]]]
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/strings/numbers.h"
#include "pipeline/driver/cuda_driver.h"
#include "pipeline/offline/bench.h"
#include "service/commands/bench/bench_report.h"

namespace {

using millrace::pipeline::BenchOptions;
using millrace::pipeline::PrecisionNamed;

int Number(int argc, char** argv, int place, int otherwise) {
  int number = otherwise;
  if (argc > place && !absl::SimpleAtoi(argv[place], &number)) {
    std::cerr << "gpu_benchmark: " << argv[place] << " is no number\n";
    std::exit(2);
  }
  return number;
}

}  // namespace

int main(int argc, char** argv) {
  const int size = Number(argc, argv, 1, 256);
  const std::string precision = argc > 4 ? argv[4] : "float32";
  if (std::ranges::find(millrace::pipeline::kPrecisionNames, precision) ==
      millrace::pipeline::kPrecisionNames.end()) {
    std::cerr << "gpu_benchmark: " << precision << " is no precision: use float32 or bfloat16\n";
    return 2;
  }
  const auto driver = millrace::pipeline::FindCudaDriver();
  if (!driver.ok()) {
    std::cerr << "gpu_benchmark: " << driver.status().message() << "\n";
    return 1;
  }
  const BenchOptions options{
      .networks = {"flow", "conv", "resnet50"},
      .schedules = {"one_f_one_b_star"},
      .stages = {1, 2, 4},
      .network = {.height = size, .width = size, .precision = PrecisionNamed(precision)},
      .samples = Number(argc, argv, 3, 200),
      .turns = Number(argc, argv, 2, 5),
      .device = "cuda:0"};
  const auto rows = millrace::pipeline::RunBench(
      options, [](const std::string& line) { std::cerr << line << "\n"; });
  if (!rows.ok()) {
    std::cerr << "gpu_benchmark: " << rows.status().message() << "\n";
    return 1;
  }
  std::cout << driver->devices.front().name << ", CUDA "
            << millrace::pipeline::CudaVersionText(driver->version) << "; samples of " << size
            << "x" << size << ", computed in " << precision << "; median (least to greatest) of "
            << options.turns << " turns of " << options.samples << " samples\n\n"
            << millrace::service::BenchTable(*rows);
  return 0;
}
