// RTSP by hand, for cameras with invalid answers.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/ingest/support/loopback_port.h"

namespace millrace::ingest {

/// What a client says until it is gone or has asked something.
inline std::string Request(int client) {
  std::string text;
  char piece[4096];
  while (text.find("\r\n\r\n") == std::string::npos) {
    const ssize_t size = recv(client, piece, sizeof(piece), 0);
    if (size <= 0) break;
    text.append(piece, static_cast<std::size_t>(size));
  }
  return text;
}

/// The answer to `request`, with `more` lines of header.
inline std::string Answer(const std::string& request, const std::string& code,
                          const std::string& more) {
  const std::size_t at = request.find("CSeq: ");
  const std::string number =
      at == std::string::npos ? "" : request.substr(at, request.find("\r\n", at) + 2 - at);
  return absl::StrCat("RTSP/1.0 ", code, "\r\n", number, more, "\r\n");
}

/// The description (SDP) of a camera whose video has these lines.
inline std::string Described(const std::string& video) {
  return absl::StrCat("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=x\r\nc=IN IP4 0.0.0.0\r\nt=0 0\r\n",
                      video);
}

/// An RTP packet of payload type 96, interleaved in the RTSP connection (RFC 2326, 10.12). `time`:
/// its timestamp, in the clock of its video.
inline std::string RtpPacket(std::uint16_t sequence, const std::string& payload,
                             std::uint32_t time = 0) {
  constexpr std::size_t kHead = 12;
  const std::size_t size = kHead + payload.size();
  std::string packet("$\0\0\0\x80\x60\0\0\0\0\0\0\0\0\0\1", 4 + kHead);
  const auto put = [&packet](std::size_t at, std::size_t number) {
    packet[at] = static_cast<char>(number >> 8U);
    packet[at + 1] = static_cast<char>(number);
  };
  put(2, size);
  put(6, sequence);
  put(8, time >> 16U);
  put(10, time);
  return packet + payload;
}

/// A camera on a loopback port. `piece` makes what it says to a request: piece 0, 1, ... until one
/// is empty or the client leaves. It is called on the camera's thread.
class SpokenCamera {
 public:
  using Piece = std::function<std::string(const std::string& request, std::int64_t number)>;

  explicit SpokenCamera(Piece piece) : piece_(std::move(piece)), thread_([this] { Serve(); }) {}
  ~SpokenCamera() {
    port_.Close();
    const std::scoped_lock lock(mu_);
    ending_ = true;
    shutdown(client_, SHUT_RDWR);  // What it sends may wait for a viewer that has gone.
  }

  [[nodiscard]] std::string url() const {
    return absl::StrCat("rtsp://127.0.0.1:", port_.number(), "/live");
  }
  /// Bytes after the first piece of an answer, to all clients.
  [[nodiscard]] std::int64_t sent() const { return sent_; }
  /// Whether a client has taken nothing for half a second, and the connection was full.
  [[nodiscard]] bool was_blocked() const { return was_blocked_; }

 private:
  void Serve() {
    for (int client = 0; (client = port_.Accept()) >= 0; close(client)) {
      if (!SetClient(client)) continue;
      for (std::string request; !(request = Request(client)).empty();) Reply(client, request);
      SetClient(-1);
    }
  }

  // False: the camera ends.
  bool SetClient(int client) {
    const std::scoped_lock lock(mu_);
    client_ = client;
    return !ending_;
  }

  void Reply(int client, const std::string& request) {
    std::string text = piece_(request, 0);
    for (std::int64_t number = 1; !text.empty() && Send(client, text); ++number) {
      if (number > 1) sent_ += static_cast<std::int64_t>(text.size());
      text = piece_(request, number);
    }
  }

  bool Send(int client, const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
      pollfd writable{.fd = client, .events = POLLOUT, .revents = 0};
      if (poll(&writable, 1, 500) == 0) {
        was_blocked_ = true;
        continue;
      }
      const ssize_t size =
          send(client, text.data() + done, text.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (size < 0 && errno != EAGAIN) return false;
      if (size > 0) done += static_cast<std::size_t>(size);
    }
    return true;
  }

  const Piece piece_;
  const LoopbackPort port_;
  std::atomic<std::int64_t> sent_ = 0;
  std::atomic<bool> was_blocked_ = false;
  std::mutex mu_;
  int client_ = -1;      // Guarded by mu_.
  bool ending_ = false;  // Guarded by mu_.
  std::jthread thread_;
};

/// What a camera of this description says. After PLAY it sends packet(0), packet(1), ... until one
/// is empty.
inline SpokenCamera::Piece Playing(std::string description,
                                   std::function<std::string(std::int64_t number)> packet) {
  return [description = std::move(description), packet = std::move(packet)](
             const std::string& request, std::int64_t number) -> std::string {
    if (number > 0) return request.starts_with("PLAY") ? packet(number - 1) : "";
    std::string more = "Public: OPTIONS, DESCRIBE, SETUP, PLAY\r\nSession: 1\r\n";
    if (request.starts_with("SETUP")) {
      more += "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n";
    }
    if (!request.starts_with("DESCRIBE")) return Answer(request, "200 OK", more);
    more += absl::StrCat("Content-Type: application/sdp\r\nContent-Length: ", description.size(),
                         "\r\n");
    return Answer(request, "200 OK", more) + description;
  };
}

}  // namespace millrace::ingest
