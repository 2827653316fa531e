// Bounds the number of connections, in all and for each client, and closes a connection for a new
// one where there is no room.
//
//             MayBeClosed()            Keep()
//   admitted ──────────────▶ waiting ◀────────▶ kept
//
// A connection whose client is to speak next may wait for ever. So the oldest of these gives way,
// and a new client gets in beside any number of idle ones. A new connection is refused only where
// all others are kept.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace millrace::service {

struct ConnectionLimits {
  std::size_t in_all = 16'384;
  /// Lower than `in_all`, so that no client takes all of them.
  std::size_t per_client = 4'096;
};

/// The figures of a port's metrics. Thread-safe.
struct ConnectionCounts {
  /// Connections now.
  std::atomic<std::size_t> open = 0;
  /// Connections that were refused, or closed for others, so far.
  std::atomic<std::uint64_t> turned_away = 0;
};

/// For one thread. Must outlive the leases.
class ConnectionBounds {
 public:
  class Lease;

  /// `counts` must outlive the bounds; null: they count for themselves. REQUIRES: no limit is 0.
  explicit ConnectionBounds(ConnectionLimits limits, ConnectionCounts* counts = nullptr);

  ConnectionBounds(const ConnectionBounds&) = delete;
  ConnectionBounds& operator=(const ConnectionBounds&) = delete;
  ~ConnectionBounds();

  /// Ends the leases of connections that have gone. Admit() calls `release` where there is no room,
  /// before it closes or refuses a connection.
  void SetRelease(std::function<void()> release) { release_ = std::move(release); }

  /// Counts a connection of `client` until its lease ends. Where there is no room, closes the one
  /// that has waited longest: of the same client, if that has its share. Null: none waits.
  [[nodiscard]] std::unique_ptr<Lease> Admit(const std::string& client);

  /// Closes the connection that has waited longest. Returns whether there was one.
  bool CloseOldest();

  [[nodiscard]] const ConnectionCounts& counts() const { return counts_; }

 private:
  using Id = std::uint64_t;  // Ascends.

  struct Connection {
    std::string client;
    std::function<void()> close = {};  // Empty: the connection is kept.
  };
  struct Client {
    std::size_t connections = 0;
    std::set<Id> waiting = {};
  };

  void SetClose(Id id, std::function<void()> close);
  void Remove(Id id);
  bool CloseFirst(const std::set<Id>& waiting);
  [[nodiscard]] bool HasItsShare(const std::string& client) const;
  [[nodiscard]] bool HasRoom(const std::string& client) const;
  /// Releases or closes a connection where `client` has no room. Returns whether it has now.
  bool MakeRoom(const std::string& client);

  const ConnectionLimits limits_;
  std::function<void()> release_ = [] {};
  ConnectionCounts own_counts_;
  ConnectionCounts& counts_;

  Id next_ = 0;
  std::map<Id, Connection> connections_;
  std::map<std::string, Client> clients_;
  std::set<Id> waiting_;
};

/// Counts a connection while it lives. For the thread of its bounds.
class ConnectionBounds::Lease {
 public:
  Lease(ConnectionBounds& bounds, Id id, std::string client)
      : bounds_(bounds), id_(id), client_(std::move(client)) {}

  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() { bounds_.Remove(id_); }

  /// From now on `close` may be called, once. The connection no longer counts then.
  void MayBeClosed(std::function<void()> close) { bounds_.SetClose(id_, std::move(close)); }
  /// From now on the connection is not closed for another one.
  void Keep() { bounds_.SetClose(id_, {}); }

  [[nodiscard]] const std::string& client() const { return client_; }

 private:
  ConnectionBounds& bounds_;
  const Id id_;
  const std::string client_;
};

}  // namespace millrace::service
