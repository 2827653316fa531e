#include "tests/benchmarks/camera_pauses.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "ingest/source/source.h"
#include "tests/benchmarks/open_or_exit.h"
#include "tests/benchmarks/report.h"
#include "tests/ingest/support/rtsp_process.h"

namespace millrace::benchmarks {
namespace {

using ingest::Frame;
using ingest::RtspProcess;
using ingest::SourceOptions;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr Milliseconds kInterval(40);  // Of a camera that is told nothing else.

struct Happening {
  std::string name;
  /// The camera's arguments.
  std::vector<std::string> camera;
  /// To watch, from the first on.
  int frames = 0;
  /// Whether it did, by the last frame.
  std::function<bool(const Frame&, const RtspProcess&)> happened;
  ingest::Transport transport = ingest::Transport::kTcp;
};

std::vector<Happening> Happenings() {
  return {
      {.name = "nothing",
       .camera = {"--pattern", "ball"},
       .frames = 100,
       .happened = [](const Frame&, const RtspProcess&) { return true; }},
      {.name = "pictures of another size",
       .camera = {"--widen-after", "40", "--width", "160", "--height", "120"},
       .frames = 100,
       .happened = [](const Frame& last, const RtspProcess&) { return last.size_changes == 1; }},
      {.name = "RTP timestamps and sequence numbers wrap",
       .camera = {"--wrap"},
       .frames = 200,
       .happened = [](const Frame&, const RtspProcess& camera) { return camera.HasSaidMore(); }},
      {.name = "B-frames",
       .camera = {"--b-frames", "2", "--pattern", "ball"},
       .frames = 100,
       .happened = [](const Frame&, const RtspProcess&) { return true; }},
      {.name = "5 % of the packets lost and 5 % out of order, a key frame every 10",
       .camera = {"--gop", "10", "--loss", "5", "--reorder", "5", "--transport", "udp"},
       .frames = 250,
       .happened = [](const Frame& last, const RtspProcess&) { return last.gaps > 0; },
       .transport = ingest::Transport::kUdp},
  };
}

struct Pauses {
  /// From one picture's arrival to the next one's, beyond the camera's interval.
  double longest_ms = 0;
  /// A pause of more than two seconds is taken for the session's end.
  double sessions = 0;
};

Pauses Watch(const Happening& happening) {
  constexpr int kRoomForAll = 1000;
  const RtspProcess camera(happening.camera);
  const auto source = OpenOrExit({.uri = camera.url(),
                                  .queue_capacity = kRoomForAll,
                                  .camera = {.transport = happening.transport}});
  Frame last = source->queue().Pop().value();
  Milliseconds longest(0);
  for (int i = 1; i < happening.frames; ++i) {
    Frame frame = source->queue().Pop().value();
    longest = std::max(longest, Milliseconds(frame.arrival - last.arrival) - kInterval);
    last = std::move(frame);
  }
  const double sessions = static_cast<double>(source->status().reconnects) + 1;
  source->Stop();
  if (!happening.happened(last, camera)) {
    std::cerr << happening.name << ": this did not happen\n";
    std::exit(1);
  }
  return {.longest_ms = longest.count(), .sessions = sessions};
}

}  // namespace

nlohmann::json MeasurePauses(int rounds) {
  std::vector<std::vector<std::string>> table = {{"what happens", "longest pause", "sessions"}};
  nlohmann::json result;
  for (const Happening& happening : Happenings()) {
    std::vector<double> longest_ms;
    std::vector<double> sessions;
    for (int i = 0; i < rounds; ++i) {
      const Pauses pauses = Watch(happening);
      longest_ms.push_back(pauses.longest_ms);
      sessions.push_back(pauses.sessions);
    }
    table.push_back(
        {happening.name, Text(SpreadOf(longest_ms), 0) + " ms", Text(SpreadOf(sessions), 0)});
    result.push_back(
        {{"happening", happening.name}, {"longest_pause_ms", longest_ms}, {"sessions", sessions}});
  }
  std::cout << "From one picture to the next, beyond the camera's interval of 40 ms, " << rounds
            << " rounds each, median (least to greatest)\n\n"
            << MarkdownTable(table) << "\n";
  return result;
}

}  // namespace millrace::benchmarks
