// How streams stand, in words: what is to be understood in five seconds.

const kSourceTones = {
  "streaming": "good", "connecting": "wait", "waiting": "wait", "stalled": "wait",
  "backing off": "wait", "failed": "bad",
};

const kSourceTexts = {"backing off": "camera away, tries again"};

/** {text, tone, cause} of what camera and learner of a stream are doing. */
export function stateOf(stream) {
  const {source, learner} = stream;
  const remedy = isOverloaded(stream) ? stream.overload.remedy : "";
  const cause = [learner.cause, source.cause, remedy].filter(Boolean).join(" · ");
  if (!learner.ok) return {text: "learner failed", tone: "bad", cause};
  return {text: kSourceTexts[source.state] ?? source.state,
          tone: kSourceTones[source.state] ?? "", cause};
}

// Each stream stands in one of these ways; "learning" is the one that needs no word.
const kWays = {
  failed: {one: "the learner has failed", sum: count => `${count} failed`},
  away: {one: "the camera is away", sum: count => `${count} without camera`},
  waiting: {one: "no client pushes frames", sum: count => `${count} without client`},
  ended: {one: "the source has ended", sum: count => `${count} ended`},
  paused: {one: "paused", sum: count => `${count} paused`},
  frozen: {one: "frozen", sum: count => `${count} frozen`},
  predicting: {one: "only predicting", sum: count => `${count} only predicting`},
  learning: {one: "learning"},
};

function wayOf({source, learner}) {
  if (!learner.ok) return "failed";
  if (["ended", "waiting"].includes(source.state)) return source.state;
  if (source.state !== "streaming") return "away";
  if (learner.state !== "learning") return learner.state;
  return learner.update_every === 0 ? "predicting" : "learning";
}

/** Whether frames come, and are given up or learned from not at all, for want of time. */
export function isOverloaded(stream) {
  return ["learning", "frozen", "predicting"].includes(wayOf(stream))
      && ["drops", "only_predicts"].includes(stream.overload.kind);
}

/** Whether nothing comes any more, for now or for good: the last picture is of the past. */
export function isOver(stream) {
  return ["away", "waiting", "ended", "failed"].includes(wayOf(stream));
}

/** Of the last 200 predictions; nothing where that is not what the model is judged by. */
export function lossRatioOf({learner, loss, loss_no_motion: ofNoMotion}) {
  return learner.labels === null && ofNoMotion > 0 ? loss / ofNoMotion : null;
}

/** Of predictions as they come, whether they are worth more than saying that nothing moves; else nothing. */
export function toneOfLoss(stream) {
  const predicts = ["learning", "frozen", "predicting"].includes(wayOf(stream));
  const ratio = lossRatioOf(stream);
  return !predicts || ratio === null ? "" : ratio < 1 ? "good" : "bad";
}

/** What of the model has to be said beside the camera's state: {text, tone}, or no text. */
export function remarkOf(stream) {
  const way = wayOf(stream);
  if (isOverloaded(stream)) return {text: stream.overload.cause, tone: "wait"};
  if (["paused", "frozen", "predicting"].includes(way)) return {text: kWays[way].one, tone: "wait"};
  if (toneOfLoss(stream) === "bad") return {text: "worse than no motion", tone: "bad"};
  return {text: stream.overload.cause, tone: ""};
}

function countsOf(streams) {
  const counts = new Map(Object.keys(kWays).map(way => [way, 0]));
  for (const stream of streams) counts.set(wayOf(stream), counts.get(wayOf(stream)) + 1);
  return counts;
}

/** "2 of 3 streams learn · 1 without camera". */
export function sumUp(streams) {
  if (streams.length === 0) return "No streams yet: clients add some over gRPC";
  const counts = countsOf(streams);
  const worse = streams.filter(stream => toneOfLoss(stream) === "bad").length;
  const learning = counts.get("learning");
  counts.delete("learning");
  const overloaded = streams.filter(isOverloaded).length;
  if (learning === streams.length && worse === 0 && overloaded === 0) {
    return learning === 2 ? "Both streams learn" : `All ${learning} streams learn`;
  }
  const parts = [`${learning} of ${streams.length} streams ${learning === 1 ? "learns" : "learn"}`];
  for (const [way, count] of counts) if (count > 0) parts.push(kWays[way].sum(count));
  if (overloaded > 0) parts.push(`${overloaded} overloaded`);
  if (worse > 0) parts.push(`${worse} worse than no motion`);
  // Lines break between the parts only.
  return parts.map(part => part.replaceAll(" ", "\u00a0")).join("\u00a0· ");
}

/**
 * What a screen reader says when it changes: which streams do not learn, and why not. Without what
 * goes up and down by itself.
 */
export function standingOf(streams) {
  const others = streams.filter(stream => wayOf(stream) !== "learning" || isOverloaded(stream));
  if (streams.length === 1 && others.length === 0) return `${streams[0].name}: learning`;
  if (streams.length > 0 && others.length === 0) return "All streams learn";
  return others.map(stream => `${stream.name}: ${
    isOverloaded(stream) ? "overloaded" : kWays[wayOf(stream)].one}`).join("; ");
}
