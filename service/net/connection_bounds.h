// Bounds the number of connections, in total and for each client. When the bound is reached, it
// closes an idle connection for a new one.
//
//             MayBeClosed()            Keep()
//   admitted ──────────────▶ waiting ◀────────▶ kept
//
// A connection whose client must speak next may wait forever. So the oldest waiting connection is
// closed for a new one: idle connections cannot keep a new client out. A new connection is refused
// only if all other connections are kept.
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

/// In a server ShareOpenFiles() computes those of its ports.
struct ConnectionLimits {
  std::size_t in_all = 16'384;
  /// Lower than `in_all`, so that no client takes all of them.
  std::size_t per_client = 4'096;
};

/// Counters for a port's metrics. Thread-safe.
struct ConnectionCounts {
  /// Open connections.
  std::atomic<std::size_t> open = 0;
  /// Connections that were refused, or closed for other connections, since the start.
  std::atomic<std::uint64_t> turned_away = 0;
};

/// For one thread. Must outlive the leases.
class ConnectionBounds {
 public:
  class Lease;

  /// `counts` must outlive this object; null: no external counters. REQUIRES: no limit is 0.
  explicit ConnectionBounds(ConnectionLimits limits, ConnectionCounts* counts = nullptr);

  ConnectionBounds(const ConnectionBounds&) = delete;
  ConnectionBounds& operator=(const ConnectionBounds&) = delete;
  ~ConnectionBounds();

  /// `release` ends the leases of closed connections. If the bound is reached, Admit() calls it
  /// before it closes or refuses a connection.
  void SetRelease(std::function<void()> release) { release_ = std::move(release); }

  /// Counts a connection of `client` until its lease ends. If the bound is reached, closes the
  /// connection that has waited longest: one of the same client if this client is at its own bound.
  /// Returns null if no connection waits.
  [[nodiscard]] std::unique_ptr<Lease> Admit(const std::string& client);

  /// Closes the connection that has waited longest. Returns false if no connection waits.
  bool CloseOldest();

  [[nodiscard]] const ConnectionCounts& counts() const { return counts_; }

 private:
  using Id = std::uint64_t;  // Ascending.

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
  /// Releases or closes a connection if `client` is at a bound. Returns whether there is room now.
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

/// Counts a connection for its lifetime. For the thread of its ConnectionBounds.
class ConnectionBounds::Lease {
 public:
  Lease(ConnectionBounds& bounds, Id id, std::string client)
      : bounds_(bounds), id_(id), client_(std::move(client)) {}

  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() { bounds_.Remove(id_); }

  /// From now on `close` may be called, once. After that the connection no longer counts.
  void MayBeClosed(std::function<void()> close) { bounds_.SetClose(id_, std::move(close)); }
  /// From now on the connection is not closed for another connection.
  void Keep() { bounds_.SetClose(id_, {}); }

  [[nodiscard]] const std::string& client() const { return client_; }

 private:
  ConnectionBounds& bounds_;
  const Id id_;
  const std::string client_;
};

}  // namespace millrace::service
