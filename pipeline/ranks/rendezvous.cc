#include "pipeline/ranks/rendezvous.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <map>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/Version.h>
#include <torch/headeronly/version.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "absl/strings/str_cat.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "pipeline/ranks/c10d_wires.h"
#include "pipeline/ranks/rank_address.h"
#include "pipeline/ranks/sealed_text.h"

namespace millrace::pipeline {
namespace {

using Json = nlohmann::json;
using Store = c10::intrusive_ptr<c10d::Store>;
using std::chrono::milliseconds;

// Of the words in the store. Another version is refused.
constexpr int kProtocol = 1;
constexpr milliseconds kConnectLimit = std::chrono::seconds(10);
constexpr milliseconds kPause{20};
constexpr std::size_t kMinSecretBytes = 16;

// The store's keys.
constexpr char kChallenge[] = "millrace/challenge";
constexpr char kArrivals[] = "millrace/arrivals";
std::string HelloOf(std::int64_t arrival) { return absl::StrCat("millrace/hello/", arrival); }
std::string AnswerTo(std::int64_t arrival) { return absl::StrCat("millrace/answer/", arrival); }

std::vector<std::uint8_t> Bytes(const std::string& text) { return {text.begin(), text.end()}; }

std::string Text(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// A process as it introduces itself.
Json OwnHello(const std::string& nonce) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return {{"protocol", kProtocol},
          {"millrace", MILLRACE_VERSION},
          {"libtorch", TORCH_VERSION},
          {"processor", at::get_cpu_capability()},
          {"host", std::string(host.data())},
          {"process", ::getpid()},
          {"nonce", nonce}};
}

// Other programs compute other numbers.
absl::Status CheckSameProgram(const Json& theirs) {
  const Json ours = OwnHello("");
  for (const char* key : {"protocol", "millrace", "libtorch", "processor"}) {
    const Json value = theirs.value(key, Json());
    if (value == ours[key]) continue;
    return absl::FailedPreconditionError(absl::StrCat("it has ", key, " ", value.dump(),
                                                      ", the leader ", ours[key].dump(),
                                                      ": their results would differ"));
  }
  return absl::OkStatus();
}

std::string NameOf(const Json& hello) {
  return absl::StrCat("process ", hello.value("process", Json()).dump(), " on ",
                      hello.value("host", std::string("an unknown host")));
}

class GlooGroup final : public RankGroup {
 public:
  // Connects to all other ranks. Each must do the same within kConnectLimit. Throws.
  GlooGroup(const Store& store, const std::string& address, int rank, int size, std::int64_t epoch)
      : group_(Connect(store, address, rank, size, epoch)),
        wires_(group_),
        rank_(rank),
        size_(size),
        epoch_(epoch) {}

  Wires& wires() override { return wires_; }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] std::int64_t epoch() const override { return epoch_; }

 private:
  static c10::intrusive_ptr<c10d::Backend> Connect(const Store& store, const std::string& address,
                                                   int rank, int size, std::int64_t epoch) {
    auto options = c10d::ProcessGroupGloo::Options::create(kConnectLimit);
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(address));
    auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>(absl::StrCat("millrace/epoch/", epoch), store), rank,
        size, options);
    // A wait that ends by a limit closes its connection for good, and a camera may pause for days.
    constexpr auto kNever = std::chrono::hours(24 * 365 * 10);
    group->setTimeout(kNever);
    return group;
  }

  const c10::intrusive_ptr<c10d::Backend> group_;
  C10dWires wires_;
  const int rank_;
  const int size_;
  const std::int64_t epoch_;
};

absl::Status Lost(std::string_view text) {
  return absl::UnavailableError(absl::StrCat("the ranks could not be joined: ", CauseLine(text)));
}

absl::Status NotWanted() { return absl::CancelledError("the ranks are no longer wanted"); }

class StoreLeader final : public RankLeader {
 public:
  StoreLeader(Options options, BoundSocket socket)
      : options_(std::move(options)), port_(socket.port) {
    c10d::TCPStoreOptions store;
    store.port = static_cast<std::uint16_t>(port_);
    store.isServer = true;
    store.waitWorkers = false;
    store.timeout = kConnectLimit;
    store.masterListenFd = socket.descriptor.Release();
    store_ = c10::make_intrusive<c10d::TCPStore>(options_.host, store);
    store_->set(kChallenge, Bytes(challenge_));
  }

  [[nodiscard]] int port() const override { return port_; }

  absl::StatusOr<std::unique_ptr<RankGroup>> Gather(int size,
                                                    const std::stop_token& stop) override {
    return ExceptionToStatus(
        [&]() -> absl::StatusOr<std::unique_ptr<RankGroup>> {
          std::vector<Joined> joined;
          while (static_cast<int>(joined.size()) < size - 1) {
            if (stop.stop_requested()) return NotWanted();
            if (!HasNext()) {
              std::this_thread::sleep_for(kPause);
            } else if (absl::StatusOr<Joined> one = TakeNext(); one.ok()) {
              joined.push_back(*std::move(one));
            } else if (options_.on_refused) {
              options_.on_refused(one.status());
            }
          }
          ++epoch_;
          for (std::size_t i = 0; i < joined.size(); ++i) {
            Answer(joined[i], {{"rank", i + 1}, {"size", size}, {"epoch", epoch_}});
          }
          return std::make_unique<GlooGroup>(store_, options_.host, 0, size, epoch_);
        },
        Lost);
  }

 private:
  struct Joined {
    std::int64_t arrival = 0;
    std::string nonce;
  };

  bool HasNext() { return store_->check({HelloOf(taken_ + 1)}); }

  absl::StatusOr<Joined> TakeNext() {
    const std::int64_t arrival = ++taken_;
    const absl::StatusOr<std::string> text = Unseal(
        options_.secret, absl::StrCat("hello ", challenge_), Text(store_->get(HelloOf(arrival))));
    if (!text.ok()) {
      store_->set(AnswerTo(arrival), Bytes("another secret"));
      return absl::Status(text.status().code(),
                          absl::StrCat("a process that asked to join: ", text.status().message()));
    }
    const Json hello = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (!hello.is_object()) return absl::InvalidArgumentError("a process sent no greeting");
    Joined joined{.arrival = arrival, .nonce = hello.value("nonce", std::string())};
    const absl::Status same = CheckSameProgram(hello);
    if (same.ok()) return joined;
    Answer(joined, {{"refused", std::string(same.message())}});
    return absl::Status(same.code(), absl::StrCat(NameOf(hello), ": ", same.message()));
  }

  void Answer(const Joined& joined, const Json& answer) {
    store_->set(AnswerTo(joined.arrival),
                Bytes(Seal(options_.secret, absl::StrCat("answer ", joined.nonce), answer.dump())));
  }

  const Options options_;
  const int port_;
  const std::string challenge_ = MakeNonce();
  Store store_;
  std::int64_t taken_ = 0;  // Arrivals that were looked at.
  std::int64_t epoch_ = 0;
};

absl::Status CheckSecret(const std::string& secret) {
  if (secret.size() >= kMinSecretBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the secret of the ranks has ", secret.size(), " bytes; it needs ",
                   kMinSecretBytes, " or more, for example those of: openssl rand -hex 32"));
}

// The leader's answer to an arrival. Waits for it.
absl::StatusOr<Json> AwaitAnswer(const Store& store, std::int64_t arrival,
                                 const std::string& secret, const std::string& nonce,
                                 const std::stop_token& stop) {
  while (!store->check({AnswerTo(arrival)})) {
    if (stop.stop_requested()) return NotWanted();
    std::this_thread::sleep_for(kPause);
  }
  const absl::StatusOr<std::string> text =
      Unseal(secret, absl::StrCat("answer ", nonce), Text(store->get(AnswerTo(arrival))));
  if (!text.ok()) {
    return absl::PermissionDeniedError(
        "the leader has another secret: give both the same file, byte for byte");
  }
  Json answer = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (answer.contains("refused")) {
    return absl::FailedPreconditionError(
        absl::StrCat("the leader refuses this process: ", answer["refused"].get<std::string>()));
  }
  return answer;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RankLeader>> RankLeader::Listen(const Options& options) {
  MILLRACE_RETURN_IF_ERROR(CheckSecret(options.secret));
  MILLRACE_ASSIGN_OR_RETURN(BoundSocket socket, BindTo(options.host, options.port));
  return ExceptionToStatus(
      [&]() -> absl::StatusOr<std::unique_ptr<RankLeader>> {
        return std::make_unique<StoreLeader>(options, std::move(socket));
      },
      Lost);
}

absl::StatusOr<std::unique_ptr<RankGroup>> JoinLeader(const JoinOptions& options,
                                                      const std::stop_token& stop) {
  MILLRACE_RETURN_IF_ERROR(CheckSecret(options.secret));
  MILLRACE_ASSIGN_OR_RETURN(const std::string own_address,
                            OwnAddressTowards(options.host, options.port, kConnectLimit));
  return ExceptionToStatus(
      [&]() -> absl::StatusOr<std::unique_ptr<RankGroup>> {
        c10d::TCPStoreOptions of_store;
        of_store.port = static_cast<std::uint16_t>(options.port);
        of_store.waitWorkers = false;
        of_store.timeout = kConnectLimit;
        const Store store = c10::make_intrusive<c10d::TCPStore>(options.host, of_store);
        const std::string challenge = Text(store->get(kChallenge));
        const std::string nonce = MakeNonce();
        const std::int64_t arrival = store->add(kArrivals, 1);
        store->set(HelloOf(arrival), Bytes(Seal(options.secret, absl::StrCat("hello ", challenge),
                                                OwnHello(nonce).dump())));
        MILLRACE_ASSIGN_OR_RETURN(const Json answer,
                                  AwaitAnswer(store, arrival, options.secret, nonce, stop));
        return std::make_unique<GlooGroup>(store, own_address, answer.at("rank").get<int>(),
                                           answer.at("size").get<int>(),
                                           answer.at("epoch").get<std::int64_t>());
      },
      Lost);
}

}  // namespace millrace::pipeline
