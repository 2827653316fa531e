// The full view of one camera stream.
import {describeAnswer, describeScore} from "/answer.js";
import {showStanding} from "/badges.js";
import {Chart} from "/chart.js";
import {Controls} from "/controls.js";
import {drawPipeline} from "/pipeline.js";
import {fetchPictures, removeWithPictures, swapPicture} from "/pictures.js";
import {droppedOf, showReasons} from "/reasons.js";
import {motionOf, referenceName} from "/standing.js";
import {duration, element, fromTemplate, number, rate, setText, shortRate} from "/text.js";

const kHistorySeconds = 600;
// Shown on request: they cost the server time.
const kMorePictures = ["reference", "uncertainty"];

function describeSource(source) {
  const parts = [source.uri];
  if (source.width > 0) parts.push(`${source.width}×${source.height}`);
  if (source.frames_per_second > 0) parts.push(`${shortRate(source.frames_per_second)} a second`);
  if (source.reconnects > 0) {
    parts.push(`${source.reconnects} reconnect${source.reconnects === 1 ? "" : "s"}`);
  }
  return parts.join(" · ");
}

// The result of planning for a frame rate; empty if the configuration names a schedule.
function describeRatePlan({rate_plan: plan, update_every: every}) {
  if (!plan) return "";
  const parts = [`planned for ${shortRate(plan.frames_per_second)} a second`];
  if (every === 0) parts.push("only predicting");
  if (every > 1) parts.push(`learning from one frame in ${every}`);
  if (!plan.holds) parts.push(`${number(100 * plan.expected_dropped_share)} % dropped`);
  const times = plan.times_switched + plan.times_kept;
  if (times > 0) parts.push(`planned again ${times}×, as ${plan.replan_cause}`);
  return ` · ${parts.join(", ")}`;
}

/** The expected rate; or, if the stream has missed it for ten seconds, that it does not hold. */
function describeRate({promise, learner}) {
  const planned = rate(learner.samples_per_second);
  return promise.rate_kept ? `can do ${planned}` : `measured; expected ${planned}, which does not hold`;
}

/** As describeRate(), for the delay. */
function describeDelay({promise, learner, delay_p99_ms: p99}) {
  const planned = duration(learner.delay_ms);
  return `99 % within ${duration(p99)}, ${
    promise.delay_kept ? `expected ${planned}` : `the expected ${planned} do not hold`}`;
}

/** A cell that carries its column's name, for the folded form of the table. */
function cell(column, text, className) {
  const made = element("td", text, className);
  made.dataset.column = column;
  return made;
}

function stageRow(stage, index, max) {
  const row = element("tr");
  row.append(cell("stage", String(index + 1)));
  const layers = cell("layers", stage.layers.join(", "));
  layers.append(element("span", stage.device, "device"));
  row.append(layers);
  const costs = [["forward", stage.forward_ms], ["backward", stage.backward_ms],
                 ["update", stage.update_ms]];
  const cost = cell("cost, ms", costs.map(([, ms]) => ms.toFixed(ms < 10 ? 1 : 0)).join(" + "), "cost");
  const bar = element("div", undefined, "bar");
  for (const [name, ms] of costs) {
    const part = element("span", undefined, name);
    part.style.width = `${max > 0 ? ms / max * 100 : 0}%`;
    bar.append(part);
  }
  cost.append(bar);
  row.append(cost);
  row.append(cell("updates late", String(stage.staleness), "number"));
  row.append(cell("updates", number(stage.updates), "number"));
  return row;
}

export class StreamCard {
  #root;
  #parts;
  #controls;
  #chart;
  #points = [];
  #now = null;  // The newest point of the chart: the number beside it.
  #shownFrame = null;
  #loading = false;
  #task = null;  // Set if the stream learns from labels.
  #asked = new Set();  // Of kMorePictures.
  #resized = new ResizeObserver(() => this.redraw());

  constructor(name) {
    this.name = name;
    ({root: this.#root, parts: this.#parts} = fromTemplate("card"));
    this.#controls = new Controls(name, this.#parts);
    this.#chart = new Chart(this.#parts.chart, this.#parts["chart-values"]);
    this.#set("name", name);
    for (const part of kMorePictures) {
      this.#parts[`show-${part}`].addEventListener("click", () => this.#toggle(part));
    }
    this.#resized.observe(this.#parts.chart);
  }

  get root() { return this.#root; }

  /** Shows the stream as the server describes it, and the buttons where `control` allows them. */
  update(stream, control) {
    this.#task = stream.learner.labels;
    for (const part of ["flow-view", "chart-panel"]) this.#parts[part].hidden = this.#task !== null;
    this.#parts["answer-view"].hidden = this.#task === null;
    this.#parts["more-pictures"].hidden = this.#task !== null;
    this.#setName(stream);
    this.#offer("reference", this.#task === null && stream.compare_with !== null);
    this.#offer("uncertainty", this.#task === null);
    this.#showSource(stream);
    this.#showFigures(stream);
    this.#controls.update(stream, control);
    this.#showDetails(stream);
    showReasons(this.#parts, stream.frames, stream.learner);
    this.#take(stream);
    this.redraw();
  }

  /** Fetches the pictures of the newest prediction, unless the card already shows them. */
  async showPictures({newest}, viewer) {
    if (newest === null || newest.frame === this.#shownFrame || this.#loading) return;
    this.#loading = true;
    try {
      const parts = ["picture", ...(this.#task ? [] : ["flow"]),
                     ...(newest.next_frame ? ["next"] : []),
                     ...kMorePictures.filter(part => this.#asked.has(part))];
      const shown = await fetchPictures(this.name, parts, newest.frame, viewer);
      if (shown === null) return;
      // The model's answer for another frame is unknown; the next poll asks for a newer one.
      if (this.#task && shown.frame !== newest.frame) return;
      parts.forEach((part, i) => swapPicture(this.#parts[part], shown.pictures[i]));
      this.#parts["next-view"].hidden = !newest.next_frame;
      // The delay of another frame is unknown.
      this.#set("picture-note", `frame ${number(shown.frame)}${
        shown.frame === newest.frame ? `, predicted ${duration(newest.delay_ms)} after it came` : ""}`);
      if (this.#task) {
        this.#showAnswer(newest);
      } else {
        this.#set("scale", `rim: ${shortRate(shown.scale)} px`);
        this.#parts.legend.hidden = false;
      }
      // A button may have been pressed meanwhile.
      const complete = kMorePictures.every(part => parts.includes(part) === this.#asked.has(part));
      if (complete) this.#shownFrame = newest.frame;
    } finally {
      this.#loading = false;
    }
  }

  #toggle(part) {
    const shown = !this.#asked.delete(part);
    if (shown) this.#asked.add(part);
    this.#parts[`show-${part}`].setAttribute("aria-pressed", String(shown));
    this.#parts[`${part}-view`].hidden = !shown;
    this.#shownFrame = null;
  }

  #offer(part, possible) {
    if (!possible && this.#asked.has(part)) this.#toggle(part);
    this.#parts[`show-${part}`].hidden = !possible;
  }

  #setName({compare_with: method}) {
    if (method === null) return;
    this.#set("reference-name", referenceName(method));
    this.#set("show-reference", `Motion by ${referenceName(method)}`);
  }

  redraw() { this.#chart.draw(this.#points, this.#now); }

  dispose() {
    this.#resized.disconnect();
    this.#chart.dispose();
    removeWithPictures(this.#root);
  }

  #set(part, text) { setText(this.#parts[part], text); }

  #showAnswer(newest) {
    const {title, lines, note} = describeAnswer(newest, this.#task);
    this.#set("answer", title);
    this.#set("answer-note", note);
    this.#parts.outputs.replaceChildren(...lines.map(line => element("li", line)));
  }

  #showScore(score) {
    const {value, note} = describeScore(score, this.#task.classes);
    this.#set("score-name", this.#task.classes ? "Labelled frames predicted right" : "Squared error");
    this.#set("score", value);
    this.#parts.score.className = "";
    this.#set("score-note", note);
  }

  #showMotion(stream) {
    const {name, value, note, tone} = motionOf(stream);
    this.#set("score-name", name);
    this.#set("score", value);
    this.#parts.score.className = tone;
    this.#set("score-note", note);
    this.#parts["score-note"].title = stream.recent.explained === null ? "" : `a loss of ${
      stream.loss.toPrecision(3)}; seeing no motion has ${stream.loss_no_motion.toPrecision(3)}`;
  }

  #showSource(stream) {
    showStanding(this.#root, this.#parts, stream);
    this.#set("source", describeSource(stream.source));
  }

  #showFigures(stream) {
    const {learner, frames} = stream;
    if (this.#task) this.#showScore(stream.labels); else this.#showMotion(stream);
    this.#set("rate-in", rate(stream.rate_in));
    this.#set("rate-out", rate(stream.rate_out));
    this.#set("rate-note", describeRate(stream));
    this.#set("delay", duration(stream.delay_p50_ms));
    this.#set("delay-note", describeDelay(stream));
    const dropped = droppedOf(frames);
    this.#set("dropped", number(dropped));
    this.#set("dropped-note", frames.received > 0
      ? `${(dropped / frames.received * 100).toFixed(1)} % of ${number(frames.received)} frames`
      : "no frame yet");
  }

  #showDetails({learner, source}) {
    drawPipeline(this.#parts.pipeline, learner);
    const stages = learner.stages;
    this.#set("plan", `${learner.schedule}, ${stages.length} stage${
      stages.length === 1 ? "" : "s"}, learning at ${learner.width}×${learner.height}${
      describeRatePlan(learner)}`);
    const start = learner.weights ? learner.weights.split("/").pop() : "random weights";
    this.#set("start", `learning rate ${learner.learning_rate}, started from ${start} · ${
      rate(learner.sequential_samples_per_second)} frames a second without the pipeline · epoch ${source.epoch}`);
    const sum = stage => stage.forward_ms + stage.backward_ms + stage.update_ms;
    const max = Math.max(...stages.map(sum));
    this.#parts.stages.replaceChildren(
      ...stages.map((stage, index) => stageRow(stage, index, max)));
  }

  #take({history, recent}) {
    for (const [second, loss, noMotion, recentLoss, recentNoMotion] of history) {
      if (noMotion > 0) {
        this.#points.push({second, each: 1 - loss / noMotion, recent: 1 - recentLoss / recentNoMotion});
      }
    }
    const last = this.#points.length ? this.#points[this.#points.length - 1].second : 0;
    this.#points = this.#points.filter(({second}) => second > last - kHistorySeconds);
    this.#now = recent.explained;
  }
}
