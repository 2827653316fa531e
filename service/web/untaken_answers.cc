#include "service/web/untaken_answers.h"

#include <utility>

namespace millrace::service {

std::unique_ptr<UntakenAnswers::Lease> UntakenAnswers::Add(std::size_t bytes,
                                                           std::function<void()> give_up) {
  while (!answers_.empty() && bytes_ + bytes > max_bytes_) {
    const auto oldest = answers_.begin();
    const std::function<void()> give_up_oldest = std::move(oldest->second.give_up);
    Remove(oldest->first);
    give_up_oldest();
  }
  const Id id = next_++;
  answers_[id] = {.bytes = bytes, .give_up = std::move(give_up)};
  bytes_ += bytes;
  return std::make_unique<Lease>(*this, id);
}

void UntakenAnswers::Remove(Id id) {
  const auto found = answers_.find(id);
  if (found == answers_.end()) return;
  bytes_ -= found->second.bytes;
  answers_.erase(found);
}

}  // namespace millrace::service
