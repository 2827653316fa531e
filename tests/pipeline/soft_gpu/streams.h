// The streams of a software GPU. The work of a stream runs only when a thread waits for it, in a
// random order among the orders that streams and events allow. So rare orders of a real GPU happen
// here soon.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

namespace millrace::soft_gpu {

using Task = std::function<void()>;

/// A place in a stream: it represents all earlier work of the stream.
struct Mark {
  std::int64_t stream = 0;
  std::int64_t position = 0;
};

/// The work of a stream while it was recorded, to be replayed.
struct Recording {
  std::vector<Task> tasks;
};

/// All streams of all devices, by numbers that callers choose. Thread-safe.
class Streams {
 public:
  static Streams& Get();

  void Put(std::int64_t stream, Task task);
  [[nodiscard]] Mark Here(std::int64_t stream);
  /// What is put into `stream` from now on comes after `mark`. Throws while `stream` is recorded,
  /// as a wait for what is not in the recording.
  void Wait(std::int64_t stream, Mark mark);
  /// Does `task` as soon as all marks have been passed, in no stream.
  void After(std::vector<Mark> marks, Task task);

  [[nodiscard]] bool Passed(Mark mark);
  /// Works until `mark` is passed. Throws what a task threw.
  void Finish(Mark mark);
  /// The same with all work of `stream`. Throws in any thread while the stream is recorded.
  void FinishStream(std::int64_t stream);
  /// The same with all streams of these numbers, or all. Throws while any of them is recorded.
  void FinishAll(std::int64_t first, std::int64_t last);
  void FinishAll();

  /// How much has been put into streams so far: tasks, waits, and recordings as a whole.
  [[nodiscard]] std::int64_t puts();

  /// From now on all that waits fails, as after an access to memory that is not there. Undone by
  /// `false`, unlike on a real one.
  void Fail(bool failed);
  /// The same after `waits` more waits of the calling thread.
  void FailAfter(std::int64_t waits);
  /// The calling thread's waits so far.
  [[nodiscard]] std::int64_t waits();

  void BeginRecording(std::int64_t stream);
  [[nodiscard]] std::shared_ptr<const Recording> EndRecording(std::int64_t stream);
  [[nodiscard]] bool recording(std::int64_t stream);
  void Replay(std::int64_t stream, const std::shared_ptr<const Recording>& recording);

  /// Held while tasks are done. Recursive: tasks may free memory.
  [[nodiscard]] std::recursive_mutex& mutex() { return mu_; }

 private:
  struct Entry {
    Task task = {};   // Nothing: a wait.
    Mark until = {};  // Of a wait.
  };
  struct Queue {
    std::deque<Entry> waiting;
    std::int64_t put = 0;
    std::int64_t done = 0;
    std::unique_ptr<Recording> recording;
  };
  struct Pending {
    std::vector<Mark> marks;
    Task task;
  };
  // Of a thread.
  struct Waits {
    std::int64_t waits = 0;
    std::int64_t fails_after = std::numeric_limits<std::int64_t>::max();
  };

  static Waits& OfThread();
  Queue& At(std::int64_t stream) { return queues_[stream]; }
  bool Ready(const Entry& entry);
  void DoOne();
  void DoPending();
  void CheckAlive();

  std::recursive_mutex mu_;
  std::mt19937_64 random_{1};
  std::map<std::int64_t, Queue> queues_;
  std::list<Pending> pending_;
  bool failed_ = false;
};

}  // namespace millrace::soft_gpu
