// Real cameras with their own decoding processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "ingest/inputs/camera_process.h"
#include "ingest/inputs/look.h"
#include "tests/ingest/support/camera_tests.h"
#include "tests/ingest/support/media.h"
#include "tests/ingest/support/rtsp_process.h"

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

SourceOptions Isolated(const std::string& uri) {
  return {.uri = uri, .queue_capacity = 64, .camera = {.isolate = true}};
}

/// The camera's processes.
std::vector<pid_t> Processes() {
  const std::string spawner = std::to_string(CameraProcesses()->pid());
  std::ifstream file("/proc/" + spawner + "/task/" + spawner + "/children");
  std::vector<pid_t> pids;
  for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
  return pids;
}

std::vector<Frame> Take(Source& source, std::size_t count) {
  std::vector<Frame> frames;
  while (frames.size() < count) {
    std::optional<Frame> frame = source.queue().Pop();
    if (!frame) break;
    frames.push_back(*std::move(frame));
  }
  return frames;
}

// Both decode what one encoder has made.
TEST(IsolatedCameraTest, ShowsTheVeryPicturesThatItShowsInThisProcess) {
  constexpr std::size_t kFrames = 60;
  constexpr std::size_t kInCommon = 20;
  const RtspProcess camera({"--pattern", "ball", "--fps", "50", "--gop", "10"});
  const auto isolated = Open(Isolated(camera.url()), Patient());
  const auto here = Open(SourceOptions{.uri = camera.url(), .queue_capacity = 64}, Patient());
  // One starts earlier than the other. So only the frames that both have are compared.
  std::vector<Frame> shown_here;
  std::jthread taking([&] { shown_here = Take(*here, 2 * kFrames); });
  const std::vector<Frame> shown = Take(*isolated, kFrames);
  taking.join();
  EXPECT_EQ(Processes().size(), 1u);
  std::size_t in_common = 0;
  for (const Frame& frame : shown) {
    in_common += std::ranges::any_of(
        shown_here, [&](const Frame& other) { return other.picture->rgb == frame.picture->rgb; });
  }
  EXPECT_GE(in_common, kInCommon);
  EXPECT_EQ(isolated->status().camera_width, here->status().camera_width);
  EXPECT_EQ(isolated->status().camera_frames_per_second, 50);
}

/// The causes of a source's states. Thread-safe.
class Causes {
 public:
  void Add(const absl::Status& cause) ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    causes_.emplace_back(cause.message());
  }
  [[nodiscard]] bool Say(const std::string& text) const ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    return std::ranges::any_of(
        causes_, [&](const std::string& cause) { return cause.find(text) != std::string::npos; });
  }

 private:
  mutable Mutex mu_;
  std::vector<std::string> causes_ ABSL_GUARDED_BY(mu_);
};

TEST(IsolatedCameraTest, AProcessThatIsKilledIsAConnectionThatIsLost) {
  const RtspProcess camera({});
  Causes causes;
  SourceOptions options = Isolated(camera.url());
  options.on_state = [&](SourceState, const absl::Status& cause) { causes.Add(cause); };
  const auto source = Open(options, Patient());
  std::int64_t epoch = Take(*source, 1).front().epoch;
  for (const auto& [signal, said] :
       std::map<int, std::string>{{SIGKILL, "its process was ended (SIGKILL)"},
                                  {SIGSEGV, "its process crashed (SIGSEGV)"},
                                  {SIGABRT, "its process gave up (SIGABRT)"}}) {
    const std::vector<pid_t> before = Processes();
    ASSERT_EQ(before.size(), 1u);
    kill(before.front(), signal);
    WaitUntil([&] { return causes.Say(said); });
    const std::int64_t lost = epoch;
    while (epoch == lost) epoch = Take(*source, 1).front().epoch;
  }
}

TEST(IsolatedCameraTest, NothingIsLeftOfASourceThatIsStopped) {
  const RtspProcess camera({});
  const auto source = Open(Isolated(camera.url()), Patient());
  Take(*source, 3);
  ASSERT_EQ(Processes().size(), 1u);
  source->Stop();
  EXPECT_TRUE(Processes().empty());
}

TEST(IsolatedCameraTest, WhyThereAreNoPicturesIsSaidAlike) {
  const RtspProcess camera({"--user", "viewer", "--password", "right"});
  for (const bool isolate : {false, true}) {
    const auto source =
        Open(SourceOptions{.uri = camera.url(),
                           .camera = {.login = {.user = "other"}, .isolate = isolate}},
             Patient());
    WaitUntil([&] { return !source->status().cause.ok(); });
    EXPECT_TRUE(absl::IsPermissionDenied(source->status().cause)) << source->status().cause;
  }
}

// It was cut on its way, and the process took it for its end.
TEST(IsolatedCameraTest, ALoginThatIsTooLongIsSaid) {
  SourceOptions options = Isolated("rtsp://127.0.0.1:9/live");
  options.camera.login = {.user = std::string(64 << 10, 'u')};
  const auto source = Open(options, Patient());
  WaitUntil([&] { return !source->status().cause.ok(); });
  EXPECT_THAT(std::string(source->status().cause.message()), HasSubstr("are longer than 64 KiB"));
}

TEST(IsolatedCameraTest, ThePasswordIsReadHereAndShownNowhere) {
  constexpr const char* kWord = "plum/cake+4711";
  const RtspProcess camera({"--user", "viewer", "--password", kWord});
  const TemporaryFolder folder;
  const std::string file = folder / "word";
  std::ofstream(file) << kWord << '\n';
  SourceOptions options = Isolated(camera.url());
  options.camera.login = {.user = "viewer", .password_file = file};
  const auto source = Open(options, Patient());
  EXPECT_EQ(Take(*source, 1).size(), 1u);
  ASSERT_EQ(Processes().size(), 1u);
  const std::string of_process = "/proc/" + std::to_string(Processes().front());
  for (const char* const told : {"/cmdline", "/environ"}) {
    std::ifstream text(of_process + told);
    EXPECT_THAT(std::string(std::istreambuf_iterator<char>(text), {}), Not(HasSubstr(kWord)));
  }
}

TEST(IsolatedCameraTest, ALookIsIsolatedAndSaysTheCodec) {
  const RtspProcess camera({"--width", "640", "--height", "480"});
  const absl::StatusOr<SourceFacts> facts = Look(Isolated(camera.url()));
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->picture, (Extent{.width = 640, .height = 480}));
  EXPECT_THAT(facts->codec, HasSubstr("H.264"));
  EXPECT_TRUE(Processes().empty());
}

}  // namespace
}  // namespace millrace::ingest

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (argc > 0 && !millrace::ingest::StartCameraProcesses({}).ok()) return 1;
  return RUN_ALL_TESTS();
}
