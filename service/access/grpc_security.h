// Who may call the gRPC port, and how they reach it.
#pragma once

#include <string>
#include <string_view>

namespace millrace::service {

/// From where calls are admitted that change what the server does.
enum class ControlFrom { kNowhere, kLoopback, kAnywhere };

/// How the gRPC port is protected. Without a file named, it is plain text and asks nobody who they
/// are.
struct GrpcSecurity {
  /// PEM files. With certificate and key the port speaks TLS alone; with `client_ca`, only to
  /// clients whose certificate was signed by one of those in it. They are read again when they
  /// change.
  struct Tls {
    std::string certificate;
    std::string key;
    std::string client_ca;

    [[nodiscard]] bool on() const { return !certificate.empty(); }
  };

  Tls tls = {};
  /// The tokens that clients have to send, one of them each; see TokenFile. Read again when it
  /// changes.
  std::string tokens_file = {};
  ControlFrom control = ControlFrom::kLoopback;
  /// Whether the configuration says in so many words that an address beyond this machine may speak
  /// plain text: gRPC without TLS, and the page, the metrics and the probes, which never have it.
  bool allow_plain_text = false;
};

/// Whether `address`, of an IP, is this machine's alone.
[[nodiscard]] bool IsLoopback(std::string_view address);

/// The above in words, without naming any file: "TLS, client certificates, tokens, control from
/// this machine only".
[[nodiscard]] std::string Describe(const GrpcSecurity& security);

}  // namespace millrace::service
