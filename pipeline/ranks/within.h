// Calls a function of a library that may never return.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/mutex.h"

namespace millrace::pipeline {

/// The result of `call`, made on a thread of its own. Fails with UNAVAILABLE, saying `what`, if it
/// throws or takes longer than `limit`, and with CANCELLED once `stop` is requested. In the last
/// two cases the thread is abandoned: `call` must own all that it uses.
template <typename T>
[[nodiscard]] absl::StatusOr<T> Within(std::chrono::milliseconds limit, const std::stop_token& stop,
                                       const std::string& what, std::function<T()> call) {
  struct Shared {
    Mutex mu;
    CondVar done;
    std::unique_ptr<absl::StatusOr<T>> result ABSL_GUARDED_BY(mu);  // Null: not yet.
  };
  const auto shared = std::make_shared<Shared>();
  std::thread([shared, what, call = std::move(call)] {
    auto result = ExceptionToStatus(
        [&]() -> absl::StatusOr<T> { return call(); },
        [&](std::string_view text) {
          return absl::UnavailableError(absl::StrCat(what, ": ", CauseLine(text)));
        });
    const MutexLock lock(shared->mu);
    shared->result = std::make_unique<absl::StatusOr<T>>(std::move(result));
    shared->done.notify_all();
  }).detach();
  const auto end = std::chrono::steady_clock::now() + limit;
  const MutexLock lock(shared->mu);
  while (true) {
    if (shared->result != nullptr) return std::move(*shared->result);
    if (stop.stop_requested()) return absl::CancelledError("the ranks are no longer wanted");
    if (std::chrono::steady_clock::now() >= end) {
      return absl::UnavailableError(
          absl::StrCat(what, ": no answer within ", limit.count() / 1000, " s"));
    }
    shared->done.wait_for(shared->mu, std::chrono::milliseconds(50));
  }
}

}  // namespace millrace::pipeline
