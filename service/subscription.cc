#include "service/subscription.h"

#include <array>
#include <string>
#include <utility>

#include "service/wire_field.h"

namespace millrace::service {
namespace {

// The prediction's bytes, which all subscribers share, and what is this subscriber's own.
grpc::ByteBuffer Assemble(const grpc::Slice& prediction, const std::string& own) {
  const std::array<grpc::Slice, 3> slices = {
      FieldHead(v1::SubscribeResponse::kPredictionFieldNumber, prediction.size()), prediction,
      grpc::Slice(own)};
  return {slices.data(), slices.size()};
}

}  // namespace

Subscription::Step Subscription::Advance(grpc::ByteBuffer& message, absl::Status& end) {
  const std::optional<PredictionReader::Next> next = reader_.Read();
  if (!next) {
    if (!reader_.end()) return Step::kNothing;
    end = *reader_.end();
    return Step::kEnd;
  }
  v1::SubscribeResponse own;
  own.set_dropped(next->dropped);
  own.set_dropped_total(next->dropped_total);
  own.set_run_id(reader_.feed().served().run_id);
  own.set_sequence(next->sequence);
  message = Assemble(
      reader_.feed().cache().Get(next->sequence, *next->prediction, reader_.options().carried),
      own.SerializeAsString());
  return Step::kMessage;
}

}  // namespace millrace::service
