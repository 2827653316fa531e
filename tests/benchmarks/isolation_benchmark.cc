// The cost of decoding a camera's video in its own process: CPU time per frame of all processes
// together, delay, time to the first frame, memory.
//
//   isolation_benchmark JSON_FILE
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "ingest/frame/grid.h"
#include "ingest/inputs/camera_process.h"
#include "ingest/source/source.h"
#include "spdlog/spdlog.h"
#include "tests/benchmarks/isolation_handover.h"
#include "tests/benchmarks/open_or_exit.h"
#include "tests/benchmarks/report.h"
#include "tests/ingest/support/media.h"
#include "tests/ingest/support/rtsp_process.h"

namespace millrace::benchmarks {
namespace {

using ingest::Extent;
using ingest::Frame;
using ingest::RtspProcess;
using ingest::Source;
using std::chrono::nanoseconds;

constexpr int kTurns = 5;
constexpr std::size_t kFrames = 250;
/// The first frames do not count: a camera sends them at once, and the decoder starts.
constexpr std::size_t kLeftOut = 25;

double Milliseconds(nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

double Milliseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/task/", pid, "/children"));
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

/// Of all its threads, in nanoseconds as the scheduler counts them.
double CpuMilliseconds(pid_t pid) {
  double sum = 0;
  for (const auto& thread :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"))) {
    double ns = 0;
    std::ifstream(thread.path() / "schedstat") >> ns;
    sum += ns / 1e6;
  }
  return sum;
}

/// Of this process, the spawner and the cameras'.
double CpuMilliseconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const pid_t spawner = ingest::CameraProcesses()->pid();
  double sum =
      Milliseconds(usage.ru_utime) + Milliseconds(usage.ru_stime) + CpuMilliseconds(spawner);
  for (const pid_t process : ChildrenOf(spawner)) sum += CpuMilliseconds(process);
  return sum;
}

double PssMegabytes(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/smaps_rollup"));
  std::string word;
  double kilobytes = 0;
  while (file >> word) {
    if (word == "Pss:") file >> kilobytes;
  }
  return kilobytes / 1024;
}

struct Watched {
  double cpu_ms_a_frame = 0;
  double first_frame_ms = 0;
  double pss_megabytes = 0;  ///< Of the camera's process. 0 where there is none.
  double spawner_megabytes = 0;
};

ingest::SourceOptions Options(const std::string& url, const Extent& grid, bool isolate) {
  return {.uri = url,
          .width = grid.width,
          .height = grid.height,
          .queue_capacity = 64,
          .camera = {.isolate = isolate}};
}

Frame Next(Source& source) {
  std::optional<Frame> frame = source.queue().Pop();
  if (!frame) std::exit(1);
  return *std::move(frame);
}

/// Of the street, in which no watch lasts as long as it does.
using CameraArguments = std::vector<std::string>;

Watched Watch(const CameraArguments& arguments, const Extent& grid, bool isolate) {
  const RtspProcess camera(arguments);
  const nanoseconds opened = MonotonicClock().Now();
  const auto source = OpenOrExit(Options(camera.url(), grid, isolate));
  Watched watched;
  watched.first_frame_ms = Milliseconds(Next(*source).arrival - opened);
  for (std::size_t i = 0; i < kLeftOut; ++i) Next(*source);
  const double before = CpuMilliseconds();
  for (std::size_t i = 0; i < kFrames; ++i) Next(*source);
  watched.cpu_ms_a_frame = (CpuMilliseconds() - before) / kFrames;
  const pid_t spawner = ingest::CameraProcesses()->pid();
  watched.spawner_megabytes = PssMegabytes(spawner);
  for (const pid_t process : ChildrenOf(spawner)) watched.pss_megabytes = PssMegabytes(process);
  source->Stop();
  return watched;
}

using Arrivals = std::map<std::vector<std::uint8_t>, nanoseconds>;

Arrivals ArrivalsOf(Source& source) {
  Arrivals arrivals;
  for (std::size_t i = 0; i < kFrames; ++i) {
    const Frame frame = Next(source);
    if (i >= kLeftOut) arrivals.emplace(frame.picture->rgb, frame.arrival);
  }
  return arrivals;
}

/// How much later the same picture is there, of both at once; the median of all.
double DelayMilliseconds(const CameraArguments& arguments, const Extent& grid,
                         bool isolated_first) {
  const RtspProcess camera(arguments);
  const auto one = OpenOrExit(Options(camera.url(), grid, isolated_first));
  const auto other = OpenOrExit(Options(camera.url(), grid, !isolated_first));
  Arrivals of_one;
  std::jthread taking([&] { of_one = ArrivalsOf(*one); });
  const Arrivals of_other = ArrivalsOf(*other);
  taking.join();
  std::vector<double> later;
  for (const auto& [pixels, arrival] : of_other) {
    const auto same = of_one.find(pixels);
    if (same != of_one.end()) later.push_back(Milliseconds(arrival - same->second));
  }
  one->Stop();
  other->Stop();
  if (later.empty()) {
    std::cerr << "the two have no picture in common\n";
    std::exit(1);
  }
  return (isolated_first ? -1 : 1) * SpreadOf(std::move(later)).median;
}

/// The values of each turn, side by side.
struct Turns {
  std::array<std::vector<double>, 2> cpu;    ///< In this process, isolated.
  std::array<std::vector<double>, 2> first;  ///< Likewise.
  std::vector<double> more_cpu;
  std::vector<double> delay;
  std::vector<double> process_megabytes;
  std::vector<double> spawner_megabytes;
};

Turns MeasureTurns(const CameraArguments& arguments, const Extent& grid) {
  Turns turns;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (const bool isolate : {turn % 2 == 0, turn % 2 != 0}) {
      const Watched watched = Watch(arguments, grid, isolate);
      turns.cpu.at(isolate ? 1 : 0).push_back(watched.cpu_ms_a_frame);
      turns.first.at(isolate ? 1 : 0).push_back(watched.first_frame_ms);
      if (!isolate) continue;
      turns.process_megabytes.push_back(watched.pss_megabytes);
      turns.spawner_megabytes.push_back(watched.spawner_megabytes);
    }
    turns.more_cpu.push_back(turns.cpu[1].back() - turns.cpu[0].back());
    turns.delay.push_back(DelayMilliseconds(arguments, grid, turn % 2 == 0));
  }
  return turns;
}

std::string SizeOf(const Extent& extent) { return absl::StrCat(extent.width, "x", extent.height); }

nlohmann::json Measure(const std::string& street, const Extent& camera_size,
                       std::vector<std::vector<std::string>>& rows) {
  const Extent grid = GridFor(camera_size);
  const Turns turns = MeasureTurns({"--file", street, "--width", std::to_string(camera_size.width),
                                    "--height", std::to_string(camera_size.height), "--fps", "25"},
                                   grid);
  const auto& [here, isolated] = turns.cpu;
  rows.push_back({absl::StrCat(SizeOf(camera_size), " to ", SizeOf(grid)), Text(SpreadOf(here), 2),
                  Text(SpreadOf(isolated), 2), Text(SpreadOf(turns.more_cpu), 3),
                  Text(SpreadOf(turns.delay), 2), Text(SpreadOf(turns.first[0]), 0),
                  Text(SpreadOf(turns.first[1]), 0), Text(SpreadOf(turns.process_megabytes), 1),
                  Text(SpreadOf(turns.spawner_megabytes), 1)});
  return {{"camera", SizeOf(camera_size)},
          {"grid", SizeOf(grid)},
          {"cpu_ms_in_this_process", here},
          {"cpu_ms_isolated", isolated},
          {"more_cpu_ms", turns.more_cpu},
          {"delay_ms", turns.delay},
          {"first_frame_ms_in_this_process", turns.first[0]},
          {"first_frame_ms_isolated", turns.first[1]},
          {"process_megabytes", turns.process_megabytes},
          {"spawner_megabytes", turns.spawner_megabytes}};
}

/// The sizes that the two cameras have for a model, and the usual one.
constexpr std::array<Extent, 2> kHandedOver = {
    {{.width = 320, .height = 240}, {.width = 352, .height = 256}}};

nlohmann::json MeasureHandOvers() {
  nlohmann::json result;
  for (const Extent& grid : kHandedOver) {
    HandOver measured = MeasureHandOver(grid);
    std::ranges::sort(measured.delay_ms);
    const double median = measured.delay_ms[measured.delay_ms.size() / 2];
    const double late = measured.delay_ms[measured.delay_ms.size() * 95 / 100];
    std::cout << absl::StrFormat(
        "A picture of %s handed over: %.3f ms of CPU in both processes, there after %.3f ms, 95 of "
        "100 within %.3f ms\n",
        SizeOf(grid), measured.cpu_ms, median, late);
    result.push_back({{"grid", SizeOf(grid)},
                      {"cpu_ms", measured.cpu_ms},
                      {"delay_ms", median},
                      {"delay_ms_of_95", late}});
  }
  return result;
}

int Run(const char* json_file, nlohmann::json hand_overs) {
  spdlog::set_level(spdlog::level::off);
  const TemporaryFolder folder;
  const std::string street = folder / "street.mp4";
  ingest::WriteStreet(street);
  std::vector<std::vector<std::string>> rows = {
      {"camera, and the model's size", "ms of CPU a frame in this process", "isolated", "more",
       "ms later, of the same picture", "ms to the first frame in this process", "isolated",
       "MB of its process (Pss)", "MB of the spawner"}};
  const nlohmann::json cameras = {Measure(street, {.width = 640, .height = 480}, rows),
                                  Measure(street, {.width = 1920, .height = 1080}, rows)};
  std::cout << "\n" << MarkdownTable(rows);
  return WriteResult(json_file, {{"hand_overs", std::move(hand_overs)}, {"cameras", cameras}});
}

}  // namespace
}  // namespace millrace::benchmarks

// NOLINTNEXTLINE(bugprone-exception-escape): what this program throws should end it.
int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "isolation_benchmark JSON_FILE\n";
    return 2;
  }
  std::cout << millrace::benchmarks::Conditions() << "\n\n";
  nlohmann::json hand_overs = millrace::benchmarks::MeasureHandOvers();
  if (!millrace::ingest::StartCameraProcesses({}).ok()) return 1;
  return millrace::benchmarks::Run(argv[1], std::move(hand_overs));
}
