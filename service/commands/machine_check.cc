#include "service/commands/machine_check.h"

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/commands/address_space.h"
#include "service/commands/rank_arguments.h"
#include "service/config/config_problems.h"
#include "service/net/http_message.h"
#include "service/net/open_files.h"
#include "service/registry/budget_gate.h"

namespace millrace::service {
namespace {

struct Port {
  std::string_view key;
  std::string address;
  int port;
};

/// The explicitly chosen ports: 0 lets the system choose.
std::vector<Port> PortsOf(const Listen& listen) {
  std::vector<Port> ports = {{"listen.grpc_port", listen.address, listen.grpc_port},
                             {"listen.http_port", listen.web_address(), listen.http_port},
                             {"listen.metrics_port", listen.web_address(), listen.metrics_port}};
  std::erase_if(ports, [](const Port& port) { return port.port == 0; });
  return ports;
}

std::string Where(const Port& port) { return absl::StrCat(UrlHost(port.address), ":", port.port); }

void CheckListen(const Listen& listen, const Machine& machine, ConfigProblems& problems) {
  const bool reads_tls = !problems.Unread("listen.tls");
  for (const KeyProblem& problem : machine.security(listen.security)) {
    if (reads_tls || !problem.key.starts_with("listen.tls")) {
      problems.Add(problem.key, problem.what);
    }
  }
  // Port 0, because this checks only the address.
  if (machine.bind(listen.address, 0) == EADDRNOTAVAIL) {
    problems.Add("listen.address",
                 absl::StrCat("no network interface of this machine has ", listen.address,
                              "; `ip address` lists the addresses"));
    return;
  }
  for (const Port& port : PortsOf(listen)) {
    const int error = machine.bind(port.address, port.port);
    if (error == 0 || error == EADDRINUSE) continue;
    problems.Add(port.key,
                 absl::StrCat(Where(port),
                              " cannot be listened on: ", std::generic_category().message(error),
                              error == EACCES ? "; ports below 1024 need a privilege that this "
                                                "user lacks: take one from 1024 on"
                                              : ""));
  }
}

/// Removes the advice where to look: the error's place in the file is more precise.
std::string WithoutAdvice(const absl::Status& status) {
  const std::string message(status.message());
  return message.substr(0, message.rfind("; see source."));
}

std::string_view KeyOf(pipeline::LearnerPart part) {
  using enum pipeline::LearnerPart;
  switch (part) {
    case kNetwork:
      return "model.network";
    case kWeights:
      return "model.weights";
    case kStages:
      return "schedule.stages";
    case kCuts:
      return "schedule.cuts";
    case kSchedule:
      return "schedule.kind";
    case kCheckpoints:
      return "checkpoints.folder";
  }
  return "model";
}

/// Keys that affect neither the choice of the network nor its cuts.
constexpr std::string_view kNotOfTheNetwork[] = {
    "model.learning_rate", "model.smoothness",           "model.seed",
    "model.window",        "schedule.frames_per_second", "schedule.replan_share",
    "schedule.devices",    "schedule.cuda_graphs"};

/// Checks whether all streams together fit into the file's budget, as `serve` does. Without a
/// budget every stream fits.
class MemoryCheck {
 public:
  MemoryCheck(const ConfigFile& file, ConfigProblems& problems)
      : budget_(file.config.budget), problems_(problems) {}

  /// Whether `stream` fits beside the earlier streams; if so, reserves its memory.
  bool Fits(const StreamConfig& stream, const Machine& machine) {
    if (!budget_.is_set() || problems_.Unread("budget")) return true;
    const double all = MemoryBytesOf(budget_);
    absl::StatusOr<HeldMemory> held = memory_.Take({stream.name, MemoryToLoad(stream)}, all);
    if (held.ok()) {
      *held = nullptr;
      held = memory_.Take({stream.name, machine.memory(stream)}, all);
    }
    if (!held.ok()) {
      problems_.Add("budget.memory_gb", std::string(held.status().message()));
      return false;
    }
    held_.push_back(*std::move(held));
    return true;
  }

 private:
  const Budget& budget_;
  ConfigProblems& problems_;
  MemoryBudget memory_;
  std::vector<HeldMemory> held_;
};

/// Checks one stream. Skips checks for keys whose values could not be read.
class StreamCheck {
 public:
  StreamCheck(const ConfigFile& file, std::size_t number, ConfigProblems& problems)
      : stream_(file.config.streams[number]), number_(number), problems_(problems) {}

  void Look(const Machine& machine, MemoryCheck& memory) {
    LookAtSource(machine);
    if (const std::string& folder = stream_.learner.checkpoints.folder;
        !folder.empty() && Read("checkpoints.folder")) {
      Note("checkpoints.folder", machine.folder(folder));
    }
    // A stream of labels computes on the CPU, even if the defaults name devices.
    if (!IsOfLabels(stream_.task) && Read("schedule.devices")) {
      Note("schedule.devices", machine.devices(stream_.learner.devices));
    }
    if (Read("scores")) Note("scores.compare_with", machine.reference(stream_));
    if (!ReadsNetworkOf("model")) return;
    if (!Read("schedule") || memory.Fits(stream_, machine)) LookAtLearner(machine);
  }

 private:
  void LookAtSource(const Machine& machine) {
    if (Read("source.uri") && !stream_.source.uri.empty()) {
      Note("source.uri", machine.source(stream_.source));
    }
    const ingest::Login& login = stream_.source.camera.login;
    Note(login.password_file.empty() ? "source.password_env" : "source.password_file",
         machine.password(login));
    const ingest::Tls& tls = stream_.source.camera.tls;
    if (!tls.ca_file.empty()) Note("source.tls_ca_file", machine.trusted(tls));
  }

  void LookAtLearner(const Machine& machine) {
    for (const pipeline::LearnerProblem& problem : machine.learner(stream_)) {
      const std::string_view key = KeyOf(problem.part);
      // The network's keys are checked together: a wrong number of cuts depends on the number of
      // stages.
      if (ReadsNetworkOf(key.substr(0, key.find('.')))) Note(key, problem.status);
    }
  }

  [[nodiscard]] bool Read(std::string_view key) const {
    return !problems_.UnreadInStream(number_, key);
  }
  [[nodiscard]] bool ReadsNetworkOf(std::string_view section) const {
    return !problems_.UnreadInStream(number_, section, kNotOfTheNetwork);
  }

  void Note(std::string_view key, const absl::Status& status) {
    if (!status.ok()) problems_.AddToStream(number_, key, WithoutAdvice(status));
  }

  const StreamConfig& stream_;
  const std::size_t number_;
  ConfigProblems& problems_;
};

// A launcher may say the host later.
void CheckRanks(const RanksConfig& ranks, ConfigProblems& problems) {
  if (ranks.listen.empty() || problems.Unread("ranks")) return;
  const std::string host = NamesHost(ranks.listen) ? "" : "localhost";
  const absl::Status address = ParseHostAndPort(host + ranks.listen, "this").status();
  if (!address.ok()) problems.Add("ranks.listen", std::string(address.message()));
  const absl::Status secret =
      ReadRankSecret(ranks.secret_file, absl::StrCat("'", ranks.secret_file, "'")).status();
  if (!secret.ok()) problems.Add("ranks.secret_file", std::string(secret.message()));
}

}  // namespace

absl::Status RaiseLimits(const ConfigFile& file) {
  const std::size_t streams = file.config.streams.size();
  MILLRACE_RETURN_IF_ERROR(RaiseOpenFiles(streams));
  return CheckAddressSpace(streams);
}

absl::Status CheckMachine(const ConfigFile& file, const Machine& machine) {
  ConfigProblems problems(file);
  if (file.places.empty()) return problems.status();  // It is no YAML: there is no key to check.
  CheckListen(file.config.listen, machine, problems);
  CheckRanks(file.config.ranks, problems);
  MemoryCheck memory(file, problems);
  for (std::size_t i = 0; i < file.config.streams.size(); ++i) {
    StreamCheck(file, i, problems).Look(machine, memory);
  }
  return problems.status();
}

absl::Status PortsInUse(const ConfigFile& file, const Machine& machine) {
  ConfigProblems problems(file);
  for (const Port& port : PortsOf(file.config.listen)) {
    if (machine.bind(port.address, port.port) != EADDRINUSE) continue;
    problems.Add(port.key, absl::StrCat(Where(port),
                                        " is in use, maybe by another millrace: `ss -ltnp "
                                        "'sport = :",
                                        port.port,
                                        "'` names the program; stop it, or "
                                        "choose another port (0: any free one)"));
  }
  return problems.added(absl::StatusCode::kUnavailable);
}

}  // namespace millrace::service
