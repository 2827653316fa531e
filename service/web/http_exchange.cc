#include "service/web/http_exchange.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr std::size_t kMaxHeaderBytes = 16 << 10;
/// Bytes of an ignored body to read before the close: an earlier close could lose the answer.
constexpr std::size_t kMaxDiscardedBytes = 1 << 20;
constexpr std::chrono::milliseconds kMaxEnding(1000);

/// RFC 9110, 5.6.7.
std::string HttpDate(absl::Time time) {
  return absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", time, absl::UTCTimeZone());
}

http::response<http::string_body> Message(HttpResponse response, bool with_body) {
  http::response<http::string_body> message;
  message.result(static_cast<unsigned>(response.status));
  message.set(http::field::date, HttpDate(absl::Now()));
  message.set(http::field::content_type, response.content_type);
  message.set(http::field::content_length, absl::StrCat(response.body.size()));
  message.set(http::field::cache_control, "no-store");
  message.set("X-Content-Type-Options", "nosniff");
  message.set(http::field::connection, "close");
  for (const auto& [name, value] : response.headers) message.set(name, value);
  if (with_body) message.body() = std::move(response.body);
  return message;
}

/// Whether the bytes are no HTTP request; otherwise the client closed the connection.
bool IsNonsense(const boost::system::error_code& error) {
  return error.category() == make_error_code(http::error::bad_method).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

HttpResponse Refusal(const boost::system::error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return {.status = 431,
            .body = absl::StrCat("A request's header may have ", kMaxHeaderBytes, " bytes.\n")};
  }
  return {.status = 400, .body = absl::StrCat("This is no request: ", error.message(), ".\n")};
}

HttpResponse TooManyRequests() {
  return {.status = 503,
          .body = "Too many requests wait for their answers. Ask again in a second.\n",
          .headers = {{"Retry-After", "1"}}};
}

}  // namespace

HttpExchange::HttpExchange(asio::ip::tcp::socket socket, std::string client,
                           std::unique_ptr<ConnectionBounds::Lease> lease, Server& server)
    : server_(server),
      client_(std::move(client)),
      lease_(std::move(lease)),
      socket_(std::move(socket)),
      limit_(socket_.get_executor()) {}

void HttpExchange::Begin() {
  Enter(State::kReading, server_.max_reading);
  MayBeClosed();
  // A silent client costs no buffer.
  socket_.async_wait(asio::ip::tcp::socket::wait_read,
                     [self = shared_from_this()](const ErrorCode& error) {
                       if (self->state_ != State::kReading) return;
                       if (error) return self->Close();
                       self->ReadHeader();
                     });
}

void HttpExchange::ReadHeader() {
  parser_.emplace();
  parser_->header_limit(kMaxHeaderBytes);
  // The body is ignored. (Beast 1.74 takes boost::none for a limit of 0.)
  parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
  http::async_read_header(
      socket_, buffer_, *parser_,
      [self = shared_from_this()](const ErrorCode& error, std::size_t) { self->OnRead(error); });
}

void HttpExchange::OnRead(const ErrorCode& error) {
  if (state_ != State::kReading) return;
  if (error) return IsNonsense(error) ? Write(Refusal(error)) : Close();
  std::optional<HttpRequest> request = Request();
  if (!request) return Write({.status = 400, .body = "This is no request for a path.\n"});
  Answer(*std::move(request));
}

void HttpExchange::Answer(HttpRequest request) {
  Answering& answering = AnsweringOf(request);
  request_ = answering.requests.Admit(lease_->client());
  if (request_ == nullptr) {
    spdlog::warn("http: a request of {} was refused: too many wait for their answers", client_);
    return Write(TooManyRequests());
  }
  lease_->Keep();
  Enter(State::kAnswering, {});
  // The work guard keeps the loop running until the handler has finished.
  asio::post(answering.threads, [self = shared_from_this(), request = std::move(request),
                                 work = asio::make_work_guard(socket_.get_executor())]() mutable {
    HttpResponse response = Dispatch(self->server_.routes, std::move(request));
    asio::post(work.get_executor(),
               [self = std::move(self), response = std::move(response)]() mutable {
                 self->Write(std::move(response));
               });
  });
}

std::optional<HttpRequest> HttpExchange::Request() const {
  MILLRACE_CHECK(parser_.has_value());
  const auto& message = parser_->get();
  HttpRequest request = {.path = "/", .remote_address = client_};
  if (!ReadTarget({message.target().data(), message.target().size()}, request)) return std::nullopt;
  request.method = std::string(message.method_string());
  if (message.method() == http::verb::head) request.method = "GET";
  for (const auto& field : message) {
    request.headers.emplace(absl::AsciiStrToLower(std::string(field.name_string())),
                            std::string(field.value()));
  }
  return request;
}

HttpExchange::Answering& HttpExchange::AnsweringOf(const HttpRequest& request) const {
  const bool probe = std::ranges::any_of(server_.routes, [&request](const HttpRoute& route) {
    return route.probe && route.pattern == request.path;
  });
  return probe ? server_.probes : server_.ordinary;
}

void HttpExchange::Write(HttpResponse response) {
  request_.reset();
  if (state_ == State::kClosed) return;
  Enter(State::kWriting, server_.max_writing);
  lease_->Keep();
  untaken_ = server_.untaken.Add(response.body.size(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->GiveUp();
  });
  const bool head =
      parser_ && parser_->is_header_done() && parser_->get().method() == http::verb::head;
  answer_.emplace(Message(std::move(response), !head));
  http::async_write(socket_, *answer_,
                    [self = shared_from_this()](const ErrorCode& error, std::size_t) {
                      if (self->state_ != State::kWriting) return;
                      error ? self->Close() : self->End();
                    });
}

// Closing a socket with unread data would reset the connection and lose the answer.
void HttpExchange::End() {
  untaken_.reset();
  Enter(State::kEnding, kMaxEnding);
  ErrorCode ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  MayBeClosed();
  Discard();
}

void HttpExchange::Discard() {
  buffer_.clear();
  socket_.async_read_some(buffer_.prepare(4096),
                          [self = shared_from_this()](const ErrorCode& error, std::size_t bytes) {
                            if (self->state_ != State::kEnding) return;
                            self->discarded_ += bytes;
                            if (error || self->discarded_ > kMaxDiscardedBytes) {
                              return self->Close();
                            }
                            self->Discard();
                          });
}

void HttpExchange::Close() {
  state_ = State::kClosed;
  ErrorCode ignored;
  socket_.close(ignored);
  limit_.cancel();
  untaken_.reset();
  lease_.reset();
}

void HttpExchange::GiveUp() {
  spdlog::warn("http: {} has not taken its answer, whose memory others need: it is closed",
               client_);
  Close();
}

void HttpExchange::MayBeClosed() {
  lease_->MayBeClosed([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Close();
  });
}

void HttpExchange::Enter(State state, std::optional<std::chrono::milliseconds> time_limit) {
  state_ = state;
  limit_.cancel();
  if (!time_limit) return;
  limit_.expires_after(*time_limit);
  limit_.async_wait([self = shared_from_this(), state](const ErrorCode& cancelled) {
    if (!cancelled && self->state_ == state) self->OnTooSlow();
  });
}

void HttpExchange::OnTooSlow() {
  // No byte came: a browser keeps such a connection for a later request.
  if (state_ != State::kReading || !parser_) return Close();
  ErrorCode ignored;
  socket_.cancel(ignored);
  Write({.status = 408, .body = "The request took too long to come.\n"});
}

}  // namespace millrace::service
