// Polls the server for its streams a few times a second and shows them. Reports when the server is
// gone, and recovers by itself.
import {StreamCard} from "/card.js";
import {StreamTile} from "/overview.js";
import {standingOf, sumUp} from "/standing.js";
import {setText} from "/text.js";
import {token} from "/token.js";

const kPollMs = 250;
const kRetryMs = 1000;
const kPatienceMs = 3000;

// Kept over a reload, so that the reloaded page counts as the same viewer.
const viewer = sessionStorage.viewer ??= crypto.getRandomValues(new Uint32Array(2)).join("-");
const list = document.getElementById("streams");
const sum = document.getElementById("sum");
const back = document.getElementById("back");
const standing = document.getElementById("standing");
const missing = document.getElementById("missing");
const notice = document.getElementById("notice");
const link = document.getElementById("link");

class ServerGone extends Error {}

let cards = new Map();  // By run id: a tile for each stream, or the card of the shown one.
let shown = null;  // The name of the stream that is shown alone.
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

/** Removes the cards of streams that were deleted or recreated. */
function dropCards(streams) {
  const runs = new Set(streams.map(stream => stream.run));
  for (const [run, card] of cards) {
    if (runs.has(run)) continue;
    card.dispose();
    cards.delete(run);
  }
}

function cardOf(stream) {
  if (!cards.has(stream.run)) {
    const card = shown === null ? new StreamTile(stream.name) : new StreamCard(stream.name);
    cards.set(stream.run, card);
    list.append(card.root);
  }
  return cards.get(stream.run);
}

/** "street" for "#/street"; empty if the address names no stream. */
function nameInAddress() {
  const name = location.hash.replace(/^#\/?/, "");
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** The stream that the address names, existing or not; a single stream needs no overview. */
function wanted(streams) {
  return nameInAddress() || (streams.length === 1 ? streams[0].name : null);
}

/** Reports that there is no stream `name`; removes the report if `name` is null. */
function sayMissing(name) {
  missing.hidden = name === null;
  setText(missing.firstElementChild,
          name === null ? "" : `This server has no stream “${name}”: it was deleted, or never there.`);
}

function clear() {
  for (const card of cards.values()) card.dispose();
  cards = new Map();
  lastSecond = -1;
}

/** Switches to the overview or to one stream. Returns whether it cleared the old view. */
function turn(streams) {
  const name = wanted(streams);
  const known = name === null || streams.some(stream => stream.name === name);
  sayMissing(known ? null : name);
  back.hidden = name === null || !known || streams.length < 2;
  sum.hidden = name !== null;
  document.title = name === null ? "Millrace" : `${known ? name : "No such stream"} · Millrace`;
  list.className = name === null ? "overview" : "";
  if (name === shown) return false;
  const begun = instance !== null && cards.size > 0;
  shown = name;
  clear();
  // Keyboard and screen-reader users continue at the top of the new view.
  if (begun && known) (name === null ? sum : back).focus();
  return true;
}

function showStreams(streams, control) {
  setText(sum, sumUp(streams));
  const visible = streams.filter(stream => shown === null || stream.name === shown);
  setText(standing, standingOf(visible));
  dropCards(visible);
  for (const stream of visible) {
    const card = cardOf(stream);
    card.update(stream, control);
    card.showPictures(stream, viewer).catch(() => {});  // The next poll reports the error.
    for (const [second] of stream.history) lastSecond = Math.max(lastSecond, second);
  }
}

/** Discards the data of another run of the server. */
function startOver(server) {
  instance = server.instance;
  clear();
  document.getElementById("about").textContent = `version ${server.version}`;
}

/** The address to poll, with the history that the chart lacks if there is a chart. */
function address() {
  const history = shown === null ? "" : `&history=${encodeURIComponent(shown)}&after=${lastSecond}`;
  return `/api/streams?viewer=${viewer}${history}`;
}

/** Polls once. Returns the milliseconds until the next poll. */
async function poll() {
  const gone = error => { throw new ServerGone(error); };
  const answer = await fetch(
    address(), {headers: token.headers, signal: AbortSignal.timeout(kPatienceMs)}).catch(gone);
  if (answer.status === 503) {
    const seconds = Number(answer.headers.get("Retry-After")) || 5;
    say("all seats taken", "wait", "As many people watch as the server allows, so that watching " +
        `does not slow down the learning. This page tries again every ${seconds} seconds. ` +
        "Whoever runs the server can allow more: listen.max_viewers in its configuration.");
    return seconds * 1000;
  }
  if (!answer.ok) gone(`it answered ${answer.status}`);
  const {server, streams} = await answer.json().catch(gone);  // The transfer may break off.
  if (server.instance !== instance) {
    const first = instance === null;
    startOver(server);
    if (!first) return 0;  // The request asked for history from the old run's end.
  }
  goneSince = null;
  say(server.stopping ? "stopping" : "live", server.stopping ? "wait" : "good");
  if (turn(streams) && shown !== null) return 0;  // Fetch its history from the beginning.
  showStreams(streams, server.control);
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
    // A hidden page does not poll, so that it does not count as a viewer.
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
