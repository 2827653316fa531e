// The plan as a picture: frames go from the camera through the stages, each on its device and
// filled by its measured load. Stages without room side by side are drawn below each other.
import {number} from "/text.js";

const kSpace = "http://www.w3.org/2000/svg";
const kGap = 26;
const kHeight = 74;
const kNarrowest = 92;
const kWidest = 190;
const kWidestRow = 700;
const kUsualRoom = 320;

function shape(tag, attributes, text) {
  const made = document.createElementNS(kSpace, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** {predicting, learning}: the shares of the time that `stage` works; null if unknown. */
export function loadOf({load}, state) {
  if (load === null) return null;
  const predicting = Math.min(1, load.predicting);
  // The load is measured over ten seconds, but after a freeze the user should see at once that
  // learning has stopped.
  const learning = state === "learning" ? Math.min(1 - predicting, load.learning) : 0;
  return {predicting, learning};
}

function textOf(load) {
  return load === null ? "not measured" : `${number((load.predicting + load.learning) * 100)} % busy`;
}

function bar(load, x, y, width) {
  const part = (share, from, className) => shape("rect", {
    x: x + width * from, y, width: width * share, height: 7, class: className});
  const idle = part(1, 0, "idle");
  if (load === null) return [idle];
  return [idle, part(load.predicting, 0, "forward"), part(load.learning, load.predicting, "backward")];
}

/** An arrow from (x, y) over the gap to the right. */
function arrowRight(x, y) {
  return [shape("line", {x1: x + 3, y1: y, x2: x + kGap - 7, y2: y, class: "wire"}),
          shape("path", {d: `M${x + kGap - 9} ${y - 4}l6 4l-6 4z`, class: "tip"})];
}

/** An arrow from (x, y) over the gap below. */
function arrowDown(x, y) {
  return [shape("line", {x1: x, y1: y + 3, x2: x, y2: y + kGap - 7, class: "wire"}),
          shape("path", {d: `M${x - 4} ${y + kGap - 9}l4 6l4 -6z`, class: "tip"})];
}

function box(stage, index, load, {x, y, width, height}) {
  const layers = stage.layers.length;
  const lines = [`${layers} layer${layers === 1 ? "" : "s"}`, textOf(load)];
  const group = shape("g", {});
  group.append(
    shape("title", {}, `stage ${index + 1}: ${stage.layers.join(", ")}`),
    shape("rect", {x: x + 1, y: y + 1, width: width - 2, height: height - 2, rx: 8, class: "stage"}),
    ...bar(load, x + 8, y + height - 16, width - 16),
    shape("text", {x: x + 8, y: y + 20, class: "strong"}, `${index + 1} · ${stage.device}`),
    ...(height < kHeight ? [lines.join(" · ")] : lines).map((line, i) =>
      shape("text", {x: x + 8, y: y + 36 + 16 * i}, line)));
  return group;
}

/** The layout of `count` stages in a width of `room`: their boxes, the arrows between, the total size. */
function layOut(count, room) {
  const fits = (Math.min(room, kWidestRow) - kGap) / Math.max(count, 1) - kGap;
  if (fits < kNarrowest) return layOutColumn(count, room);
  const width = Math.min(kWidest, fits);
  const boxes = Array.from({length: count}, (_, i) =>
    ({x: kGap + i * (width + kGap), y: 0, width, height: kHeight}));
  const middle = kHeight / 2;
  return {boxes, width: kGap + count * (width + kGap), height: kHeight,
          arrows: [...arrowRight(0, middle), ...boxes.flatMap(at => arrowRight(at.x + width, middle))]};
}

/** The layout of stages below each other, with two lines of text each. */
function layOutColumn(count, room) {
  const height = kHeight - 16;
  const width = Math.min(room, 2 * kWidest);
  const boxes = Array.from({length: count}, (_, i) =>
    ({x: 0, y: kGap + i * (height + kGap), width, height}));
  return {boxes, width, height: kGap + count * (height + kGap),
          arrows: [...arrowDown(width / 2, 0),
                   ...boxes.flatMap(at => arrowDown(width / 2, at.y + height))]};
}

function describe(stages, loads) {
  return loads.map((load, index) => `stage ${index + 1} on ${stages[index].device} ${
    load === null ? "has a load that is not measured"
      : `is busy ${number((load.predicting + load.learning) * 100)} % of the time`}`).join(", ");
}

/** The width that the picture may have in `panel`. */
function roomIn(panel) {
  if (panel.clientWidth === 0) return kUsualRoom;
  const {paddingLeft, paddingRight} = getComputedStyle(panel);
  return Math.floor(panel.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight));
}

/** Draws the pipeline of `learner`, with its loads, into `svg`. */
export function drawPipeline(svg, learner) {
  const stages = learner.stages;
  const loads = stages.map(stage => loadOf(stage, learner.state));
  const {boxes, arrows, width, height} = layOut(stages.length, roomIn(svg.parentElement));
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.style.width = `${width}px`;
  svg.setAttribute("aria-label", `Pipeline of ${stages.length} stages: ${describe(stages, loads)}`);
  svg.replaceChildren(...arrows, ...stages.map((stage, i) => box(stage, i, loads[i], boxes[i])));
}
