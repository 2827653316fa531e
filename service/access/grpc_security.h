// The settings that protect the gRPC port: TLS, tokens and the addresses that may change the
// server.
#pragma once

#include <string>
#include <string_view>

namespace millrace::service {

/// The addresses from which clients may change the server's state.
enum class ControlFrom { kNowhere, kLoopback, kAnywhere };

/// How the gRPC port is protected. Without any file, the port is plain text and does not
/// authenticate its clients.
struct GrpcSecurity {
  /// Paths of PEM files. With `certificate` and `key`, the port accepts only TLS. With `client_ca`,
  /// it accepts only clients whose certificate an authority in that file has signed. The server
  /// reads the files again when they change.
  struct Tls {
    std::string certificate;
    std::string key;
    std::string client_ca;

    [[nodiscard]] bool on() const { return !certificate.empty(); }
  };

  Tls tls = {};
  /// The file of tokens (see TokenFile). A client must send one of them. The server reads the file
  /// again when it changes.
  std::string tokens_file = {};
  ControlFrom control = ControlFrom::kLoopback;
  /// Whether the configuration explicitly allows plain text on an address beyond this machine. That
  /// covers gRPC without TLS, and the page, the metrics and the probes, which never use TLS.
  bool allow_plain_text = false;
};

/// Whether the IP address `address` is reachable only from this machine.
[[nodiscard]] bool IsLoopback(std::string_view address);

/// Describes `security` for people, without file names: "TLS, client certificates, tokens, control
/// from this machine only".
[[nodiscard]] std::string Describe(const GrpcSecurity& security);

}  // namespace millrace::service
