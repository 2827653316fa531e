// Owns a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace millrace {

/// Closes its descriptor in the destructor; -1 means no descriptor. Not thread-safe.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(Descriptor&& from) noexcept : value_(std::exchange(from.value_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;

  [[nodiscard]] int value() const { return value_; }
  /// Gives the descriptor up: the caller closes it.
  [[nodiscard]] int Release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

}  // namespace millrace
