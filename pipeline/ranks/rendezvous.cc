#include "pipeline/ranks/rendezvous.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "pipeline/ranks/gloo_group.h"
#include "pipeline/ranks/rank_address.h"
#include "pipeline/ranks/rank_greeting.h"
#include "pipeline/ranks/sealed_text.h"
#include "pipeline/ranks/within.h"

namespace millrace::pipeline {
namespace {

using Json = nlohmann::json;
using Store = c10::intrusive_ptr<c10d::Store>;
using Group = std::unique_ptr<RankGroup>;
using std::chrono::milliseconds;

constexpr milliseconds kConnectLimit = std::chrono::seconds(10);
// For all connections of a group; each has its own limit.
constexpr milliseconds kGroupLimit = std::chrono::seconds(15);
constexpr milliseconds kPause{20};
// A process that waits shows a sign after each pause. Without one for so long, it has left.
constexpr milliseconds kLeftAfter = std::chrono::seconds(5);
// A process that was frozen or cut off for so long may count as left: it introduces itself again.
constexpr milliseconds kMaxGap = kLeftAfter / 2;
constexpr std::int64_t kMaxUnread = 1000;
constexpr std::size_t kMinSecretBytes = 16;

// The store's keys.
constexpr char kChallenge[] = "millrace/challenge";
constexpr char kArrivals[] = "millrace/arrivals";
std::string HelloOf(std::int64_t arrival) { return absl::StrCat("millrace/hello/", arrival); }
std::string SignsOf(std::int64_t arrival) { return absl::StrCat("millrace/signs/", arrival); }
std::string AnswerTo(std::int64_t arrival) { return absl::StrCat("millrace/answer/", arrival); }

std::vector<std::uint8_t> Bytes(const std::string& text) { return {text.begin(), text.end()}; }
std::string Text(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// Each greeting and answer is for one arrival: a copy of it is refused.
std::string HelloContext(const std::string& challenge, std::int64_t arrival) {
  return absl::StrCat("hello ", challenge, " ", arrival);
}
std::string AnswerContext(const std::string& nonce, std::int64_t arrival) {
  return absl::StrCat("answer ", nonce, " ", arrival);
}

absl::Status NotWanted() { return absl::CancelledError("the ranks are no longer wanted"); }

// c10d logs its exceptions with their stacks. They come to the user as a status.
void QuietC10d() {
  constexpr int kErrors = 2;
  FLAGS_caffe2_log_level = std::max(FLAGS_caffe2_log_level, kErrors);
}

absl::Status CheckSecret(const std::string& secret) {
  if (secret.size() >= kMinSecretBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the secret of the ranks has ", secret.size(), " bytes; it needs ",
                   kMinSecretBytes, " or more, for example those of: openssl rand -hex 32"));
}

absl::StatusOr<Group> MakeGroup(const GlooGroup::Options& options, const std::stop_token& stop) {
  return Within<Group>(kGroupLimit, stop, "the ranks could not connect to each other",
                       [options] { return Group(std::make_unique<GlooGroup>(options)); });
}

class StoreLeader final : public RankLeader {
 public:
  // Throws.
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

  absl::StatusOr<Group> Gather(const JoinRequest& request) override {
    GlooGroup::Options group{
        .store = store_, .address = options_.host, .rank = 0, .lost_after = options_.lost_after};
    const absl::Status chosen = ExceptionToStatus(
        [&]() -> absl::Status {
          MILLRACE_RETURN_IF_ERROR(AwaitAll(request));
          Choose(request.size - 1, group);
          return absl::OkStatus();
        },
        [](std::string_view text) { return absl::UnavailableError(CauseLine(text)); });
    MILLRACE_RETURN_IF_ERROR(chosen);
    absl::StatusOr<Group> made = MakeGroup(group, request.stop);
    Forget();
    return made;
  }

 private:
  // A process that waits for its answer.
  struct Joined {
    std::int64_t arrival = 0;
    std::string nonce;
    std::string name;
    int wish = 0;
    std::int64_t signs = 0;  // It counts them up.
    nanoseconds last_sign{0};
  };

  // Whether it has shown a sign since the last one came. Otherwise it may have left.
  [[nodiscard]] bool IsThere(const Joined& joined) const { return joined.last_sign > newest_; }

  // The ranks of the group get their answers.
  void Choose(int others, GlooGroup::Options& group) {
    group.epoch = ++epoch_;
    group.names.push_back(OwnGreeting("").Name());
    // The ones that may have left come last.
    std::ranges::stable_partition(joined_, [this](const Joined& one) { return IsThere(one); });
    const auto end = joined_.begin() + others;
    std::stable_sort(joined_.begin(), end, [](const Joined& a, const Joined& b) {
      return a.wish != 0 && (b.wish == 0 || a.wish < b.wish);
    });
    for (auto one = joined_.begin(); one != end; ++one) group.names.push_back(one->name);
    int rank = 0;
    for (auto one = joined_.begin(); one != end; ++one) {
      Answer(*one, {{"rank", ++rank},
                    {"epoch", epoch_},
                    {"names", group.names},
                    {"lost after ms", group.lost_after.count()}});
    }
    answered_.assign(joined_.begin(), end);
    joined_.erase(joined_.begin(), end);
  }

  // The answered processes no longer read what the store has of them.
  void Forget() {
    for (const Joined& one : std::exchange(answered_, {})) {
      for (const std::string& key :
           {HelloOf(one.arrival), SignsOf(one.arrival), AnswerTo(one.arrival)}) {
        try {
          store_->deleteKey(key);
        } catch (const std::exception&) {
          return;  // The store has failed: the next call says so.
        }
      }
    }
  }

  absl::Status AwaitAll(const JoinRequest& request) {
    const int wanted = request.size - 1;
    // A process may have left since the last call.
    DropLeft();
    newest_ = MonotonicClock().Now();
    int known = -1;
    const nanoseconds end = newest_ + request.patience;
    nanoseconds last = newest_;
    while (true) {
      TakeGreetings(wanted);
      // While this process was frozen, the others were not heard.
      const nanoseconds now = MonotonicClock().Now();
      if (now - std::exchange(last, now) > kMaxGap) {
        for (Joined& joined : joined_) joined.last_sign = now;
      }
      DropLeft();
      const auto there = static_cast<int>(
          std::ranges::count_if(joined_, [this](const Joined& one) { return IsThere(one); }));
      if (std::exchange(known, there) != there && request.on_there) request.on_there(1 + there);
      if (there >= wanted) return absl::OkStatus();
      if (request.stop.stop_requested()) return NotWanted();
      if (now >= end) return absl::DeadlineExceededError("some processes are still missing");
      std::this_thread::sleep_for(kPause);
    }
  }

  void TakeGreetings(int wanted) {
    const std::int64_t arrivals = store_->add(kArrivals, 0);
    // A stranger who reaches the port can count arrivals.
    known_ = std::max(known_, arrivals - kMaxUnread);
    while (known_ < arrivals) unread_.insert(++known_);
    while (std::ssize(unread_) > kMaxUnread) unread_.erase(unread_.begin());
    for (auto arrival = unread_.begin(); arrival != unread_.end();) {
      if (!store_->check({HelloOf(*arrival)})) {
        ++arrival;
        continue;
      }
      absl::StatusOr<Joined> one = Take(*arrival);
      arrival = unread_.erase(arrival);
      if (one.ok()) {
        joined_.push_back(*std::move(one));
        newest_ = joined_.back().last_sign;
        const int missing = wanted - static_cast<int>(joined_.size());
        if (options_.on_joined) options_.on_joined(joined_.back().name, std::max(missing, 0));
      } else if (options_.on_refused) {
        options_.on_refused(one.status());
      }
    }
  }

  absl::StatusOr<Joined> Take(std::int64_t arrival) {
    const absl::StatusOr<std::string> text = Unseal(
        options_.secret, HelloContext(challenge_, arrival), Text(store_->get(HelloOf(arrival))));
    if (!text.ok()) {
      store_->set(AnswerTo(arrival), Bytes(""));  // Without a seal: another secret.
      return absl::Status(text.status().code(),
                          absl::StrCat("a process that asked to join: ", text.status().message()));
    }
    const absl::StatusOr<RankGreeting> read = GreetingOf(*text);
    if (!read.ok()) store_->set(AnswerTo(arrival), Bytes(""));
    MILLRACE_RETURN_IF_ERROR(read.status());
    const RankGreeting& greeting = *read;
    Joined joined{.arrival = arrival,
                  .nonce = greeting.nonce,
                  .name = greeting.Name(),
                  .wish = greeting.wish,
                  .signs = store_->add(SignsOf(arrival), 0),
                  .last_sign = MonotonicClock().Now()};
    const absl::Status same = CheckSameProgram(greeting);
    if (same.ok()) return joined;
    Answer(joined, {{"refused", std::string(same.message())}});
    return absl::Status(same.code(), absl::StrCat(joined.name, ": ", same.message()));
  }

  void DropLeft() {
    std::erase_if(joined_, [&](Joined& joined) {
      const nanoseconds now = MonotonicClock().Now();
      const std::int64_t signs = store_->add(SignsOf(joined.arrival), 0);
      if (std::exchange(joined.signs, signs) != signs) joined.last_sign = now;
      if (now - joined.last_sign < kLeftAfter) return false;
      if (options_.on_refused) {
        options_.on_refused(
            absl::UnavailableError(absl::StrCat(joined.name, ": it has left again")));
      }
      return true;
    });
  }

  void Answer(const Joined& joined, const Json& answer) {
    const std::string text = answer.dump(-1, ' ', false, Json::error_handler_t::replace);
    store_->set(AnswerTo(joined.arrival),
                Bytes(Seal(options_.secret, AnswerContext(joined.nonce, joined.arrival), text)));
  }

  const Options options_;
  const int port_;
  const std::string challenge_ = MakeNonce();
  Store store_;
  std::int64_t known_ = 0;         // Arrivals.
  std::set<std::int64_t> unread_;  // Arrivals whose greeting has not come.
  std::vector<Joined> joined_;     // In the order of their greetings.
  std::vector<Joined> answered_;   // The last group's.
  nanoseconds newest_{0};          // When the last of them came.
  std::int64_t epoch_ = 0;
};

// A joining process's view of the leader's store.
struct LeaderStore {
  Store store;
  std::string challenge;
};

absl::StatusOr<LeaderStore> FindLeader(const JoinOptions& options, const std::stop_token& stop) {
  const std::string where = absl::StrCat(options.host, ":", options.port);
  return Within<LeaderStore>(kConnectLimit + kPause, stop,
                             absl::StrCat("what answers at ", where, " is no leader of Millrace"),
                             [host = options.host, port = options.port] {
                               c10d::TCPStoreOptions of_store;
                               of_store.port = static_cast<std::uint16_t>(port);
                               of_store.waitWorkers = false;
                               of_store.timeout = kConnectLimit;
                               LeaderStore leader{
                                   .store = c10::make_intrusive<c10d::TCPStore>(host, of_store),
                                   .challenge = {}};
                               leader.challenge = Text(leader.store->get(kChallenge));
                               return leader;
                             });
}

// The leader's answer to an arrival; null if this process should introduce itself again. Waits for
// it, and shows signs of life meanwhile. Throws.
absl::StatusOr<Json> AwaitAnswer(const Store& store, std::int64_t arrival,
                                 const std::string& secret, const std::string& nonce,
                                 const std::stop_token& stop) {
  nanoseconds last = MonotonicClock().Now();
  while (!store->check({AnswerTo(arrival)})) {
    if (stop.stop_requested()) return NotWanted();
    const nanoseconds now = MonotonicClock().Now();
    if (now - std::exchange(last, now) > kMaxGap) return Json();
    store->add(SignsOf(arrival), 1);
    std::this_thread::sleep_for(kPause);
  }
  const absl::StatusOr<std::string> text =
      Unseal(secret, AnswerContext(nonce, arrival), Text(store->get(AnswerTo(arrival))));
  if (!text.ok()) {
    return absl::PermissionDeniedError(
        "the leader has another secret, or another version of Millrace: give both the same file, "
        "byte for byte");
  }
  Json answer = Json::parse(*text);
  if (!answer.contains("refused")) return answer;
  return absl::FailedPreconditionError(
      absl::StrCat("the leader refuses this process: ", answer["refused"].get<std::string>()));
}

// What the leader has answered.
struct Answered {
  absl::Status status = absl::OkStatus();
  GlooGroup::Options group = {};
};

// Throws if the leader ends.
Answered Introduce(const LeaderStore& leader, const std::string& secret, int wish,
                   const std::stop_token& stop) {
  absl::StatusOr<Json> answer = Json();
  while (answer.ok() && answer->is_null()) {
    const std::string nonce = MakeNonce();
    const std::int64_t arrival = leader.store->add(kArrivals, 1);
    const std::string hello =
        Seal(secret, HelloContext(leader.challenge, arrival), TextOf(OwnGreeting(nonce, wish)));
    leader.store->set(HelloOf(arrival), Bytes(hello));
    answer = AwaitAnswer(leader.store, arrival, secret, nonce, stop);
  }
  if (!answer.ok()) return {.status = answer.status()};
  return {.group = {.store = leader.store,
                    .address = {},
                    .rank = answer->at("rank").get<int>(),
                    .epoch = answer->at("epoch").get<std::int64_t>(),
                    .names = answer->at("names").get<std::vector<std::string>>(),
                    .lost_after = milliseconds(answer->at("lost after ms").get<std::int64_t>())}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<RankLeader>> RankLeader::Listen(const Options& options) {
  MILLRACE_RETURN_IF_ERROR(CheckSecret(options.secret));
  MILLRACE_ASSIGN_OR_RETURN(BoundSocket socket, BindTo(options.host, options.port));
  QuietC10d();
  return ExceptionToStatus(
      [&]() -> absl::StatusOr<std::unique_ptr<RankLeader>> {
        return std::make_unique<StoreLeader>(options, std::move(socket));
      },
      [](std::string_view text) { return absl::UnavailableError(CauseLine(text)); });
}

absl::StatusOr<std::unique_ptr<RankGroup>> JoinLeader(const JoinOptions& options,
                                                      const std::stop_token& stop) {
  MILLRACE_RETURN_IF_ERROR(CheckSecret(options.secret));
  MILLRACE_ASSIGN_OR_RETURN(const std::string own_address,
                            OwnAddressTowards(options.host, options.port, kConnectLimit));
  QuietC10d();
  const absl::StatusOr<LeaderStore> found = FindLeader(options, stop);
  if (absl::IsUnavailable(found.status())) return absl::NotFoundError(found.status().message());
  MILLRACE_RETURN_IF_ERROR(found.status());
  const LeaderStore& leader = *found;
  // The leader may wait for others for days.
  constexpr milliseconds kAYear = std::chrono::hours(24 * 365);
  MILLRACE_ASSIGN_OR_RETURN(
      Answered answered,
      Within<Answered>(kAYear, stop, "the leader has ended before the run began",
                       [leader, secret = options.secret, wish = options.wish, stop] {
                         return Introduce(leader, secret, wish, stop);
                       }));
  MILLRACE_RETURN_IF_ERROR(answered.status);
  answered.group.address = own_address;
  return MakeGroup(answered.group, stop);
}

}  // namespace millrace::pipeline
