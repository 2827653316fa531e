#include "pipeline/ranks/rank_greeting.h"

#include <unistd.h>

#include <array>
#include <exception>

#include <ATen/Version.h>
#include <torch/headeronly/version.h>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace millrace::pipeline {
namespace {

using Json = nlohmann::json;

constexpr int kProtocol = 2;

}  // namespace

std::string RankGreeting::Name() const { return absl::StrCat("process ", process, " on ", host); }

RankGreeting OwnGreeting(const std::string& nonce, int wish) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return {.protocol = kProtocol,
          .millrace = MILLRACE_VERSION,
          .libtorch = TORCH_VERSION,
          .processor = at::get_cpu_capability(),
          .host = host.data(),
          .process = ::getpid(),
          .nonce = nonce,
          .wish = wish};
}

std::string TextOf(const RankGreeting& greeting) {
  const Json json = {{"protocol", greeting.protocol}, {"millrace", greeting.millrace},
                     {"libtorch", greeting.libtorch}, {"processor", greeting.processor},
                     {"host", greeting.host},         {"process", greeting.process},
                     {"nonce", greeting.nonce},       {"wish", greeting.wish}};
  // A host's name may be any bytes.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<RankGreeting> GreetingOf(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    return RankGreeting{.protocol = json.at("protocol").get<int>(),
                        .millrace = json.at("millrace").get<std::string>(),
                        .libtorch = json.at("libtorch").get<std::string>(),
                        .processor = json.at("processor").get<std::string>(),
                        .host = json.at("host").get<std::string>(),
                        .process = json.at("process").get<std::int64_t>(),
                        .nonce = json.at("nonce").get<std::string>(),
                        .wish = json.at("wish").get<int>()};
  } catch (const std::exception&) {
    return absl::DataLossError("a process sent a greeting that cannot be read");
  }
}

absl::Status CheckSameProgram(const RankGreeting& greeting) {
  const RankGreeting own = OwnGreeting("");
  const auto differ = [](const char* what, const auto& theirs, const auto& ours) {
    return absl::FailedPreconditionError(absl::StrCat("it has ", what, " ", theirs, ", the leader ",
                                                      ours, ": their results would differ"));
  };
  if (greeting.protocol != own.protocol) {
    return differ("protocol", greeting.protocol, own.protocol);
  }
  if (greeting.millrace != own.millrace) {
    return differ("Millrace", greeting.millrace, own.millrace);
  }
  if (greeting.libtorch != own.libtorch) {
    return differ("LibTorch", greeting.libtorch, own.libtorch);
  }
  if (greeting.processor != own.processor) {
    return differ("a processor with", greeting.processor, own.processor);
  }
  return absl::OkStatus();
}

}  // namespace millrace::pipeline
