#include "service/subscription.h"

#include <array>
#include <string>
#include <utility>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace millrace::service {
namespace {

// A SubscribeResponse is the concatenation of its fields: the prediction's bytes, which all
// subscribers share, behind their tag and length, and what is this subscriber's own.
grpc::ByteBuffer Assemble(const grpc::Slice& prediction, const std::string& own) {
  constexpr int kLengthDelimited = 2;
  constexpr auto kTag =
      std::uint32_t{v1::SubscribeResponse::kPredictionFieldNumber} << 3U | kLengthDelimited;
  std::string head;
  {
    google::protobuf::io::StringOutputStream text(&head);
    google::protobuf::io::CodedOutputStream out(&text);
    out.WriteTag(kTag);
    out.WriteVarint64(prediction.size());
  }
  const std::array<grpc::Slice, 3> slices = {grpc::Slice(head), prediction, grpc::Slice(own)};
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
