// A real RTSP camera in its own process, which tests kill and freeze.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

namespace millrace::ingest {

/// Runs `millrace_rtsp_camera` (rtsp_camera.cc says how). The destructor kills it.
class RtspProcess {
 public:
  /// Starts it and waits until it is ready.
  explicit RtspProcess(const std::vector<std::string>& arguments);
  ~RtspProcess() { Kill(); }
  RtspProcess(const RtspProcess&) = delete;
  RtspProcess& operator=(const RtspProcess&) = delete;

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] std::string port() const;

  /// Whether it has printed more than its URL.
  [[nodiscard]] bool HasSaidMore() const;
  /// Waits for the next line that it prints.
  [[nodiscard]] std::string NextLine() const;

  /// Ends it as a power cut would, and waits until it is gone. Idempotent.
  void Kill();
  void Freeze() const { kill(pid_, SIGSTOP); }
  void Thaw() const { kill(pid_, SIGCONT); }

 private:
  pid_t pid_ = -1;
  int input_ = -1;  ///< Its end ends the camera, should this program die.
  int output_ = -1;
  std::string url_;
};

}  // namespace millrace::ingest
