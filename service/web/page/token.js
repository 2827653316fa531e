// The token that the user gave to this page; it is lost when the tab closes.

// Characters that the server refuses in a token: tokens.cc. A browser cannot send some of them.
const kOddCharacter = /[^A-Za-z0-9\-._~+/=]/;
const kMinLength = 16;
const kMaxLength = 4096;  // The web server accepts four times as many bytes for all headers together.

/** Why `text` cannot be a token; nothing if it may be one. */
export function faultOf(text) {
  if (kOddCharacter.test(text)) {
    return "A token is letters, digits and - . _ ~ + / = alone: this one has something else in it.";
  }
  if (text.length < kMinLength) return `A token has ${kMinLength} characters or more.`;
  return text.length > kMaxLength ? `A token has ${kMaxLength} characters at most.` : "";
}

export const token = {
  get known() { return Boolean(sessionStorage.token) && faultOf(sessionStorage.token) === ""; },
  get headers() { return this.known ? {"Authorization": `Bearer ${sessionStorage.token}`} : {}; },
  set(text) { sessionStorage.token = text; },
};
