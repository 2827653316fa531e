// The live page's files, part of the program: one file to install, and none to lose.
#pragma once

#include <span>
#include <string_view>

namespace millrace::service {

struct LivePageAsset {
  std::string_view name;
  std::string_view content_type;
  std::string_view content;
};

/// The files of service/page/, as they were at build time. Constant.
[[nodiscard]] std::span<const LivePageAsset> LivePageAssets();

}  // namespace millrace::service
