// One camera stream on the page.
import {describeAnswer, describeScore} from "/answer.js";
import {drawChart} from "/chart.js";
import {Controls} from "/controls.js";
import {drawPipeline} from "/pipeline.js";
import {fetchPictures, removeWithPictures, swapPicture} from "/pictures.js";
import {droppedOf, showReasons} from "/reasons.js";
import {isOver, isOverloaded, lossRatioOf, remarkOf, stateOf, toneOfLoss} from "/standing.js";
import {duration, element, fromTemplate, number, rate, setText, shortRate} from "/text.js";

const kHistorySeconds = 600;

function describeSource(source) {
  const parts = [source.uri];
  if (source.width > 0) parts.push(`${source.width}×${source.height}`);
  if (source.frames_per_second > 0) parts.push(`${shortRate(source.frames_per_second)} a second`);
  if (source.epoch > 0) parts.push(`epoch ${source.epoch}`);
  if (source.reconnects > 0) {
    parts.push(`${source.reconnects} reconnect${source.reconnects === 1 ? "" : "s"}`);
  }
  return parts.join(" · ");
}

// What planning for a frame rate came to; nothing where the schedule was named.
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

/** What the plan can do; once it has not done that for ten seconds, that the figure beside it holds. */
function describeRate({promise, learner}) {
  const planned = rate(learner.samples_per_second);
  if (!promise.rate_kept) return `measured; the plan said ${planned}, which does not hold`;
  return `can do ${planned}, without the pipeline ${rate(learner.sequential_samples_per_second)}`;
}

/** As describeRate(). */
function describeDelay({promise, learner, delay_p99_ms: p99}) {
  const planned = duration(learner.delay_ms);
  return `p99 ${duration(p99)}, ${
    promise.delay_kept ? `expected ${planned}` : `the ${planned} of the plan do not hold`}`;
}

/** What a loss of `ratio` times that of no motion is worth. */
function describeRatio(ratio) {
  if (ratio === null) return "no prediction yet";
  const percent = Math.round(100 * Math.abs(1 - ratio));
  if (percent === 0) return 'as good as "nothing moves"';
  return `${percent} % ${ratio < 1 ? "better" : "worse"} than "nothing moves"`;
}

function stageRow(stage, index, most) {
  const row = element("tr");
  row.append(element("td", String(index + 1)));
  const layers = element("td", stage.layers.join(", "));
  layers.append(element("span", stage.device, "device"));
  row.append(layers);
  const costs = [["forward", stage.forward_ms], ["backward", stage.backward_ms],
                 ["update", stage.update_ms]];
  const cost = element("td", costs.map(([, ms]) => ms.toFixed(ms < 10 ? 1 : 0)).join(" + "), "cost");
  const bar = element("div", undefined, "bar");
  for (const [name, ms] of costs) {
    const part = element("span", undefined, name);
    part.style.width = `${most > 0 ? ms / most * 100 : 0}%`;
    bar.append(part);
  }
  cost.append(bar);
  row.append(cost);
  row.append(element("td", String(stage.staleness), "number"));
  row.append(element("td", number(stage.updates), "number"));
  return row;
}

export class StreamCard {
  #root;
  #parts;
  #controls;
  #points = [];
  #shownFrame = null;
  #loading = false;
  #task = null;  // Of a stream that learns from labels.
  #resized = new ResizeObserver(() => this.redraw());

  constructor(name) {
    this.name = name;
    ({root: this.#root, parts: this.#parts} = fromTemplate("card"));
    this.#controls = new Controls(name, this.#parts);
    this.#set("name", name);
    this.#resized.observe(this.#parts.chart);
  }

  get root() { return this.#root; }

  /** Shows the stream as the server describes it, and the buttons where `control` allows them. */
  update(stream, control) {
    this.#task = stream.learner.labels;
    for (const part of ["flow-view", "chart-panel"]) this.#parts[part].hidden = this.#task !== null;
    this.#parts["answer-view"].hidden = this.#task === null;
    this.#showSource(stream);
    this.#showFigures(stream);
    this.#controls.update(stream, control);
    this.#showPipeline(stream.learner);
    showReasons(this.#parts, stream.frames, stream.learner);
    if (this.#take(stream.history)) this.redraw();
  }

  /** Fetches the pictures of the newest prediction, unless they are shown already. */
  async showPictures({newest}, viewer) {
    if (newest === null || newest.frame === this.#shownFrame || this.#loading) return;
    this.#loading = true;
    try {
      const parts = ["picture", ...(this.#task ? [] : ["flow"]),
                     ...(newest.next_frame ? ["next"] : [])];
      const shown = await fetchPictures(this.name, parts, newest.frame, viewer);
      if (shown === null) return;
      // What the model says of another frame is not known; the next poll asks for a newer one.
      if (this.#task && shown.frame !== newest.frame) return;
      parts.forEach((part, i) => swapPicture(this.#parts[part], shown.pictures[i]));
      this.#parts["next-view"].hidden = !newest.next_frame;
      // The delay of another frame is not known.
      this.#set("picture-note", `frame ${number(shown.frame)}${
        shown.frame === newest.frame ? `, predicted ${duration(newest.delay_ms)} after it came` : ""}`);
      if (this.#task) {
        this.#showAnswer(newest);
      } else {
        this.#set("scale", `rim: ${shortRate(shown.scale)} px`);
        this.#parts.legend.hidden = false;
      }
      this.#shownFrame = newest.frame;
    } finally {
      this.#loading = false;
    }
  }

  redraw() { drawChart(this.#parts.chart, this.#points); }

  dispose() {
    this.#resized.disconnect();
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
    this.#set("ratio-name", this.#task.classes ? "Labelled frames predicted right" : "Squared error");
    this.#set("ratio", value);
    this.#set("ratio-note", note);
  }

  #showLoss(stream) {
    const ratio = lossRatioOf(stream);
    this.#set("ratio", ratio?.toFixed(2) ?? "–");
    this.#parts.ratio.className = toneOfLoss(stream);
    this.#set("ratio-note", describeRatio(ratio));
    this.#parts["ratio-note"].title = ratio === null ? "" : `a loss of ${
      stream.loss.toPrecision(3)} beside ${stream.loss_no_motion.toPrecision(3)}, last 200`;
  }

  #showSource(stream) {
    const {text, tone, cause} = stateOf(stream);
    this.#set("state", text);
    this.#parts.state.className = `pill ${tone}`;
    const remark = remarkOf(stream);
    this.#set("remark", remark.text);
    this.#parts.remark.className = `pill ${remark.tone}`;
    this.#parts.remark.hidden = remark.text === "";
    this.#root.classList.toggle("over", isOver(stream));
    this.#root.classList.toggle("overloaded", isOverloaded(stream));
    this.#set("source", describeSource(stream.source));
    this.#set("cause", cause);
    this.#parts.cause.hidden = cause === "";
  }

  #showFigures(stream) {
    const {learner, frames} = stream;
    if (this.#task) this.#showScore(stream.labels); else this.#showLoss(stream);
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

  #showPipeline(learner) {
    drawPipeline(this.#parts.pipeline, learner);
    const stages = learner.stages;
    this.#set("plan", `${learner.schedule}, ${stages.length} stage${
      stages.length === 1 ? "" : "s"}, learning at ${learner.width}×${learner.height}${
      describeRatePlan(learner)}`);
    this.#set("start", `learning rate ${learner.learning_rate}, ${
      learner.weights ? `started from ${learner.weights.split("/").pop()}` : "started from random weights"}`);
    const sum = stage => stage.forward_ms + stage.backward_ms + stage.update_ms;
    const most = Math.max(...stages.map(sum));
    this.#parts.stages.replaceChildren(
      ...stages.map((stage, index) => stageRow(stage, index, most)));
  }

  #take(history) {
    for (const [second, loss, noMotion] of history) {
      if (noMotion > 0) this.#points.push([second, loss / noMotion]);
    }
    const last = this.#points.length ? this.#points[this.#points.length - 1][0] : 0;
    this.#points = this.#points.filter(([second]) => second > last - kHistorySeconds);
    return history.length > 0;
  }
}
