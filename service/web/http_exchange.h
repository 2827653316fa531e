// One request on one connection, and its answer.
//
//              a header          a handler's        all of it
//   reading ──────────▶ answering ──────▶ writing ──────▶ ending ──▶ closed
//      │                                     ▲              │ until the client closes, or in vain
//      └── no request: 400; too slow: 408; ──┘              ▼
//          too many requests: 503
//
// The exchange reads no body: it answers once it has the header. While it reads or ends, it may be
// closed for another connection. While it writes, it may be closed to free memory for another
// answer.
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

#include "service/net/connection_bounds.h"
#include "service/net/http_message.h"
#include "service/web/untaken_answers.h"

namespace millrace::service {

/// Owned by its pending operations. For the loop's thread, except that handlers run on `threads`.
class HttpExchange : public std::enable_shared_from_this<HttpExchange> {
 public:
  /// The threads that answer requests, and the bound of requests that wait or are being answered.
  struct Answering {
    boost::asio::thread_pool& threads;
    ConnectionBounds requests;
  };
  /// Shared by all exchanges of a server. Must outlive them.
  struct Server {
    const std::vector<HttpRoute> routes;
    Answering ordinary;
    Answering probes;
    UntakenAnswers untaken;
    /// Time limits for receiving a request's header and for sending its answer.
    std::chrono::milliseconds max_reading;
    std::chrono::milliseconds max_writing;
  };

  HttpExchange(boost::asio::ip::tcp::socket socket, std::string client,
               std::unique_ptr<ConnectionBounds::Lease> lease, Server& server);

  void Begin();

 private:
  using ErrorCode = boost::system::error_code;
  enum class State { kReading, kAnswering, kWriting, kEnding, kClosed };

  void ReadHeader();
  void OnRead(const ErrorCode& error);
  void Answer(HttpRequest request);
  void Write(HttpResponse response);
  void End();
  void Discard();
  void Close();
  /// Closes the connection to free memory for another answer.
  void GiveUp();

  /// Enters `state`. The exchange must leave it within `time_limit`, if given.
  void Enter(State state, std::optional<std::chrono::milliseconds> time_limit);
  void OnTooSlow();
  /// Call it while the client must speak next.
  void MayBeClosed();
  [[nodiscard]] std::optional<HttpRequest> Request() const;
  [[nodiscard]] Answering& AnsweringOf(const HttpRequest& request) const;

  Server& server_;
  const std::string client_;

  std::unique_ptr<ConnectionBounds::Lease> lease_;
  std::unique_ptr<ConnectionBounds::Lease> request_;  // Held while the request is answered.
  std::unique_ptr<UntakenAnswers::Lease> untaken_;    // Held while the answer is written.
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer limit_;
  State state_ = State::kReading;
  std::size_t discarded_ = 0;
  boost::beast::flat_buffer buffer_;
  // Set once the client has sent data.
  std::optional<boost::beast::http::request_parser<boost::beast::http::empty_body>> parser_;
  std::optional<boost::beast::http::response<boost::beast::http::string_body>> answer_;
};

}  // namespace millrace::service
