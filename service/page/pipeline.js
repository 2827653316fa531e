// The plan as a picture: frames go from the camera through the stages, each on its device, and each
// as full as it is busy.
import {number} from "/text.js";

const kSpace = "http://www.w3.org/2000/svg";
const kGap = 26;
const kHeight = 74;

function shape(tag, attributes, text) {
  const made = document.createElementNS(kSpace, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** The share of the time that `stage` works, when it makes `rate` predictions a second. */
export function loadOf(stage, every, rate) {
  const learning = every > 0 ? (stage.backward_ms + stage.update_ms) / every : 0;
  return Math.min(1, (stage.forward_ms + learning) * rate / 1000);
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
    shape("rect", {x: x + 8, y: kHeight - 16, width: width - 16, height: 7, rx: 3, class: "idle"}),
    shape("rect", {x: x + 8, y: kHeight - 16, width: Math.max(0, (width - 16) * load), height: 7,
                   rx: 3, class: load > 0.95 ? "busy full" : "busy"}),
    shape("text", {x: x + 8, y: 20, class: "strong"}, `${index + 1} · ${stage.device}`),
    shape("text", {x: x + 8, y: 36}, `${layers} layer${layers === 1 ? "" : "s"}`),
    shape("text", {x: x + 8, y: 52}, `${number(load * 100)} % busy`));
  return group;
}

/** Draws `learner` into `svg` as it works at `rate` predictions a second. */
export function drawPipeline(svg, learner, rate) {
  const stages = learner.stages;
  const width = Math.max(118, Math.min(190, 460 / Math.max(stages.length, 1) - kGap));
  const whole = kGap + stages.length * (width + kGap);
  const loads = stages.map(stage => loadOf(stage, learner.update_every, rate));
  const shapes = [...arrow(0, kHeight / 2)];
  stages.forEach((stage, index) => {
    const x = kGap + index * (width + kGap);
    shapes.push(box(stage, index, loads[index], x, width), ...arrow(x + width, kHeight / 2));
  });
  svg.setAttribute("viewBox", `0 0 ${whole} ${kHeight}`);
  svg.style.width = `${whole}px`;
  svg.setAttribute("aria-label", `Pipeline of ${stages.length} stages: ` + loads.map(
    (load, index) => `stage ${index + 1} on ${stages[index].device} is busy ${
      number(load * 100)} % of the time`).join(", "));
  svg.replaceChildren(...shapes);
}
