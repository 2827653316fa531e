#include "service/net/connection_bounds.h"

#include <utility>

#include "base/check.h"

namespace millrace::service {

ConnectionBounds::ConnectionBounds(ConnectionLimits limits, ConnectionCounts* counts)
    : limits_(limits), counts_(counts == nullptr ? own_counts_ : *counts) {
  MILLRACE_CHECK(limits.in_all > 0 && limits.per_client > 0);
}

ConnectionBounds::~ConnectionBounds() = default;

std::unique_ptr<ConnectionBounds::Lease> ConnectionBounds::Admit(const std::string& client) {
  if (!MakeRoom(client)) {
    ++counts_.turned_away;
    return nullptr;
  }
  const Id id = next_++;
  connections_[id] = {.client = client};
  ++clients_[client].connections;
  counts_.open = connections_.size();
  return std::make_unique<Lease>(*this, id, client);
}

bool ConnectionBounds::HasItsShare(const std::string& client) const {
  const auto found = clients_.find(client);
  return found != clients_.end() && found->second.connections >= limits_.per_client;
}

bool ConnectionBounds::HasRoom(const std::string& client) const {
  return connections_.size() < limits_.in_all && !HasItsShare(client);
}

bool ConnectionBounds::MakeRoom(const std::string& client) {
  if (HasRoom(client)) return true;
  release_();
  if (HasRoom(client)) return true;
  return HasItsShare(client) ? CloseFirst(clients_[client].waiting) : CloseOldest();
}

bool ConnectionBounds::CloseOldest() { return CloseFirst(waiting_); }

bool ConnectionBounds::CloseFirst(const std::set<Id>& waiting) {
  if (waiting.empty()) return false;
  const Id id = *waiting.begin();
  const std::function<void()> close = std::move(connections_[id].close);
  Remove(id);
  ++counts_.turned_away;
  close();
  return true;
}

void ConnectionBounds::SetClose(Id id, std::function<void()> close) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Client& client = clients_[found->second.client];
  found->second.close = std::move(close);
  if (found->second.close) {
    waiting_.insert(id);
    client.waiting.insert(id);
  } else {
    waiting_.erase(id);
    client.waiting.erase(id);
  }
}

void ConnectionBounds::Remove(Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const auto client = clients_.find(found->second.client);
  client->second.waiting.erase(id);
  if (--client->second.connections == 0) clients_.erase(client);
  waiting_.erase(id);
  connections_.erase(found);
  counts_.open = connections_.size();
}

}  // namespace millrace::service
