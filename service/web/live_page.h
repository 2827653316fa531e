// The live page: shows each stream's camera picture, the model's prediction and its quality, live.
//
// One page without a framework. It polls /api/streams a few times a second, under an id that it
// generates, and the pictures of the newest prediction. The server computes these only on request.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "base/clock.h"
#include "service/frames/live_page_pictures.h"
#include "service/net/http_message.h"
#include "service/registry/stream_registry.h"
#include "service/web/live_page_viewers.h"
#include "service/web/page_control.h"

namespace millrace::service {

/// Answers the page's requests. Thread-safe. Objects that the options refer to must outlive it.
class LivePage {
 public:
  struct Options {
    const StreamRegistry* streams = nullptr;
    std::size_t max_viewers = 16;
    const Clock* clock = &MonotonicClock();
    /// Set once the server is about to end.
    const std::atomic<bool>* stopping = nullptr;
    /// Decides which client may press the buttons. Null: no client may.
    const PageControl* control = nullptr;
  };

  explicit LivePage(Options options);

  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;

  /// "/" and its assets, "/flow_wheel.jpg", "/api/streams", "/api/streams/NAME", and
  /// "/streams/NAME/KIND.jpg" for picture, flow, next, reference, uncertainty. The routes refer to
  /// this page. "/api/streams?history=NAME&after=SECOND" includes the history of only that
  /// stream, and only points newer than SECOND.
  [[nodiscard]] std::vector<HttpRoute> Routes();

  [[nodiscard]] const LivePageViewers& viewers() const { return viewers_; }

 private:
  [[nodiscard]] HttpResponse AllStreams(const HttpRequest& request);
  [[nodiscard]] HttpResponse OneStream(const HttpRequest& request);
  [[nodiscard]] HttpResponse Picture(const HttpRequest& request, PictureKind kind);
  [[nodiscard]] bool Admit(const HttpRequest& request);

  // Constant after construction.
  const Options options_;
  const std::string instance_;

  // Self-synchronized.
  LivePageViewers viewers_;
};

}  // namespace millrace::service
