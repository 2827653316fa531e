// One request on one connection, and its answer.
//
//              a header          a handler's        all of it
//   reading ──────────▶ answering ──────▶ writing ──────▶ ending ──▶ closed
//      │                                     ▲              │ until the client closes, or in vain
//      └── nonsense: 400; too slow: 408 ─────┘              ▼
//
// It reads no body: it answers once it has the header. It may be closed for another connection
// while it reads or ends.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "service/connection_bounds.h"
#include "service/http_message.h"

namespace millrace::service {

/// Owned by the operations that it waits for. For the loop's thread, but for the handlers, which
/// run on those of `handlers`.
class HttpExchange : public std::enable_shared_from_this<HttpExchange> {
 public:
  /// What all exchanges of a server share; it outlives them.
  struct Server {
    std::vector<HttpRoute> routes;
    boost::asio::thread_pool& handlers;
    /// Within which a request's header has to come, and its answer to be taken.
    std::chrono::milliseconds most_reading;
    std::chrono::milliseconds most_writing;
  };

  HttpExchange(boost::asio::ip::tcp::socket socket, std::string client,
               std::unique_ptr<ConnectionBounds::Lease> lease, const Server& server);

  void Begin();

 private:
  using ErrorCode = boost::system::error_code;
  enum class State { kReading, kAnswering, kWriting, kEnding, kClosed };

  void ReadHeader();
  void OnRead(const ErrorCode& error);
  void Write(HttpResponse response);
  void End();
  void Discard();
  void Close();

  /// It has to leave `state` within `most`, if that is said.
  void Enter(State state, std::optional<std::chrono::milliseconds> most);
  void OnTooSlow();
  /// While a client is to say something.
  void MayBeClosed();
  [[nodiscard]] std::optional<HttpRequest> Request() const;

  const Server& server_;
  const std::string client_;

  std::unique_ptr<ConnectionBounds::Lease> lease_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer limit_;
  State state_ = State::kReading;
  std::size_t discarded_ = 0;
  boost::beast::flat_buffer buffer_;
  // There is one once something came.
  std::optional<boost::beast::http::request_parser<boost::beast::http::empty_body>> parser_;
  std::optional<boost::beast::http::response<boost::beast::http::string_body>> answer_;
};

}  // namespace millrace::service
