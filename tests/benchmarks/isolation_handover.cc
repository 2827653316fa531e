#include "tests/benchmarks/isolation_handover.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "ingest/isolation/isolated_pipeline.h"
#include "ingest/isolation/packets.h"
#include "ingest/isolation/spawner.h"
#include "ingest/source/outcome.h"

namespace millrace::benchmarks {
namespace {

using ingest::DecodedPicture;
using ingest::Extent;
using std::chrono::nanoseconds;

constexpr int kPictures = 1000;
constexpr std::chrono::milliseconds kInterval(10);

double Milliseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}

double OwnCpuMilliseconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return Milliseconds(usage.ru_utime) + Milliseconds(usage.ru_stime);
}

std::size_t BytesOf(const Extent& grid) {
  return static_cast<std::size_t>(grid.width) * static_cast<std::size_t>(grid.height) * 3;
}

/// What a camera's process does, but for the camera. Says at its end, as a codec, what it took.
int ShowPictures(const Descriptor& socket, std::size_t bytes) {
  auto task = ingest::ReceivePacket(socket.value(), 64, /*with_file=*/true);
  if (!task) return 1;
  auto slots = ingest::MappedSlots::Map(task->file, bytes, /*writable=*/true);
  if (!slots.ok()) return 1;
  const std::vector<std::uint8_t> made(bytes, 7);
  const double before = OwnCpuMilliseconds();
  for (int i = 0; i < kPictures; ++i) {
    std::this_thread::sleep_for(kInterval);
    const std::vector<std::uint8_t> picture = made;
    const nanoseconds now = MonotonicClock().Now();
    const auto slot = static_cast<std::uint32_t>(i) % ingest::kPictureSlots;
    std::ranges::copy(picture, slots->WritableSlot(slot).begin());
    ingest::SendPacket(socket.value(),
                       ingest::Encode(ingest::PictureInSlot{.slot = slot, .stream_time = now}),
                       /*wait=*/true);
    if (!ingest::ReceivePacket(socket.value(), 64)) return 1;
  }
  const std::string took = std::to_string(OwnCpuMilliseconds() - before);
  ingest::SendPacket(socket.value(), ingest::Encode(ingest::PipelineCodec{took}), /*wait=*/true);
  return 0;
}

class Delays final : public ingest::PipelineListener {
 public:
  void OnFormat(const ingest::CameraFormat& /*format*/) override {}
  void OnPicture(DecodedPicture picture) override {
    const nanoseconds delay = MonotonicClock().Now() - *picture.stream_time;
    ms.push_back(std::chrono::duration<double, std::milli>(delay).count());
    newest_ = std::move(picture);  // As a frame keeps the one before it.
  }
  void OnWarning(const absl::Status& /*warning*/) override {}
  void OnOutcome(absl::Status outcome) override { outcome_.Set(std::move(outcome)); }

  void AwaitEnd() { static_cast<void>(outcome_.Wait()); }

  std::vector<double> ms;

 private:
  DecodedPicture newest_;
  ingest::Outcome outcome_;
};

}  // namespace

HandOver MeasureHandOver(const Extent& grid) {
  const std::size_t bytes = BytesOf(grid);
  const auto spawner = ingest::Spawner::Start(
      {.run = [bytes](Descriptor socket) { return ShowPictures(socket, bytes); }});
  Delays delays;
  const double before = OwnCpuMilliseconds();
  auto pipeline = spawner.ok()
                      ? ingest::IsolatedPipeline::Create(
                            {.task = "show", .grid = grid, .log = [](int, std::string_view) {}},
                            **spawner, delays)
                      : spawner.status();
  if (!pipeline.ok()) {
    std::cerr << pipeline.status() << "\n";
    std::exit(1);
  }
  (*pipeline)->Play();
  delays.AwaitEnd();
  const double own = OwnCpuMilliseconds() - before;
  const double of_process = std::strtod((*pipeline)->Codec().c_str(), nullptr);
  (*pipeline)->End();
  return {.cpu_ms = (own + of_process) / kPictures, .delay_ms = std::move(delays.ms)};
}

}  // namespace millrace::benchmarks
