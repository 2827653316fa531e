#include "service/net/self_dial.h"

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/net/http_message.h"

namespace millrace::service {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// The address where a local client reaches a server that listens on `address`.
tcp::endpoint EndpointOf(const SelfDial::Port& port) {
  const asio::ip::address address = asio::ip::make_address(port.address);
  const asio::ip::address loopback = address.is_v4()
                                         ? asio::ip::address(asio::ip::address_v4::loopback())
                                         : asio::ip::address(asio::ip::address_v6::loopback());
  return {address.is_unspecified() ? loopback : address, static_cast<std::uint16_t>(port.number)};
}

}  // namespace

/// Handles one port: dials, hangs up, waits, dials again.
class SelfDial::Dialer {
 public:
  /// `changed` is called when why() changes.
  Dialer(asio::io_context& loop, const Port& port, const Options& options,
         std::function<void()> changed)
      : name_(absl::StrCat(port.name, " at ", UrlHost(port.address), ":", port.number)),
        endpoint_(EndpointOf(port)),
        options_(options),
        changed_(std::move(changed)),
        socket_(loop),
        limit_(loop),
        pause_(loop) {
    Dial();
  }

  /// One line with the reason why the port takes no connections; empty if it takes them.
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  void Dial() {
    limit_.expires_after(options_.patience);
    limit_.async_wait([this](const error_code& cancelled) {
      if (!cancelled) socket_.close();
    });
    error_code error;
    socket_.open(endpoint_.protocol(), error);
    if (error) return End(error);
    socket_.async_connect(endpoint_, [this](error_code failed) {
      if (!failed) socket_.shutdown(tcp::socket::shutdown_send, failed);
      failed ? End(failed) : Wait();
    });
  }

  void Wait() {
    socket_.async_wait(tcp::socket::wait_read, [this](const error_code& error) { End(error); });
  }

  void End(const error_code& error) {
    limit_.cancel();
    error_code ignored;
    socket_.close(ignored);
    if (error) {
      ++failures_;
    } else {
      failures_ = 0;
      reached_ = true;
    }
    Report(error == asio::error::operation_aborted ? "nothing became of one" : error.message());
    pause_.expires_after(options_.every);
    pause_.async_wait([this](const error_code&) { Dial(); });
  }

  void Report(const std::string& cause) {
    std::string why;
    if (reached_ && failures_ >= options_.failures) {
      why = absl::StrCat(name_, " takes no connections: ", cause, "\n");
    }
    if (why == why_) return;
    why_ = std::move(why);
    changed_();
  }

  const std::string name_;
  const tcp::endpoint endpoint_;
  const Options& options_;
  const std::function<void()> changed_;

  tcp::socket socket_;
  asio::steady_timer limit_;
  asio::steady_timer pause_;
  bool reached_ = false;
  int failures_ = 0;
  std::string why_;
};

struct SelfDial::Loop {
  explicit Loop(Options all) : options(std::move(all)) {
    for (const Port& port : options.ports) {
      dialers.push_back(std::make_unique<Dialer>(loop, port, options, [this] { Report(); }));
    }
  }

  void Report() const {
    std::string why;
    for (const auto& dialer : dialers) why += dialer->why();
    options.tell(std::move(why));
  }

  const Options options;
  asio::io_context loop{1};
  std::vector<std::unique_ptr<Dialer>> dialers;
};

SelfDial::SelfDial(Options options)
    : loop_(std::make_unique<Loop>(std::move(options))), thread_([this] { loop_->loop.run(); }) {}

SelfDial::~SelfDial() { loop_->loop.stop(); }

}  // namespace millrace::service
