#include "pipeline/ranks/sealed_text.h"

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

TEST(SealedTextTest, ComesBackUnderTheSameSecretAndContext) {
  EXPECT_EQ(*Unseal("secret", "hello 1", Seal("secret", "hello 1", "text")), "text");
  EXPECT_EQ(*Unseal("secret", "", Seal("secret", "", "")), "");
}

TEST(SealedTextTest, AnyOtherSecretContextOrTextIsRefused) {
  const std::string sealed = Seal("secret", "hello 1", "text");
  EXPECT_FALSE(Unseal("Secret", "hello 1", sealed).ok());
  EXPECT_FALSE(Unseal("secret", "hello 2", sealed).ok());
  // The same bytes in all, split elsewhere.
  EXPECT_FALSE(Unseal("secret", "hello 1t", sealed.substr(0, 64) + "ext").ok());
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] ^= 1;
    EXPECT_FALSE(Unseal("secret", "hello 1", changed).ok()) << i;
    EXPECT_FALSE(Unseal("secret", "hello 1", sealed.substr(0, i)).ok()) << i;
  }
}

TEST(SealedTextTest, NoncesDiffer) {
  EXPECT_NE(MakeNonce(), MakeNonce());
  EXPECT_EQ(MakeNonce().size(), 64u);
}

}  // namespace
}  // namespace millrace::pipeline
