// What a request asks a prediction to carry.
#pragma once

#include "service/wire/wire.h"

namespace millrace::service {

/// Of SubscribeRequest and GetLatestRequest.
template <typename Request>
Carried CarriedOf(const Request& request) {
  if (!request.has_parts()) return {};
  return {.flow = request.parts().flow(),
          .next_picture = request.parts().next_picture(),
          .outputs = request.parts().outputs(),
          .preview = request.parts().preview()};
}

}  // namespace millrace::service
