#include "service/wire/wire_field.h"

#include <cstdint>
#include <string>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace millrace::service {

grpc::Slice FieldHead(int number, std::size_t bytes) {
  constexpr std::uint32_t kLengthDelimited = 2;
  std::string head;
  {
    google::protobuf::io::StringOutputStream text(&head);
    google::protobuf::io::CodedOutputStream out(&text);
    out.WriteTag(static_cast<std::uint32_t>(number) << 3U | kLengthDelimited);
    out.WriteVarint64(bytes);
  }
  return grpc::Slice(head);
}

}  // namespace millrace::service
