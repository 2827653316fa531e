// How long a camera is away after each of its faults, and what eight of them cost.
//
//   camera_benchmark JSON_FILE
#include <sys/resource.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "ingest/source.h"
#include "spdlog/spdlog.h"
#include "tests/benchmarks/report.h"
#include "tests/ingest/media.h"
#include "tests/ingest/rtsp_process.h"
#include "tests/ingest/silent_port.h"

namespace millrace::benchmarks {
namespace {

using ingest::RtspProcess;
using ingest::SilentPort;
using ingest::Source;
using ingest::SourceOptions;
using ingest::SourceState;
using ingest::WaitUntil;

constexpr int kRounds = 3;
constexpr std::chrono::seconds kOutage(3);

double MillisecondsSince(std::chrono::nanoseconds begin) {
  return std::chrono::duration<double, std::milli>(MonotonicClock().Now() - begin).count();
}

std::unique_ptr<Source> Open(const SourceOptions& options) {
  auto source = ingest::OpenSource(options);
  if (!source.ok()) {
    std::cerr << source.status() << "\n";
    std::exit(1);
  }
  return *std::move(source);
}

// Empties a source's queue, as a learner does.
class Drain {
 public:
  explicit Drain(Source& source)
      : thread_([&source] {
          while (source.queue().Pop()) continue;
        }) {}

 private:
  std::jthread thread_;
};

bool Streams(const Source& source) { return source.status().state == SourceState::kStreaming; }

struct Fault {
  std::string name;
  std::vector<double> noticed_ms = {};
  std::vector<double> back_ms = {};
};

// From `inject` to the state that says so; then, `kOutage` later, from the end of `mend`, when the
// camera is there again, to its first frame.
void Measure(Source& source, const std::function<void()>& inject, const std::function<void()>& mend,
             Fault& fault) {
  const std::chrono::nanoseconds injected = MonotonicClock().Now();
  inject();
  WaitUntil([&] { return !source.status().cause.ok(); });
  fault.noticed_ms.push_back(MillisecondsSince(injected));
  std::this_thread::sleep_for(kOutage);
  mend();
  const std::chrono::nanoseconds mended = MonotonicClock().Now();
  WaitUntil([&] { return Streams(source); });
  fault.back_ms.push_back(MillisecondsSince(mended));
}

// A camera that plays, until `harm` is done to it, and then again.
Fault WhilePlaying(const std::string& name,
                   const std::function<void(std::unique_ptr<RtspProcess>&)>& harm,
                   const std::function<void(std::unique_ptr<RtspProcess>&)>& mend) {
  Fault fault{.name = name};
  auto camera = std::make_unique<RtspProcess>(std::vector<std::string>{});
  const auto source = Open({.uri = camera->url()});
  const Drain drain(*source);
  for (int i = 0; i < kRounds; ++i) {
    WaitUntil([&] { return Streams(*source); });
    std::this_thread::sleep_for(std::chrono::seconds(6));  // It counts as healthy.
    Measure(
        *source, [&] { harm(camera); }, [&] { mend(camera); }, fault);
  }
  source->Stop();
  return fault;
}

Fault Killed() {
  std::vector<std::string> same_port;
  return WhilePlaying(
      "killed, and started again",
      [&](auto& camera) {
        same_port = {"--port", camera->port()};
        camera->Kill();
      },
      [&](auto& camera) { camera = std::make_unique<RtspProcess>(same_port); });
}

Fault Frozen() {
  return WhilePlaying(
      "frozen (SIGSTOP), and going on", [](auto& camera) { camera->Freeze(); },
      [](auto& camera) { camera->Thaw(); });
}

// A camera that is wrong from the start, until it is right.
Fault FromTheStart(const std::string& name, const std::function<SourceOptions()>& wrong,
                   const std::function<void()>& mend) {
  Fault fault{.name = name};
  for (int i = 0; i < kRounds; ++i) {
    const SourceOptions options = wrong();
    std::unique_ptr<Source> source;
    std::unique_ptr<Drain> drain;
    const std::chrono::nanoseconds begin = MonotonicClock().Now();
    source = Open(options);
    drain = std::make_unique<Drain>(*source);
    WaitUntil([&] { return !source->status().cause.ok(); });
    fault.noticed_ms.push_back(MillisecondsSince(begin));
    std::this_thread::sleep_for(kOutage);
    mend();
    const std::chrono::nanoseconds mended = MonotonicClock().Now();
    WaitUntil([&] { return Streams(*source); });
    fault.back_ms.push_back(MillisecondsSince(mended));
    source->Stop();
  }
  return fault;
}

Fault AtPort(const std::string& name, bool listens) {
  std::unique_ptr<SilentPort> port;
  std::unique_ptr<RtspProcess> camera;
  return FromTheStart(
      name,
      [&]() -> SourceOptions {
        camera = nullptr;
        port = std::make_unique<SilentPort>(listens);
        return {.uri = port->Url()};
      },
      [&] {
        const std::string number = std::to_string(port->port());
        port = nullptr;
        camera = std::make_unique<RtspProcess>(std::vector<std::string>{"--port", number});
      });
}

Fault WrongPassword() {
  const RtspProcess camera({"--user", "viewer", "--password", "right"});
  const TemporaryFolder folder;
  const std::string file = folder / "password";
  return FromTheStart(
      "401: a wrong password, then the right one in its file",
      [&]() -> SourceOptions {
        std::ofstream(file) << "wrong";
        return {.uri = camera.url(),
                .camera = {.login = {.user = "viewer", .password_file = file}}};
      },
      [&] { std::ofstream(file) << "right"; });
}

Fault NoSuchPath() {
  std::unique_ptr<RtspProcess> camera;
  return FromTheStart(
      "404: no such path, then it is there",
      [&]() -> SourceOptions {
        camera = std::make_unique<RtspProcess>(std::vector<std::string>{"--path", "/other"});
        const std::string url = camera->url();
        return {.uri = url.substr(0, url.rfind('/')) + "/live"};
      },
      [&] {
        const std::vector<std::string> same_port = {"--port", camera->port()};
        camera->Kill();
        camera = std::make_unique<RtspProcess>(same_port);
      });
}

// A camera that ends its stream begins it anew for who asks.
Fault Ends() {
  Fault fault{.name = "ends its stream, and is there at once"};
  const RtspProcess camera({"--frames", "150"});
  const auto source = Open({.uri = camera.url()});
  const Drain drain(*source);
  for (int i = 0; i < kRounds; ++i) {
    WaitUntil([&] { return Streams(*source); });
    WaitUntil([&] { return !source->status().cause.ok(); });
    const std::chrono::nanoseconds ended = MonotonicClock().Now();
    WaitUntil([&] { return Streams(*source); });
    fault.back_ms.push_back(MillisecondsSince(ended));
  }
  source->Stop();
  return fault;
}

std::string InMs(const std::vector<double>& values) {
  return values.empty() ? "at once" : Text(SpreadOf(values), 0) + " ms";
}

nlohmann::json MeasureFaults() {
  std::vector<std::vector<std::string>> table = {{"the camera is", "noticed after", "back after"}};
  nlohmann::json result;
  for (const auto& measure : std::vector<std::function<Fault()>>{
           Killed, Frozen, [] { return AtPort("refusing, then there", false); },
           [] { return AtPort("accepting and silent, then there", true); }, Ends, WrongPassword,
           NoSuchPath}) {
    const Fault fault = measure();
    table.push_back({fault.name, InMs(fault.noticed_ms), InMs(fault.back_ms)});
    result.push_back(
        {{"fault", fault.name}, {"noticed_ms", fault.noticed_ms}, {"back_ms", fault.back_ms}});
  }
  std::cout << "Faults, " << kRounds << " rounds each, median (least to greatest)\n\n"
            << MarkdownTable(table) << "\n";
  return result;
}

double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Eight sources that watch one camera, which encodes once.
nlohmann::json MeasureEight() {
  constexpr int kStreams = 8;
  constexpr std::chrono::seconds kWatched(20);
  const RtspProcess camera(
      {"--width", "640", "--height", "480", "--fps", "25", "--pattern", "ball"});
  std::vector<std::unique_ptr<Source>> sources;
  std::vector<std::unique_ptr<Drain>> drains;
  for (int i = 0; i < kStreams; ++i) {
    sources.push_back(Open({.uri = camera.url()}));
    drains.push_back(std::make_unique<Drain>(*sources.back()));
    WaitUntil([&] { return Streams(*sources.back()); });
  }
  const auto received = [&] {
    std::uint64_t frames = 0;
    for (const auto& source : sources) frames += source->queue().received();
    return static_cast<double>(frames);
  };
  const double cpu = CpuSeconds();
  const double frames = received();
  const std::chrono::nanoseconds begin = MonotonicClock().Now();
  std::this_thread::sleep_for(kWatched);
  const double seconds = MillisecondsSince(begin) / 1000;
  const double rate = (received() - frames) / seconds / kStreams;
  const double cores = (CpuSeconds() - cpu) / seconds;
  for (const auto& source : sources) source->Stop();
  std::cout << absl::StrFormat(
      "Eight cameras, 640x480, H.264, 25 frames a second, scaled to 320x240: %.2f frames a second "
      "each, %.2f of %d cores, %.2f ms of CPU a frame\n",
      rate, cores, static_cast<int>(std::thread::hardware_concurrency()),
      1000 * cores / (rate * kStreams));
  return {{"frames_per_second", rate}, {"cores", cores}};
}

}  // namespace
}  // namespace millrace::benchmarks

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "camera_benchmark JSON_FILE\n";
    return 2;
  }
  spdlog::set_level(spdlog::level::off);  // The faults are meant.
  std::cout << millrace::benchmarks::Conditions() << "\n\n";
  const nlohmann::json result = {{"faults", millrace::benchmarks::MeasureFaults()},
                                 {"eight", millrace::benchmarks::MeasureEight()}};
  return millrace::benchmarks::WriteResult(argv[1], result);
}
