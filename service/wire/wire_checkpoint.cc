#include "service/wire/wire_checkpoint.h"

#include "service/wire/wire_time.h"

namespace millrace::service {

void ToMessage(const std::string& stream, const pipeline::CheckpointInfo& info,
               v1::Checkpoint& message) {
  message.set_stream(stream);
  message.set_name(info.name);
  SetTime(info.written, *message.mutable_create_time());
  message.set_bytes(info.bytes);
  message.set_sample(info.sample);
  message.set_score(info.score);
  message.set_kept(info.kept);
}

}  // namespace millrace::service
