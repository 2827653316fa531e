// Our types as messages of `millrace.v1`.
//
// The only translation between the two; the messages' own comments say what each field means.
#pragma once

#include <string>

#include "millrace/v1/prediction.pb.h"
#include "millrace/v1/stream.pb.h"
#include "service/frames/prediction.h"
#include "service/registry/served_stream.h"

namespace millrace::service {

/// Which of the arrays, the bulk of a message, it carries.
struct Carried {
  bool flow = true;
  bool next_picture = true;
  bool outputs = true;
  bool preview = false;

  /// Another number for each choice.
  [[nodiscard]] int AsBits() const {
    return (flow ? 1 : 0) | (next_picture ? 2 : 0) | (outputs ? 4 : 0) | (preview ? 8 : 0);
  }
};

/// Writes `prediction` into `message`, which must be empty. Copies the flow's bytes, and makes the
/// picture to come if there is one.
void ToMessage(const Prediction& prediction, const Carried& carried, v1::Prediction& message);

/// The bytes of that message: what subscribers share.
[[nodiscard]] std::string PredictionBytes(const Prediction& prediction, const Carried& carried);

/// Writes what the stream is at this moment into `message`, which must be empty.
void ToMessage(const ServedStream& served, v1::Stream& message);

}  // namespace millrace::service
