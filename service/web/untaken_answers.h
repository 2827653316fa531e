// Bounds the memory of answers that clients have not yet received.
//
// A client that sends a request but does not read costs the answer's memory until its time limit.
// Beyond the bound the oldest answers are dropped. A client that reads has received its answer by
// then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace millrace::service {

/// For one thread. Must outlive the leases.
class UntakenAnswers {
 public:
  class Lease;

  explicit UntakenAnswers(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  UntakenAnswers(const UntakenAnswers&) = delete;
  UntakenAnswers& operator=(const UntakenAnswers&) = delete;

  /// Counts an answer of `bytes` until its lease ends. If the bound is reached, drops older
  /// answers: calls their `give_up`, once each. The newest answer is kept, whatever its size.
  [[nodiscard]] std::unique_ptr<Lease> Add(std::size_t bytes, std::function<void()> give_up);

 private:
  using Id = std::uint64_t;  // Ascending.

  struct Answer {
    std::size_t bytes;
    std::function<void()> give_up;
  };

  void Remove(Id id);

  const std::size_t max_bytes_;
  Id next_ = 0;
  std::size_t bytes_ = 0;
  std::map<Id, Answer> answers_;
};

/// Counts an answer for its lifetime. For the thread of its UntakenAnswers.
class UntakenAnswers::Lease {
 public:
  Lease(UntakenAnswers& answers, Id id) : answers_(answers), id_(id) {}

  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() { answers_.Remove(id_); }

 private:
  UntakenAnswers& answers_;
  const Id id_;
};

}  // namespace millrace::service
