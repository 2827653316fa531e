// How many connections there may be, in all and for each client, and which one is closed for a new
// one where there is no room.
//
//             MayBeClosed()            Keep()
//   admitted ──────────────▶ waiting ◀────────▶ kept
//
// A connection whose client is to say something may wait for ever, so it gives way: the oldest of
// them first. So a new client gets in beside any number of idle ones. Only where all are kept is a
// new one refused.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace millrace::service {

struct ConnectionLimits {
  std::size_t in_all = 16'384;
  /// So that no client takes all of them.
  std::size_t per_client = 4'096;
};

/// What metrics tell of them. For any thread.
struct ConnectionCounts {
  /// Those that there are.
  std::atomic<std::size_t> open = 0;
  /// Those that were refused, or closed for others, so far.
  std::atomic<std::uint64_t> turned_away = 0;
};

/// For one thread. Must outlive the leases.
class ConnectionBounds {
 public:
  class Lease;

  /// `counts` must outlive it; null: it counts for itself. REQUIRES: no limit is 0.
  explicit ConnectionBounds(ConnectionLimits limits, ConnectionCounts* counts = nullptr);

  ConnectionBounds(const ConnectionBounds&) = delete;
  ConnectionBounds& operator=(const ConnectionBounds&) = delete;
  ~ConnectionBounds();

  /// A connection of `client`, which is one until its lease ends. Closes another one where there is
  /// no room, first of the same client where that has its share. Null: there is none to close.
  [[nodiscard]] std::unique_ptr<Lease> Admit(const std::string& client);

  /// Closes the one that has waited longest. Whether there was one.
  bool CloseOldest();

  [[nodiscard]] const ConnectionCounts& counts() const { return counts_; }

 private:
  using Id = std::uint64_t;  // Ascends.

  struct Connection {
    std::string client;
    std::function<void()> close = {};  // Empty: it is kept.
  };
  struct Client {
    std::size_t connections = 0;
    std::set<Id> waiting = {};
  };

  void SetClose(Id id, std::function<void()> close);
  void Remove(Id id);
  bool CloseFirst(const std::set<Id>& waiting);
  /// Whether there is room for one more of `client`, which another one may have been closed for.
  bool MakeRoom(const std::string& client);

  const ConnectionLimits limits_;
  ConnectionCounts own_counts_;
  ConnectionCounts& counts_;

  Id next_ = 0;
  std::map<Id, Connection> connections_;
  std::map<std::string, Client> clients_;
  std::set<Id> waiting_;
};

/// That a connection counts. For the thread of its bounds.
class ConnectionBounds::Lease {
 public:
  Lease(ConnectionBounds& bounds, Id id) : bounds_(bounds), id_(id) {}

  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() { bounds_.Remove(id_); }

  /// From now on `close` may be called, once: the connection no longer counts then.
  void MayBeClosed(std::function<void()> close) { bounds_.SetClose(id_, std::move(close)); }
  /// From now on it is not.
  void Keep() { bounds_.SetClose(id_, {}); }

 private:
  ConnectionBounds& bounds_;
  const Id id_;
};

}  // namespace millrace::service
