// The parts of a prediction that a request selects.
#pragma once

#include "service/wire/wire.h"

namespace millrace::service {

/// For SubscribeRequest, GetLatestRequest and other requests with `parts`.
template <typename Request>
Carried CarriedOf(const Request& request) {
  if (!request.has_parts()) return {};
  return {.flow = request.parts().flow(),
          .next_picture = request.parts().next_picture(),
          .outputs = request.parts().outputs(),
          .preview = request.parts().preview()};
}

}  // namespace millrace::service
