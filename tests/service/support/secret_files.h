// Files that only their owner reads, and certificates, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace millrace::service {

inline std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// A private folder of one test, removed with this object.
class SecretFiles {
 public:
  SecretFiles() {
    std::string folder = testing::TempDir() + "/secret.XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  ~SecretFiles() { std::filesystem::remove_all(folder_); }

  SecretFiles(const SecretFiles&) = delete;
  SecretFiles& operator=(const SecretFiles&) = delete;

  [[nodiscard]] std::string Path(std::string_view name) const {
    return absl::StrCat(folder_, "/", std::string(name));
  }

  /// Puts a file of mode 600 in the place of `name` at once.
  std::string Write(std::string_view name, std::string_view text) const {
    const std::string path = Path(name);
    std::ofstream(path + ".new", std::ios::binary) << text;
    namespace fs = std::filesystem;
    fs::permissions(path + ".new", fs::perms::owner_read | fs::perms::owner_write);
    fs::rename(path + ".new", path);
    return path;
  }

  /// Makes `name`.pem, its own authority, and `name`.key.
  void MakeAuthority(const std::string& name) const {
    Run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=" + name +
        " -keyout " + Path(name + ".key") + " -out " + Path(name + ".pem"));
  }

  /// Makes `name`.pem, for 127.0.0.1 and signed by `authority`, and `name`.key. It expires in this
  /// number of days; a negative number: it has expired.
  void MakeCertificate(const std::string& name, const std::string& authority, int days = 2) const {
    Run("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + name + " -keyout " +
        Path(name + ".key") + " -out " + Path(name + ".csr"));
    Write(name + ".ext", "subjectAltName=IP:127.0.0.1\n");
    Run(absl::StrCat("x509 -req -days ", days, " -in ", Path(name + ".csr"), " -CA ",
                     Path(authority + ".pem"), " -CAkey ", Path(authority + ".key"),
                     " -CAcreateserial -extfile ", Path(name + ".ext"), " -out ",
                     Path(name + ".pem")));
  }

 private:
  void Run(const std::string& arguments) const {
    const std::string log = Path("openssl.log");
    ASSERT_EQ(std::system(("umask 077; openssl " + arguments + " 2>" + log).c_str()), 0)
        << ReadAll(log);
  }

  std::string folder_;
};

}  // namespace millrace::service
