#include "service/subscriptions/subscription.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "service/wire/wire_field.h"

namespace millrace::service {

Subscription::Step Subscription::Advance(grpc::ByteBuffer& message, absl::Status& end) {
  if (notes_ != nullptr) {
    if (const auto changed = notes_->Changed()) return Write(*changed, message);
  }
  if (const auto next = reader_.Read()) return Write(*next, message);
  if (const auto& ended = reader_.end()) {
    end = *ended;
    return Step::kEnd;
  }
  if (notes_ != nullptr) {
    if (const auto status = notes_->AfterSilence()) return Write(*status, message);
  }
  return Step::kNothing;
}

Subscription::Step Subscription::Write(const PredictionReader::Next& next,
                                       grpc::ByteBuffer& message) {
  v1::SubscribeResponse own;
  own.set_dropped(next.dropped);
  own.set_dropped_total(next.dropped_total);
  own.set_run_id(reader_.hub().served().run_id);
  own.set_sequence(next.sequence);
  const grpc::Slice shared = reader_.Bytes(next);
  const std::array slices = {
      FieldHead(v1::SubscribeResponse::kPredictionFieldNumber, shared.size()), shared,
      grpc::Slice(own.SerializeAsString())};
  message = grpc::ByteBuffer(slices.data(), slices.size());
  is_status_ = false;
  if (notes_ != nullptr) notes_->Sent();
  return Step::kMessage;
}

Subscription::Step Subscription::Write(const v1::StreamStatus& status, grpc::ByteBuffer& message) {
  v1::SubscribeResponse own;
  own.set_dropped_total(reader_.dropped_total());
  own.set_run_id(reader_.hub().served().run_id);
  own.set_sequence(reader_.place());
  *own.mutable_status() = status;
  const grpc::Slice bytes(own.SerializeAsString());
  message = grpc::ByteBuffer(&bytes, 1);
  is_status_ = true;
  notes_->Sent();
  return Step::kMessage;
}

}  // namespace millrace::service
