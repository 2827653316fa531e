#include "pipeline/ranks/gloo_group.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "absl/strings/str_cat.h"

namespace millrace::pipeline {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenBeats{300};
// For the last words at the end, and for those of others.
constexpr milliseconds kLastWords{500};
constexpr int kBeatTag = 1;

}  // namespace

// One message on a connection for beats.
struct GlooGroup::Beat {
  enum class Kind : std::int32_t { kAlive, kLeft, kLost, kFailed };
  Kind kind = Kind::kAlive;
  // The rank's news; or who is lost, or why it has failed. Ends with zeros.
  std::array<char, kMaxNews + 1> words{};

  [[nodiscard]] bool is_last() const { return kind != Kind::kAlive; }
  // Up to the first zero of the words, which the receiver has already.
  [[nodiscard]] std::size_t size() const {
    return offsetof(Beat, words) +
           static_cast<std::size_t>(std::ranges::find(words, '\0') - words.begin());
  }
  void Say(const std::string& text) {
    std::copy_n(text.begin(), std::min(text.size(), words.size() - 1), words.begin());
  }
};

GlooGroup::GlooGroup(Options options)
    : options_(std::move(options)),
      data_(Connect("data"),
            [this](int rank, const std::string& why) { return CauseOr(Lost(rank, why)); }),
      beats_(Connect("beats"),
             [this](int rank, const std::string& why) { return Lost(rank, why); }),
      wires_(*this),
      news_(options_.names.size()) {
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == options_.rank) continue;
    auto peer = std::make_unique<Peer>();
    peer->rank = rank;
    peer->heard_ns = clock_.Now().count();
    peers_.push_back(std::move(peer));
  }
  for (const auto& peer : peers_) {
    peer->receiver = std::jthread([this, &peer] { ReceiveBeats(*peer); });
    peer->sender = std::jthread([this, &peer] { SendBeats(*peer); });
  }
  watch_ = std::jthread([this] { Watch(); });
}

GlooGroup::~GlooGroup() {
  {
    const MutexLock lock(mu_);
    is_closing_ = true;
    changed_.notify_all();
  }
  data_.Abort(absl::CancelledError("the group is over"));
  watch_.join();  // It ends the beats once the last words are sent, or after a while.
}

c10::intrusive_ptr<c10d::Backend> GlooGroup::Connect(const std::string& purpose) const {
  auto options = c10d::ProcessGroupGloo::Options::create(options_.pair_limit);
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(options_.address));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(
      c10::make_intrusive<c10d::PrefixStore>(
          absl::StrCat("millrace/epoch/", options_.epoch, "/", purpose), options_.store),
      options_.rank, static_cast<int>(options_.names.size()), options);
}

std::string GlooGroup::NameOf(int rank) const {
  return absl::StrCat("rank ", rank, " (", options_.names[rank], ")");
}

absl::Status GlooGroup::Lost(int rank, const std::string& why) const {
  return absl::UnavailableError(absl::StrCat(NameOf(rank), " is lost: ", why));
}

void GlooGroup::Fail(const absl::Status& failure, Cause cause) {
  {
    const MutexLock lock(mu_);
    if (is_closing_ || !failure_.ok()) return;
    failure_ = failure;
    cause_ = cause;
    changed_.notify_all();
  }
  data_.Abort(failure);
}

absl::Status GlooGroup::lost() const {
  const MutexLock lock(mu_);
  return cause_ == Cause::kLost ? failure_ : absl::OkStatus();
}

void GlooGroup::Show(std::string news) {
  if (news.size() > kMaxNews) return;
  const MutexLock lock(mu_);
  news_[options_.rank] = std::move(news);
}

std::string GlooGroup::NewsOf(int rank) const {
  const MutexLock lock(mu_);
  return news_[rank];
}

// A broken connection is often the consequence of another rank's failure, whose words come on
// another connection.
absl::Status GlooGroup::CauseOr(const absl::Status& lost) {
  const nanoseconds end = clock_.Now() + kLastWords;
  {
    const MutexLock lock(mu_);
    while (failure_.ok() && !is_closing_ && clock_.Now() < end) {
      changed_.wait_for(mu_, kBetweenBeats);
    }
  }
  Fail(lost, Cause::kLost);
  const MutexLock lock(mu_);
  return failure_.ok() ? lost : failure_;
}

// Waits for its time.
GlooGroup::Beat GlooGroup::NextBeat() {
  const MutexLock lock(mu_);
  if (failure_.ok() && !is_closing_) changed_.wait_for(mu_, kBetweenBeats);
  Beat beat;
  if (!failure_.ok()) {
    const bool is_loss = cause_ == Cause::kLost || cause_ == Cause::kLeaving;
    beat.kind = is_loss ? Beat::Kind::kLost : Beat::Kind::kFailed;
    const bool is_own = cause_ == Cause::kLeaving || cause_ == Cause::kOwnFailure;
    const std::string whose = is_own ? NameOf(options_.rank) + ": " : "";
    beat.Say(absl::StrCat(whose, failure_.message()));
  } else if (is_closing_) {
    beat.kind = Beat::Kind::kLeft;
  } else {
    beat.Say(news_[options_.rank]);
  }
  return beat;
}

void GlooGroup::SendBeats(Peer& peer) {
  for (bool last = false; !last;) {
    const Beat beat = NextBeat();
    const auto bytes = std::as_bytes(std::span(&beat, 1)).first(beat.size());
    const bool sent = beats_.Send(peer.rank, kBeatTag, bytes)->Wait().ok();
    last = !sent || beat.is_last();
  }
  peer.has_said_last = true;
}

void GlooGroup::ReceiveBeats(Peer& peer) {
  while (true) {
    Beat beat;
    const absl::Status received =
        beats_.Receive(peer.rank, kBeatTag, std::as_writable_bytes(std::span(&beat, 1)))->Wait();
    if (!received.ok()) return Fail(received, Cause::kLost);
    peer.heard_ns = clock_.Now().count();
    beat.words.back() = '\0';
    if (beat.kind == Beat::Kind::kFailed || beat.kind == Beat::Kind::kLost) {
      return Fail(absl::UnavailableError(beat.words.data()),
                  beat.kind == Beat::Kind::kLost ? Cause::kLost : Cause::kFailureElsewhere);
    }
    if (beat.kind == Beat::Kind::kLeft) {
      peer.has_left = true;
      return;
    }
    const MutexLock lock(mu_);
    news_[peer.rank] = beat.words.data();
  }
}

absl::Status GlooGroup::Silence() const {
  for (const auto& peer : peers_) {
    const nanoseconds silent = clock_.Now() - nanoseconds(peer->heard_ns);
    if (peer->has_left || silent < options_.lost_after) continue;
    return Lost(peer->rank,
                absl::StrCat("no sign of life for ",
                             static_cast<double>(options_.lost_after.count()) / 1000, " s"));
  }
  return absl::OkStatus();
}

bool GlooGroup::IsClosing() {
  const MutexLock lock(mu_);
  if (!is_closing_) changed_.wait_for(mu_, kBetweenBeats);
  return is_closing_;
}

void GlooGroup::Watch() {
  while (!IsClosing()) {
    if (const absl::Status silence = Silence(); !silence.ok()) Fail(silence, Cause::kLost);
  }
  // The senders send their last words meanwhile.
  const nanoseconds end = clock_.Now() + kLastWords;
  const auto all_sent = [&] {
    return std::ranges::all_of(peers_, [](const auto& peer) { return peer->has_said_last.load(); });
  };
  while (!all_sent() && clock_.Now() < end) std::this_thread::sleep_for(milliseconds(5));
  beats_.Abort(absl::CancelledError("the group is over"));
}

}  // namespace millrace::pipeline
