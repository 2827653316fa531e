// The token that was given to this page; it goes when the tab is closed.

// What the server takes for one: tokens.cc. A browser cannot even send some other characters.
const kOddCharacter = /[^A-Za-z0-9\-._~+/=]/;
const kShortest = 16;
const kLongest = 4096;  // Of all headers the web server takes four times as much.

/** What is wrong with `text` as a token; nothing of one that may be right. */
export function faultOf(text) {
  if (kOddCharacter.test(text)) {
    return "A token is letters, digits and - . _ ~ + / = alone: this one has something else in it.";
  }
  if (text.length < kShortest) return `A token has ${kShortest} characters or more.`;
  return text.length > kLongest ? `A token has ${kLongest} characters at most.` : "";
}

export const token = {
  get known() { return Boolean(sessionStorage.token) && faultOf(sessionStorage.token) === ""; },
  get headers() { return this.known ? {"Authorization": `Bearer ${sessionStorage.token}`} : {}; },
  set(text) { sessionStorage.token = text; },
};
