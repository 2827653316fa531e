// The state of streams in words that a reader understands in five seconds.
//
// Badges, tiles and the top line use these functions and the same numbers, so they never contradict
// each other.

const kSourceTones = {
  "streaming": "good", "connecting": "wait", "waiting": "wait", "stalled": "wait",
  "backing off": "wait", "failed": "bad",
};

const kSourceTexts = {"backing off": "camera away, tries again"};

const kMinReferenceExplained = 0.01;

// A cold start explains nothing before it has seen about this number of frames.
const kColdStartFrames = 1000;

const kReferenceNames = {prior: "the prior", dis: "DIS", dis_fine: "DIS fine", dis_fast: "DIS fast",
                         dis_ultrafast: "DIS ultrafast", farneback: "Farneback"};

/** The name of a method that predictions are compared with, as people write it. */
export const referenceName = method => kReferenceNames[method] ?? method;

// Each stream is in one of these states; "learning" needs no word. `badge`: for states that the
// camera's state does not show.
const kWays = {
  failed: {one: "the learner has failed", sum: count => `${count} failed`},
  away: {one: "the camera is away", sum: count => `${count} without camera`},
  waiting: {one: "no client pushes frames", sum: count => `${count} without client`},
  ended: {one: "the source has ended", sum: count => `${count} ended`},
  paused: {one: "paused", sum: count => `${count} paused`, badge: true},
  frozen: {one: "frozen", sum: count => `${count} frozen`, badge: true},
  "given up": {one: "learning given up", sum: count => `${count} given up`, badge: true},
  "waiting for ranks": {one: "waits for other hosts", sum: count => `${count} without hosts`,
                        badge: true},
  predicting: {one: "only predicting", sum: count => `${count} only predicting`, badge: true},
  learning: {one: "learning"},
};

// Problems of streams that predict, the most serious first. `text` is for many streams, `badge` for
// one.
const kTroubles = [
  {is: stream => isOverloaded(stream), text: "overloaded", tone: "wait",
   badge: ({overload}) => overload.cause},
  {is: stream => verdictOf(stream) === "spurious", text: "sees motion where nothing moves",
   tone: "wait"},
  {is: stream => verdictOf(stream) === "worse", text: "worse than seeing no motion", tone: "bad"},
];

function wayOf({source, learner}) {
  if (!learner.ok) return "failed";
  if (["ended", "waiting"].includes(source.state)) return source.state;
  if (source.state !== "streaming") return "away";
  if (learner.state !== "learning") return learner.state;
  return learner.update_every === 0 ? "predicting" : "learning";
}

const predicts = stream => ["learning", "frozen", "given up", "predicting"].includes(wayOf(stream));

/** Whether frames come, but frames or updates are dropped for lack of time. */
export function isOverloaded(stream) {
  return predicts(stream) && ["drops", "only_predicts"].includes(stream.overload.kind);
}

/** Whether no more predictions come, for now or forever, so that the last picture is old. */
export function isOver(stream) {
  return ["away", "waiting", "waiting for ranks", "ended", "failed"].includes(wayOf(stream));
}

/** "31 %" for an explained share of the motion; "none" if seeing no motion is better; "–" if unknown. */
export function shareText(explained) {
  if (explained === null) return "–";
  const percent = Math.round(100 * explained);
  return percent < 0 ? "none" : `${Math.abs(percent)} %`;
}

/**
 * The verdict of the newest predictions on the model: "unknown", also for models with labels; "past" if
 * no predictions come; "early" before the window is full; "spurious"; "cold" or "worse": worse than seeing no motion;
 * "equal": as good as that; "behind": worse than the reference method; "good".
 */
export function verdictOf(stream) {
  const {explained, predictions, window, reference, sees_spurious_motion: spurious} = stream.recent;
  if (stream.learner.labels !== null || explained === null) return "unknown";
  if (!predicts(stream)) return "past";
  if (predictions < window) return "early";
  if (spurious) return "spurious";
  const percent = Math.round(100 * explained);
  if (percent < 0) return stream.frames.predicted < kColdStartFrames ? "cold" : "worse";
  if (percent === 0) return "equal";
  return reference !== null && reference.gain < 1 ? "behind" : "good";
}

function noteOf(verdict, recent) {
  const {explained, predictions, window} = recent;
  const by = `${Math.round(-100 * explained)} % worse than seeing no motion`;
  switch (verdict) {
    case "unknown": return "no prediction yet";
    case "spurious": return "it sees motion where nothing moves: this is noise";
    case "cold": return `yet: ${by}; a cold start takes ${kColdStartFrames} frames`;
    case "worse": return by;
    case "equal": return "as good as seeing no motion";
    default: return predictions < window
      ? `of the first ${predictions} frames` : `of the last ${window} frames`;
  }
}

const kVerdictTones = {spurious: "wait", cold: "wait", worse: "bad", good: "good"};

/**
 * {name, value, note, tone} for the quality of the model: the share of the motion that it explains. Once a
 * full window of a stream with a reference method explains some: this share over that of the method.
 */
export function motionOf(stream) {
  const verdict = verdictOf(stream);
  const {explained, reference} = stream.recent;
  const figure = {name: "Motion explained", value: shareText(verdict === "unknown" ? null : explained),
                  note: noteOf(verdict, stream.recent), tone: kVerdictTones[verdict] ?? ""};
  if (reference === null || !["good", "behind"].includes(verdict)) return figure;
  // Of a method that explains next to nothing, a gain says nothing.
  if (explained / reference.gain < kMinReferenceExplained) return figure;
  // Rounded down: 1.00 is as good as the method.
  return {...figure, name: `Gain over ${referenceName(reference.name)}`,
          value: `${(Math.floor(100 * reference.gain) / 100).toFixed(2)}×`,
          note: `explains ${figure.value} of the motion, ${figure.note}`};
}

/** The stream's problems, the most serious first: [{text, tone}]. */
export function troublesOf(stream) {
  const way = wayOf(stream);
  const badge = kWays[way].badge && !(way === "predicting" && isOverloaded(stream));
  const troubles = badge ? [{text: kWays[way].one, tone: "wait"}] : [];
  if (!predicts(stream)) return troubles;
  troubles.push(...kTroubles.filter(({is}) => is(stream)).map(
    ({text, badge: badgeOf, tone}) => ({text: badgeOf?.(stream) ?? text, tone})));
  // Less is learned, but as planned.
  if (!isOverloaded(stream) && stream.overload.cause) troubles.push({text: stream.overload.cause, tone: ""});
  return troubles;
}

/** {text, tone, cause} for the state of a stream's camera and learner. Green if all is well. */
export function stateOf(stream) {
  const {source, learner} = stream;
  const remedy = isOverloaded(stream) ? stream.overload.remedy : "";
  const cause = [learner.cause, source.cause, remedy].filter(Boolean).join(" · ");
  if (!learner.ok) return {text: "learner failed", tone: "bad", cause};
  const tone = kSourceTones[source.state] ?? "";
  const isWell = troublesOf(stream).every(trouble => trouble.tone === "");
  return {text: kSourceTexts[source.state] ?? source.state,
          tone: tone === "good" && !isWell ? "" : tone, cause};
}

function countsOf(streams) {
  const counts = new Map(Object.keys(kWays).map(way => [way, 0]));
  for (const stream of streams) counts.set(wayOf(stream), counts.get(wayOf(stream)) + 1);
  return counts;
}

/** ["1 sees motion where nothing moves"]: the problems of streams that predict. */
function troubleCounts(streams) {
  const coming = streams.filter(predicts);
  return kTroubles.map(({is, text}) => ({count: coming.filter(is).length, text}))
    .filter(({count}) => count > 0)
    .map(({count, text}) => `${count} ${count === 1 ? text : text.replace(/^sees/, "see")}`);
}

/** "2 of 3 streams learn · 1 without camera". */
export function sumUp(streams) {
  if (streams.length === 0) return "No streams yet: clients add some over gRPC";
  const counts = countsOf(streams);
  // Streams that only predict for lack of time are counted as overloaded.
  counts.set("predicting", streams.filter(
    stream => wayOf(stream) === "predicting" && !isOverloaded(stream)).length);
  const troubles = troubleCounts(streams);
  const learning = counts.get("learning");
  counts.delete("learning");
  if (learning === streams.length && troubles.length === 0) {
    return learning === 2 ? "Both streams learn" : `All ${learning} streams learn`;
  }
  const parts = [`${learning} of ${streams.length} streams ${learning === 1 ? "learns" : "learn"}`];
  for (const [way, count] of counts) if (count > 0) parts.push(kWays[way].sum(count));
  // Lines break only between the parts.
  return [...parts, ...troubles].map(part => part.replaceAll(" ", "\u00a0")).join("\u00a0· ");
}

/**
 * The text that a screen reader announces when it changes: which streams do not learn, and why. Omits
 * values that change all the time.
 */
export function standingOf(streams) {
  const others = streams.filter(stream => wayOf(stream) !== "learning" || isOverloaded(stream));
  if (streams.length === 1 && others.length === 0) return `${streams[0].name}: learning`;
  if (streams.length > 0 && others.length === 0) return "All streams learn";
  return others.map(stream => `${stream.name}: ${
    isOverloaded(stream) ? "overloaded" : kWays[wayOf(stream)].one}`).join("; ");
}
