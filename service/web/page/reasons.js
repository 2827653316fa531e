// Frames that were dropped and predictions that were not learned from, by reason.
import {element, number} from "/text.js";

// `wrong`: a large count needs action.
const kDropped = {
  queue_full: {text: "pushed out by a fresher frame", wrong: true},
  no_predecessor: {text: "first, with none before it"},
  gap: {text: "after a gap in the stream", wrong: true},
  paused: {text: "while the learner was paused"},
  ranks_lost: {text: "while other hosts were missing", wrong: true},
  rejected: {text: "rejected by the learner", wrong: true},
  shutdown: {text: "when the stream ended"},
};
const kSkipped = {
  repeated: {text: "the same picture again"},
  frozen: {text: "the same picture for long"},
  cut: {text: "another scene"},
  non_finite: {text: "predictions that were not finite", wrong: true},
  leaves_picture: {text: "flows that left the picture", wrong: true},
  too_fast: {text: "flows faster than anything moves", wrong: true},
  rate: {text: "no time to learn", wrong: true},
  policy: {text: "nothing new to learn"},
  unlabelled: {text: "no label in time"},
  held: {text: "while the learner was frozen, or had given up"},
};

const bold = count => element("b", number(count));
const sumOf = counts => Object.values(counts).reduce((sum, count) => sum + count, 0);

function pills(counts, reasons) {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  const items = some.map(([reason, count]) => {
    const {text, wrong} = reasons[reason] ?? {text: reason};
    return element("li", `${number(count)} ${text}`, wrong ? "wrong" : "");
  });
  if (some.length > 0) items.push(element("li", "and none for another reason", "rest"));
  return items;
}

export const droppedOf = frames => sumOf(frames.dropped);

/** Shows in `parts` the counts of `frames` and of predictions that `learner` did not learn from. */
export function showReasons(parts, frames, learner) {
  const dropped = droppedOf(frames);
  parts.identity.replaceChildren(
    bold(frames.received), " received = ", bold(frames.predicted), " predicted + ",
    bold(dropped), " dropped + ", bold(frames.in_flight), " in flight");
  parts.reasons.replaceChildren(...pills(frames.dropped, kDropped));
  const skipped = sumOf(learner.skipped);
  const back = learner.roll_backs;
  parts.learned.replaceChildren(
    bold(Math.max(0, frames.predicted - skipped)), " of the predicted taught the model, ",
    bold(skipped), " did not · weights rolled back ", bold(back), back === 1 ? " time" : " times");
  parts.skips.replaceChildren(...pills(learner.skipped, kSkipped));
}
