#include "service/http_server.h"

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "civetweb.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

constexpr std::chrono::milliseconds kKnockPause(20);

/// RFC 9110, 5.6.7. civetweb's own is made by gmtime(), whose result all threads share.
std::string HttpDate(absl::Time time) {
  return absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", time, absl::UTCTimeZone());
}

void Send(mg_connection* connection, const HttpResponse& response, bool with_body) {
  // What is left of a request's body is not waited for: who sends it slowly would keep the thread.
  mg_disable_connection_keep_alive(connection);
  mg_response_header_start(connection, response.status);
  const auto add = [&](const std::string& name, const std::string& value) {
    mg_response_header_add(connection, name.c_str(), value.c_str(), static_cast<int>(value.size()));
  };
  add("Date", HttpDate(absl::Now()));
  add("Content-Type", response.content_type);
  add("Content-Length", absl::StrCat(response.body.size()));
  add("Cache-Control", "no-store");
  add("X-Content-Type-Options", "nosniff");
  add("Connection", "close");
  for (const auto& [name, value] : response.headers) add(name, value);
  mg_response_header_send(connection);
  if (with_body) mg_write(connection, response.body.data(), response.body.size());
}

HttpRequest RequestOf(const mg_request_info& info) {
  const std::string_view method = info.request_method;
  HttpRequest request;
  request.method = method == "HEAD" ? "GET" : std::string(method);
  request.path = info.local_uri == nullptr ? "/" : info.local_uri;
  request.query = info.query_string == nullptr ? "" : info.query_string;
  request.remote_address = info.remote_addr;
  for (int i = 0; i < info.num_headers; ++i) {
    const mg_header& header = info.http_headers[i];
    request.headers.emplace(absl::AsciiStrToLower(header.name), header.value);
  }
  return request;
}

// civetweb's callbacks: the context's user data are its routes. It is C, through which no exception
// may pass, whatever its type.
int OnRequest(mg_connection* connection) {
  const mg_request_info& info = *mg_get_request_info(connection);
  try {
    const auto& routes = *static_cast<const std::vector<HttpRoute>*>(info.user_data);
    const HttpResponse response = Dispatch(routes, RequestOf(info));
    Send(connection, response, std::string_view(info.request_method) != "HEAD");
    return response.status;
  } catch (...) {
    spdlog::error("http: {} was not answered: no memory is left, or something odd was thrown",
                  info.local_uri == nullptr ? "/" : info.local_uri);
    mg_disable_connection_keep_alive(connection);
    mg_send_http_error(connection, 500, "%s", "The server failed to answer.");
    return 500;
  }
}

int OnLogMessage(const mg_connection* /*connection*/, const char* message) {
  spdlog::debug("http: {}", message);
  return 1;  // Handled: civetweb would write it to a file.
}

}  // namespace

std::string UrlHost(std::string_view address) {
  return absl::StrContains(std::string(address), ':') ? absl::StrCat("[", std::string(address), "]")
                                                      : std::string(address);
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(Options options) {
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(options)));
  if (absl::Status status = server->Listen(); !status.ok()) return status;
  return server;
}

HttpServer::HttpServer(Options options) : options_(std::move(options)) {}

absl::Status HttpServer::Listen() {
  const std::string where = absl::StrCat(UrlHost(options_.address), ":", options_.port);
  const std::string threads = absl::StrCat(options_.threads);
  // A browser opens connections that it may never use: they must not hold a thread for long.
  std::array<const char*, 11> settings = {"listening_ports",
                                          where.c_str(),
                                          "num_threads",
                                          threads.c_str(),
                                          "enable_keep_alive",
                                          "no",
                                          "request_timeout_ms",
                                          "2000",
                                          "tcp_nodelay",
                                          "1",
                                          nullptr};
  mg_callbacks callbacks = {};
  callbacks.begin_request = OnRequest;
  callbacks.log_message = OnLogMessage;
  mg_init_data init = {.callbacks = &callbacks,
                       .user_data = const_cast<std::vector<HttpRoute>*>(&options_.routes),
                       .configuration_options = settings.data()};
  std::array<char, 256> text = {};
  unsigned code = 0;
  mg_error_data error = {.code = &code, .text = text.data(), .text_buffer_size = text.size()};
  context_ = mg_start2(&init, &error);
  mg_server_port bound = {};
  if (context_ == nullptr || mg_get_server_ports(context_, 1, &bound) < 1) {
    return absl::UnavailableError(absl::StrCat(
        "cannot listen on ", where, ": the port is in use, or the address is not this machine's. ",
        "Stop what listens there, or change ", options_.port_key,
        " in the configuration (0 takes a free port)"));
  }
  port_ = bound.port;
  return absl::OkStatus();
}

HttpServer::~HttpServer() { BeginStop(); }

void HttpServer::BeginStop() {
  if (stopping_ || context_ == nullptr) return;
  stopping_ = true;
  stopper_ = std::jthread([this] { Stop(); });
}

void HttpServer::Stop() {
  // civetweb looks whether it is to stop when a connection comes, or after two seconds: knock.
  const std::jthread knocker([this](const std::stop_token& stopped) {
    std::array<char, 256> error = {};
    while (!stopped.stop_requested()) {
      mg_connection* connection = mg_connect_client(options_.address.c_str(), port_, /*use_ssl=*/0,
                                                    error.data(), error.size());
      if (connection != nullptr) mg_close_connection(connection);
      std::this_thread::sleep_for(kKnockPause);
    }
  });
  mg_stop(context_);
}

std::string HttpServer::url() const {
  return absl::StrCat("http://", UrlHost(options_.address), ":", port_);
}

}  // namespace millrace::service
