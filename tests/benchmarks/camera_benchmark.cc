// How long a camera is away after each of its faults, how long pictures stay away without a new
// session, and the cost of eight cameras. Fails if one of the eight loses frames.
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
#include "ingest/source/source.h"
#include "spdlog/spdlog.h"
#include "tests/benchmarks/camera_pauses.h"
#include "tests/benchmarks/open_or_exit.h"
#include "tests/benchmarks/report.h"
#include "tests/ingest/support/loopback_port.h"
#include "tests/ingest/support/media.h"
#include "tests/ingest/support/other_servers.h"
#include "tests/ingest/support/rtsp_process.h"

namespace millrace::benchmarks {
namespace {

using ingest::FfmpegPublisher;
using ingest::LoopbackPort;
using ingest::RtspProcess;
using ingest::Source;
using ingest::SourceOptions;
using ingest::SourceState;
using ingest::Vlc;
using ingest::WaitUntil;

constexpr int kRounds = 3;
constexpr std::chrono::seconds kOutage(3);

double MillisecondsSince(std::chrono::nanoseconds begin) {
  return std::chrono::duration<double, std::milli>(MonotonicClock().Now() - begin).count();
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
Fault WhilePlaying(const std::string& name, const SourceOptions& camera,
                   const std::function<void()>& harm, const std::function<void()>& mend) {
  Fault fault{.name = name};
  const auto source = OpenOrExit(camera);
  const Drain drain(*source);
  for (int i = 0; i < kRounds; ++i) {
    WaitUntil([&] { return Streams(*source); });
    std::this_thread::sleep_for(std::chrono::seconds(6));  // It counts as healthy.
    Measure(*source, harm, mend, fault);
  }
  source->Stop();
  return fault;
}

Fault Killed() {
  auto camera = std::make_unique<RtspProcess>(std::vector<std::string>{});
  const std::vector<std::string> same_port = {"--port", camera->port()};
  return WhilePlaying(
      "killed, and started again", {.uri = camera->url()}, [&] { camera->Kill(); },
      [&] { camera = std::make_unique<RtspProcess>(same_port); });
}

Fault Frozen() {
  const RtspProcess camera({});
  return WhilePlaying(
      "frozen (SIGSTOP), and going on", {.uri = camera.url()}, [&] { camera.Freeze(); },
      [&] { camera.Thaw(); });
}

// The server stays, and has nothing to show meanwhile. It is back once ffmpeg is started.
Fault PublishedByFfmpeg() {
  const RtspProcess server({"--record"});
  const TemporaryFolder folder;
  const auto publish = [&] {
    return FfmpegPublisher().Start(server.port(), folder / "ffmpeg.log");
  };
  auto publisher = publish();
  return WhilePlaying(
      "published by ffmpeg, which is killed, and started again", {.uri = server.url()},
      [&] { publisher->Kill(); }, [&] { publisher = publish(); });
}

Fault ServedByVlc() {
  Vlc vlc;
  return WhilePlaying(
      "VLC, over UDP, killed, and started again",
      {.uri = vlc.url(), .camera = {.transport = ingest::Transport::kUdp}}, [&] { vlc.Kill(); },
      [&] { vlc.Start(); });
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
    source = OpenOrExit(options);
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
  std::unique_ptr<LoopbackPort> port;
  std::unique_ptr<RtspProcess> camera;
  return FromTheStart(
      name,
      [&]() -> SourceOptions {
        camera = nullptr;
        port = listens ? std::make_unique<LoopbackPort>()
                       : std::make_unique<LoopbackPort>(LoopbackPort::kDoesNotListen);
        return {.uri = port->Url()};
      },
      [&] {
        const std::string number = std::to_string(port->number());
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

// A camera that ends its stream starts it again for the next client.
Fault Ends() {
  Fault fault{.name = "ends its stream, and is there at once"};
  const RtspProcess camera({"--frames", "150"});
  const auto source = OpenOrExit({.uri = camera.url()});
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
           Killed, Frozen, PublishedByFfmpeg, ServedByVlc,
           [] { return AtPort("refusing, then there", false); },
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

std::vector<double> FramesReceived(const std::vector<std::unique_ptr<Source>>& sources) {
  std::vector<double> frames;
  for (const auto& source : sources) {
    frames.push_back(static_cast<double>(source->queue().received()));
  }
  return frames;
}

// Frames a second of each source for `watched`, and the cores that all of them take.
struct Watched {
  std::vector<double> rates;
  double cores = 0;
};

Watched Watch(const std::vector<std::unique_ptr<Source>>& sources, std::chrono::seconds watched) {
  const double cpu = CpuSeconds();
  const std::vector<double> before = FramesReceived(sources);
  const std::chrono::nanoseconds begin = MonotonicClock().Now();
  std::this_thread::sleep_for(watched);
  const double seconds = MillisecondsSince(begin) / 1000;
  Watched result{.rates = FramesReceived(sources), .cores = (CpuSeconds() - cpu) / seconds};
  for (std::size_t i = 0; i < before.size(); ++i) {
    result.rates[i] = (result.rates[i] - before[i]) / seconds;
  }
  return result;
}

// Eight sources that watch one camera, which encodes once.
nlohmann::json MeasureEight() {
  constexpr int kStreams = 8;
  constexpr std::chrono::seconds kWatched(20);  // The street lasts for 31.
  const TemporaryFolder folder;
  ingest::WriteStreet(folder / "street.mp4");
  const RtspProcess camera(
      {"--file", folder / "street.mp4", "--width", "640", "--height", "480", "--fps", "25"});
  std::vector<std::unique_ptr<Source>> sources;
  std::vector<std::unique_ptr<Drain>> drains;
  for (int i = 0; i < kStreams; ++i) {
    sources.push_back(OpenOrExit({.uri = camera.url()}));
    drains.push_back(std::make_unique<Drain>(*sources.back()));
  }
  for (const auto& source : sources) {
    WaitUntil([&] { return Streams(*source); });
  }
  const auto [rates, cores] = Watch(sources, kWatched);
  for (const auto& source : sources) source->Stop();
  const Spread spread = SpreadOf(rates);
  std::cout << absl::StrFormat(
      "Eight sources that watch one camera on a street, 640x480, H.264, 25 frames a second, scaled "
      "to 320x240: %s frames a second each, %.2f of %d cores, %.2f ms of CPU a frame\n",
      Text(spread, 2), cores, static_cast<int>(std::thread::hardware_concurrency()),
      1000 * cores / (spread.median * kStreams));
  return {{"frames_per_second", rates}, {"cores", cores}};
}

// A frame more or less at either end of the time is not a loss.
bool NoneLosesFrames(const nlohmann::json& eight) {
  constexpr double kMinRate = 24.9;
  for (const double rate : eight.at("frames_per_second").get<std::vector<double>>()) {
    if (rate >= kMinRate) continue;
    std::cerr << absl::StrFormat("one of eight cameras has %.2f frames a second, below %.1f\n",
                                 rate, kMinRate);
    return false;
  }
  return true;
}

}  // namespace
}  // namespace millrace::benchmarks

// NOLINTNEXTLINE(bugprone-exception-escape): what this program throws should end it.
int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "camera_benchmark JSON_FILE\n";
    return 2;
  }
  spdlog::set_level(spdlog::level::off);  // The faults are meant.
  std::cout << millrace::benchmarks::Conditions() << "\n\n";
  const nlohmann::json result = {
      {"faults", millrace::benchmarks::MeasureFaults()},
      {"pauses", millrace::benchmarks::MeasurePauses(millrace::benchmarks::kRounds)},
      {"eight", millrace::benchmarks::MeasureEight()}};
  const int written = millrace::benchmarks::WriteResult(argv[1], result);
  return millrace::benchmarks::NoneLosesFrames(result.at("eight")) ? written : 1;
}
