#include "service/commands/machine.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/status.h"
#include "ingest/frame/image_folder.h"
#include "ingest/gst/trusted_certificates.h"
#include "ingest/inputs/look.h"
#include "ingest/inputs/open_source.h"
#include "ingest/source/login.h"
#include "ingest/source/uri.h"
#include "pipeline/device/device_choice.h"
#include "service/access/admission.h"
#include "service/access/private_file.h"
#include "service/commands/evaluate/reference_comparison.h"
#include "service/rpc/caught.h"
#include "service/server/camera_fit.h"
#include "service/server/grpc_credentials.h"
#include "service/server/real_stream.h"

namespace millrace::service {
namespace {

namespace fs = std::filesystem;

/// Splits a message that begins with a key: "listen.tls.key: ...".
KeyProblem OfKey(const absl::Status& status) {
  const std::string message(status.message());
  const std::size_t colon = message.find(": ");
  if (!message.starts_with("listen.") || colon == std::string::npos) return {"listen", message};
  return {.key = message.substr(0, colon), .what = message.substr(colon + 2)};
}

std::vector<KeyProblem> TrySecurity(const GrpcSecurity& security) {
  std::vector<KeyProblem> problems;
  const auto note = [&problems](const absl::Status& status) {
    if (!status.ok()) problems.push_back(OfKey(status));
  };
  const GrpcSecurity::Tls& tls = security.tls;
  if (tls.on()) {
    note(ReadNamedFile(tls.certificate, "listen.tls.certificate").status());
    note(ReadPrivateFile(tls.key, "listen.tls.key").status());
    if (!tls.client_ca.empty()) {
      note(ReadNamedFile(tls.client_ca, "listen.tls.client_ca").status());
    }
    if (problems.empty()) note(CheckTls(tls));
  }
  note(Admission::Make(security).status());
  return problems;
}

/// errno of binding a socket to `address`, of address family `family`; 0: success.
int Bind(int family, const void* address, socklen_t size) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const absl::Cleanup close = [fd] { ::close(fd); };
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool bound =
      bind(fd, static_cast<const sockaddr*>(address), size) == 0 && listen(fd, 1) == 0;
  return bound ? 0 : errno;
}

int TryPort(const std::string& address, int port) {
  const auto number = htons(static_cast<std::uint16_t>(port));
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = number;
  if (inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) return Bind(AF_INET, &v4, sizeof v4);
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = number;
  inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr);
  return Bind(AF_INET6, &v6, sizeof v6);
}

/// Whether opening the source has no side effect, as for files and test pictures; false for
/// cameras.
absl::StatusOr<bool> CanBeOpened(const ingest::SourceOptions& options) {
  MILLRACE_ASSIGN_OR_RETURN(const ingest::Uri uri, ingest::ParseUri(options.uri));
  const std::optional<ingest::SourceKind> kind = ingest::KindOf(uri);
  return kind == ingest::SourceKind::kFile || kind == ingest::SourceKind::kTestPicture;
}

absl::Status TrySource(const ingest::SourceOptions& options) {
  MILLRACE_ASSIGN_OR_RETURN(const bool can_be_opened, CanBeOpened(options));
  if (!can_be_opened) return absl::OkStatus();
  ingest::SourceOptions once = options;
  once.loop = once.as_camera = false;
  once.when_full = {};
  // The source logs its states again when it is opened for the run.
  const spdlog::level::level_enum level = spdlog::get_level();
  spdlog::set_level(spdlog::level::off);
  const absl::Cleanup as_before = [level] { spdlog::set_level(level); };
  return ingest::OpenSource(once).status();
}

absl::Status TryFolder(const std::string& folder) {
  std::vector<fs::path> made;
  const absl::Cleanup remove = [&made] {
    std::error_code ignored;
    for (auto one = made.rbegin(); one != made.rend(); ++one) fs::remove(*one, ignored);
  };
  std::error_code error;
  fs::path path;
  for (const fs::path& part : fs::path(folder)) {
    path /= part;
    if (fs::create_directory(path, error)) made.push_back(path);
    std::error_code unknown;
    if (fs::exists(path, unknown) && !fs::is_directory(path, unknown)) {
      error = std::make_error_code(std::errc::not_a_directory);
    }
    if (error) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the folder ", folder, " cannot be made: ", path.string(), ": ", error.message()));
    }
  }
  return CheckWritable(folder + "/manifest.json");
}

/// `stream` at the size of its model. Cameras are not probed: a typical camera is assumed.
StreamConfig Fitted(const StreamConfig& stream) {
  if (!LeavesToCamera(stream)) return FitTo({}, stream);
  // An unreadable source is reported by TrySource().
  if (CanBeOpened(stream.source).value_or(false)) {
    if (const auto seen = ingest::Look(stream.source); seen.ok()) return FitTo(*seen, stream);
  }
  return FitTo(UsualCamera(), stream);
}

std::vector<pipeline::LearnerProblem> TryLearner(const StreamConfig& stream) {
  const pipeline::LearnerOptions learner = Fitted(stream).learner;
  return IsOfLabels(stream.task) ? pipeline::TryLabelLearner(learner, stream.labels)
                                 : pipeline::TryFlowLearner(learner, stream.flow);
}

double MemoryOf(const StreamConfig& stream) {
  const bool of_camera = !stream.input_is_set && !IsOfLabels(stream.task) && LeavesToCamera(stream);
  if (of_camera && !CanBeOpened(stream.source).value_or(false)) return 0;
  const auto need = [&] { return MemoryNeedOf(Fitted(stream)); };
  // TryLearner() reports errors of the network.
  return Caught(need, "reckoning memory").value_or(0);
}

absl::Status TryReference(const StreamConfig& stream) {
  if (stream.scores.compare_with == "none") return absl::OkStatus();
  const StreamConfig fitted = Fitted(stream);
  return CompareWith(fitted.scores.compare_with, fitted.learner.width, fitted.learner.height)
      .status();
}

}  // namespace

Machine ThisMachine() {
  return {
      .security = TrySecurity,
      .bind = TryPort,
      .source = TrySource,
      .password = [](const ingest::Login& login) { return ingest::ReadPassword(login).status(); },
      .trusted = [](const ingest::Tls& tls) { return ingest::ReadTrusted(tls.ca_file).status(); },
      .folder = TryFolder,
      .devices =
          [](const std::vector<std::string>& names) {
            return Caught([&] { return pipeline::ChooseDevices(names).status(); },
                          "looking for a GPU");
          },
      .learner = TryLearner,
      .memory = MemoryOf,
      .reference = TryReference};
}

}  // namespace millrace::service
