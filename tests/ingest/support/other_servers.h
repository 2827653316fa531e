// Cameras that are other programs: ffmpeg publishes to an RTSP server, and VLC is one.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/base/temporary_folder.h"
#include "tests/ingest/support/child_process.h"
#include "tests/ingest/support/media.h"

namespace millrace::ingest {

/// An ffmpeg that encodes in time and publishes to `millrace_rtsp_camera --record` (RECORD).
struct FfmpegPublisher {
  std::string codec = "h264";     ///< Or h265: the server's codec, too.
  std::string transport = "tcp";  ///< Or udp.
  int width = 320;

  /// Publishes to the server at `port` for as long as what is returned lives.
  [[nodiscard]] std::unique_ptr<ChildProcess> Start(const std::string& port,
                                                    const std::string& log) const {
    const std::string url = "rtsp://127.0.0.1:" + port + "/publish";
    return std::make_unique<ChildProcess>(
        std::vector<std::string>{"ffmpeg",
                                 "-nostdin",
                                 "-loglevel",
                                 "error",
                                 "-re",
                                 "-f",
                                 "lavfi",
                                 "-i",
                                 "testsrc2=size=" + std::to_string(width) + "x240:rate=25",
                                 "-t",
                                 "300",
                                 "-c:v",
                                 codec == "h264" ? "libx264" : "libx265",
                                 "-preset",
                                 "ultrafast",
                                 "-tune",
                                 "zerolatency",
                                 "-g",
                                 "25",
                                 "-pix_fmt",
                                 "yuv420p",
                                 "-f",
                                 "rtsp",
                                 "-rtsp_transport",
                                 transport,
                                 url},
        log);
  }
};

/// VLC, which serves RTP over UDP alone and refuses to run as root.
class Vlc {
 public:
  Vlc() {
    namespace fs = std::filesystem;
    RunPipeline(
        "videotestsrc pattern=ball num-buffers=5000 ! video/x-raw,width=160,height=120,"
        "framerate=25/1 ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=25 ! mp4mux "
        "! "
        "filesink location=" +
        (folder_ / "movie.mp4"));
    fs::permissions(folder_.path(), fs::perms::all);
    Start();
  }

  [[nodiscard]] std::string url() const {
    return "rtsp://127.0.0.1:" + std::to_string(port_) + "/live";
  }

  /// Waits until it listens.
  void Start() {
    std::vector<std::string> command;
    if (geteuid() == 0) {
      command = {"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"};
    }
    command.insert(command.end(),
                   {"env", "HOME=" + folder_.path().string(), "cvlc", "--quiet",
                    folder_ / "movie.mp4", "--sout", "#rtp{sdp=" + url() + "}", "--sout-keep"});
    process_ = std::make_unique<ChildProcess>(command, folder_ / "vlc.log");
    WaitUntil([this] { return Listens(port_); });
  }

  void Kill() { process_->Kill(); }

 private:
  const TemporaryFolder folder_;
  const int port_ = FreePort();
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace millrace::ingest
