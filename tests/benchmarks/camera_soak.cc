// Tries a camera again and again, and prints what the process holds meanwhile.
//
//   camera_soak refused|ends TRIES [leak]
//
//   refused   the camera's port has no listener
//   ends      the camera shows a few frames and then no more, each time
//   leak      the process loses 10 KB with each try, and sometimes a thread and a file, as a test
//             of the leak check
//
// Each line: tries so far, resident bytes, allocated bytes of malloc (the least since the previous
// line: while a camera plays there are more), threads, open files. Fails if the camera of `ends`
// has shown fewer frames than tries, or that of `refused` any frame: then the measurement is wrong.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "ingest/inputs/open_source.h"
#include "spdlog/spdlog.h"
#include "tests/ingest/support/loopback_port.h"
#include "tests/ingest/support/media.h"
#include "tests/ingest/support/rtsp_process.h"

namespace {

namespace ingest = millrace::ingest;

constexpr int kSamples = 100;

long ResidentBytes() {
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

std::size_t HeapBytes() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

std::ptrdiff_t Threads() {
  namespace fs = std::filesystem;
  return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
}

void Leak(std::int64_t tries) {
  constexpr std::size_t kBytesPerTry = 10'000;
  for (std::int64_t i = 0; i < tries; ++i) {
    auto lost = std::make_unique<std::string>(kBytesPerTry, 'x');
    static_cast<void>(lost.release());
  }
  static_cast<void>(dup(STDERR_FILENO));
  std::thread([] { pause(); }).detach();
}

/// Returns how many frames came.
std::int64_t Watch(ingest::Source& source, std::int64_t tries, bool leaks) {
  std::int64_t frames = 0;
  std::jthread learner([&] {
    while (source.queue().Pop()) ++frames;
  });
  std::int64_t done = 0;
  for (int sample = 1; sample <= kSamples; ++sample) {
    const std::int64_t due = tries * sample / kSamples;
    std::size_t heap_bytes = HeapBytes();
    ingest::WaitUntil([&] {
      heap_bytes = std::min(heap_bytes, HeapBytes());
      return source.status().reconnects >= due;
    });
    if (leaks) Leak(due - done);
    done = due;
    std::cout << due << ' ' << ResidentBytes() << ' ' << heap_bytes << ' ' << Threads() << ' '
              << ingest::OpenFiles() << std::endl;
  }
  source.Stop();
  learner.join();
  return frames;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "";
  if (argc < 3 || (kind != "refused" && kind != "ends")) {
    std::cerr << "camera_soak refused|ends TRIES [leak]\n";
    return 2;
  }
  spdlog::set_level(spdlog::level::err);
  std::unique_ptr<ingest::RtspProcess> camera;
  std::unique_ptr<ingest::LoopbackPort> nobody;
  std::string url;
  if (kind == "ends") {
    camera = std::make_unique<ingest::RtspProcess>(std::vector<std::string>{
        "--frames", "2", "--fps", "100", "--width", "64", "--height", "64"});
    url = camera->url();
  } else {
    nobody = std::make_unique<ingest::LoopbackPort>(ingest::LoopbackPort::kDoesNotListen);
    url = nobody->Url();
  }
  const ingest::IngestSettings settings{
      .limits = {.first_frame = std::chrono::seconds(60),
                 .between_frames = std::chrono::milliseconds(100)},
      .backoff = {.first = std::chrono::milliseconds(1), .longest = std::chrono::milliseconds(1)}};
  const auto source = ingest::OpenSource({.uri = url}, settings);
  if (!source.ok()) {
    std::cerr << source.status() << "\n";
    return 1;
  }
  const std::int64_t tries = std::stoll(argv[2]);
  const std::int64_t frames = Watch(**source, tries, argc > 3);
  if (kind == "ends" ? frames >= tries : frames == 0) return 0;
  std::cerr << frames << " frames came of " << tries << " tries\n";
  return 1;
}
