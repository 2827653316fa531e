#include "service/web/http_server.h"

#include <algorithm>
#include <boost/asio/thread_pool.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/net/tcp_server.h"
#include "service/web/http_exchange.h"

namespace millrace::service {
struct HttpServer::Running {
  Running(std::unique_ptr<TcpServer> listening, Options options)
      : stop_grace(options.stop_grace),
        shared{.routes = std::move(options.routes),
               .ordinary{.threads = handlers, .requests = ConnectionBounds(options.requests)},
               .probes{.threads = probes, .requests = ConnectionBounds(options.requests)},
               .untaken = UntakenAnswers(options.max_untaken_bytes),
               .max_reading = options.max_reading,
               .max_writing = options.max_writing},
        tcp(std::move(listening)),
        handlers(static_cast<std::size_t>(options.threads)),
        probes(std::ranges::any_of(shared.routes, &HttpRoute::probe) ? 1 : 0) {
    tcp->Start([this](auto socket, std::string client, auto lease) {
      std::make_shared<HttpExchange>(std::move(socket), std::move(client), std::move(lease), shared)
          ->Begin();
    });
  }
  ~Running() {
    tcp->BeginStop(stop_grace);
    tcp->Join();
  }

  const std::chrono::milliseconds stop_grace;
  HttpExchange::Server shared;  // Outlives the exchanges, which the loop's destructor destroys.
  const std::unique_ptr<TcpServer> tcp;
  // Destroyed first: its destructor drops waiting requests and waits for running handlers.
  boost::asio::thread_pool handlers;
  boost::asio::thread_pool probes;
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(Options options) {
  MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<TcpServer> tcp,
                            TcpServer::Listen({.address = options.address,
                                               .port = options.port,
                                               .port_key = options.port_key,
                                               .connections = options.connections,
                                               .counts = options.counts}));
  std::unique_ptr<HttpServer> server(new HttpServer(options.address));
  server->running_ = std::make_unique<Running>(std::move(tcp), std::move(options));
  return server;
}

HttpServer::HttpServer(std::string address) : address_(std::move(address)) {}

HttpServer::~HttpServer() = default;

void HttpServer::BeginStop() { running_->tcp->BeginStop(running_->stop_grace); }

int HttpServer::port() const { return running_->tcp->port(); }

std::string HttpServer::url() const {
  return absl::StrCat("http://", UrlHost(address_), ":", port());
}

}  // namespace millrace::service
