// Asks the server for its streams a few times a second and shows what it says; says so when the
// server is gone, and comes back by itself.
import {StreamCard} from "/card.js";

const kPollMs = 250;
const kRetryMs = 1000;
const kPatienceMs = 4000;

// Kept over a reload, which then takes no second seat.
const viewer = sessionStorage.viewer ??= crypto.getRandomValues(new Uint32Array(2)).join("-");
const main = document.getElementById("streams");
const notice = document.getElementById("notice");
const link = document.getElementById("link");

class ServerGone extends Error {}

let cards = new Map();
let instance = null;
let lastSecond = -1;
let goneSince = null;

function say(text, tone, message = "") {
  if (link.textContent !== text) link.textContent = text;
  link.className = `pill ${tone}`;
  if (notice.textContent !== message) notice.textContent = message;
  notice.hidden = message === "";
  document.body.classList.toggle("gone", tone === "bad");
}

/** Takes away the cards of streams that were deleted or made anew. */
function dropCards(streams) {
  const runs = new Set(streams.map(stream => stream.run));
  for (const [run, card] of cards) {
    if (runs.has(run)) continue;
    card.root.remove();
    cards.delete(run);
  }
}

function cardOf(stream) {
  if (!cards.has(stream.run)) {
    const card = new StreamCard(stream.name);
    cards.set(stream.run, card);
    main.append(card.root);
  }
  return cards.get(stream.run);
}

function showStreams(streams) {
  dropCards(streams);
  for (const stream of streams) {
    const card = cardOf(stream);
    card.update(stream);
    card.showPictures(stream.newest, viewer).catch(() => {});  // The next poll says what is wrong.
    for (const [second] of stream.history) lastSecond = Math.max(lastSecond, second);
  }
}

/** Forgets what another run of the server said. */
function startOver(server) {
  instance = server.instance;
  lastSecond = -1;
  cards = new Map();
  main.replaceChildren();
  document.getElementById("about").textContent = server.version;
}

/** One poll. Returns how many milliseconds later the next one is due. */
async function poll() {
  const answer = await fetch(`/api/streams?viewer=${viewer}&after=${lastSecond}`,
                             {signal: AbortSignal.timeout(kPatienceMs)})
    .catch(error => { throw new ServerGone(error); });
  if (answer.status === 503) {
    const seconds = Number(answer.headers.get("Retry-After")) || 5;
    say("all seats taken", "wait", "As many people watch as the server allows. " +
        `This page tries again every ${seconds} seconds.`);
    return seconds * 1000;
  }
  if (!answer.ok) throw new ServerGone(`it answered ${answer.status}`);
  const {server, streams} = await answer.json();
  if (server.instance !== instance) {
    const first = instance === null;
    startOver(server);
    if (!first) return 0;  // History was asked for from where the old run ended.
  }
  goneSince = null;
  say(server.stopping ? "stopping" : "live", server.stopping ? "wait" : "good");
  showStreams(streams);
  return kPollMs;
}

function sayWhatFailed(error) {
  if (!(error instanceof ServerGone)) {
    console.error(error);
    say("page failed", "bad", `This page failed to show what the server said: ${error}. ` +
        "It tries again every second; loading it anew may help.");
    return;
  }
  goneSince ??= new Date();
  say("server gone", "bad", `The server has not answered since ${
    goneSince.toLocaleTimeString()}. What you see is from before; this page tries again ` +
    "every second and comes back by itself.");
}

async function run() {
  for (;;) {
    const begun = performance.now();
    let wait;
    try {
      wait = await poll() - (performance.now() - begun);
    } catch (error) {
      sayWhatFailed(error);
      wait = kRetryMs;
    }
    await new Promise(resolve => setTimeout(resolve, Math.max(wait, 20)));
    // Nobody looks at a hidden page: it gives its seat to others.
    while (document.hidden) {
      await new Promise(resolve =>
        document.addEventListener("visibilitychange", resolve, {once: true}));
    }
  }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const card of cards.values()) card.redraw();
});
run();
