// A registry of streams that the test owns.
#pragma once

#include <initializer_list>
#include <memory>

#include "base/check.h"
#include "service/registry/stream_registry.h"

namespace millrace::service {

/// A pointer that keeps nothing alive.
template <typename T>
std::shared_ptr<T> Borrow(T& owned) {
  return {std::shared_ptr<T>(), &owned};
}

inline SharedStream Borrowed(CameraStream& stream, StreamRecord& record) {
  return std::make_shared<ServedStream>(Borrow(record), Borrow(stream));
}

/// Streams and records must outlive it.
class BorrowedStreams : public StreamRegistry {
 public:
  struct Entry {
    CameraStream& stream;
    StreamRecord& record;
  };
  BorrowedStreams(std::initializer_list<Entry> entries) {
    for (const Entry& entry : entries) {
      MILLRACE_CHECK(Add(Borrowed(entry.stream, entry.record)).ok());
    }
  }
};

}  // namespace millrace::service
