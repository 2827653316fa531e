// Bounds the memory of answers that their clients have not taken yet.
//
// A client that asks and reads nothing costs as much as the answer is long, until its time is up.
// Beyond the bound the oldest answers are given up. A client that reads has taken its own by then.
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

  explicit UntakenAnswers(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  UntakenAnswers(const UntakenAnswers&) = delete;
  UntakenAnswers& operator=(const UntakenAnswers&) = delete;

  /// Counts an answer of `bytes` until its lease ends. Gives up older answers where it finds no
  /// room beside them: calls their `give_up`, once. The newest answer is kept, however long it is.
  [[nodiscard]] std::unique_ptr<Lease> Add(std::size_t bytes, std::function<void()> give_up);

 private:
  using Id = std::uint64_t;  // Ascends.

  struct Answer {
    std::size_t bytes;
    std::function<void()> give_up;
  };

  void Remove(Id id);

  const std::size_t most_bytes_;
  Id next_ = 0;
  std::size_t bytes_ = 0;
  std::map<Id, Answer> answers_;
};

/// Counts an answer while it lives. For the thread of its UntakenAnswers.
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
