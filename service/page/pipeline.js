// The plan as a picture: frames go from the camera through the stages, each on its device, and each
// as full as it was measured to be busy.
import {number} from "/text.js";

const kSpace = "http://www.w3.org/2000/svg";
const kGap = 26;
const kHeight = 74;
const kNarrowest = 92;
const kWidest = 190;
const kUsualRoom = 460;

function shape(tag, attributes, text) {
  const made = document.createElementNS(kSpace, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** {predicting, learning}: the shares of the time that `stage` works; nothing where that is not known. */
export function loadOf({load}, state) {
  if (load === null) return null;
  const predicting = Math.min(1, load.predicting);
  // The measure looks back ten seconds: who has just frozen it wants to see that it learns no more.
  const learning = state === "learning" ? Math.min(1 - predicting, load.learning) : 0;
  return {predicting, learning};
}

function textOf(load) {
  return load === null ? "not measured" : `${number((load.predicting + load.learning) * 100)} % busy`;
}

function bar(load, x, width) {
  const part = (share, from, className) => shape("rect", {
    x: x + width * from, y: kHeight - 16, width: width * share, height: 7, class: className});
  const idle = part(1, 0, "idle");
  if (load === null) return [idle];
  return [idle, part(load.predicting, 0, "forward"), part(load.learning, load.predicting, "backward")];
}

function arrow(x, y) {
  return [shape("line", {x1: x + 3, y1: y, x2: x + kGap - 7, y2: y, class: "wire"}),
          shape("path", {d: `M${x + kGap - 9} ${y - 4}l6 4l-6 4z`, class: "tip"})];
}

function box(stage, index, load, x, width) {
  const layers = stage.layers.length;
  const group = shape("g", {});
  group.append(
    shape("title", {}, `stage ${index + 1}: ${stage.layers.join(", ")}`),
    shape("rect", {x, y: 1, width, height: kHeight - 2, rx: 8, class: "stage"}),
    ...bar(load, x + 8, width - 16),
    shape("text", {x: x + 8, y: 20, class: "strong"}, `${index + 1} · ${stage.device}`),
    shape("text", {x: x + 8, y: 36}, `${layers} layer${layers === 1 ? "" : "s"}`),
    shape("text", {x: x + 8, y: 52}, textOf(load)));
  return group;
}

function describe(stages, loads) {
  return loads.map((load, index) => `stage ${index + 1} on ${stages[index].device} ${
    load === null ? "has a load that is not measured"
      : `is busy ${number((load.predicting + load.learning) * 100)} % of the time`}`).join(", ");
}

/** Draws `learner` into `svg` as it works. */
export function drawPipeline(svg, learner) {
  const stages = learner.stages;
  const room = (svg.parentElement.clientWidth || kUsualRoom) - kGap;
  const fits = Math.min(room, kUsualRoom) / Math.max(stages.length, 1) - kGap;
  const width = Math.max(kNarrowest, Math.min(kWidest, fits));
  const whole = kGap + stages.length * (width + kGap);
  const loads = stages.map(stage => loadOf(stage, learner.state));
  const shapes = [...arrow(0, kHeight / 2)];
  stages.forEach((stage, index) => {
    const x = kGap + index * (width + kGap);
    shapes.push(box(stage, index, loads[index], x, width), ...arrow(x + width, kHeight / 2));
  });
  svg.setAttribute("viewBox", `0 0 ${whole} ${kHeight}`);
  svg.style.width = `${whole}px`;
  svg.setAttribute("aria-label", `Pipeline of ${stages.length} stages: ${describe(stages, loads)}`);
  svg.replaceChildren(...shapes);
}
