// Generates services whose methods take and return bytes.
#pragma once

namespace millrace::service {

/// `Service`, a generated class `Service`, with each of `Methods` raw. `Methods` are its generated
/// `WithRawCallbackMethod_...`.
template <typename Service, template <typename> class... Methods>
struct WithRawMethods {
  using Type = Service;
};
template <typename Service, template <typename> class Method, template <typename> class... Others>
struct WithRawMethods<Service, Method, Others...> {
  using Type = Method<typename WithRawMethods<Service, Others...>::Type>;
};

template <typename Service, template <typename> class... Methods>
using RawMethods = typename WithRawMethods<Service, Methods...>::Type;

}  // namespace millrace::service
