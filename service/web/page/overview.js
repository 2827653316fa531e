// A stream's tile in the overview: shows at a glance whether the stream is well, and links to its
// page.
import {describeAnswer, describeScore} from "/answer.js";
import {showStanding} from "/badges.js";
import {fetchPictures, removeWithPictures, swapPicture} from "/pictures.js";
import {droppedOf} from "/reasons.js";
import {motionOf} from "/standing.js";
import {duration, fromTemplate, number, rate, setText} from "/text.js";

const kPicturePauseMs = 1000;

function scoreOf(stream) {
  const labels = stream.learner.labels;
  if (labels !== null) {
    const {value} = describeScore(stream.labels, labels.classes);
    return {name: labels.classes ? "right" : "squared error", value, tone: ""};
  }
  const {name, value, tone} = motionOf(stream);
  return {name: name[0].toLowerCase() + name.slice(1), value, tone};
}

export class StreamTile {
  #root;
  #parts;
  #shownFrame = null;
  #nextPictures = 0;

  constructor(name) {
    this.name = name;
    ({root: this.#root, parts: this.#parts} = fromTemplate("tile"));
    setText(this.#parts.name, name);
    this.#parts.name.href = `#/${encodeURIComponent(name)}`;
  }

  get root() { return this.#root; }

  update(stream) {
    showStanding(this.#root, this.#parts, stream);
    const score = scoreOf(stream);
    setText(this.#parts["score-name"], score.name);
    setText(this.#parts.score, score.value);
    this.#parts.score.className = score.tone;
    setText(this.#parts.rates, `${rate(stream.rate_in)} in, ${rate(stream.rate_out)} out`);
    setText(this.#parts.delay, duration(stream.delay_p50_ms));
    setText(this.#parts.dropped, number(droppedOf(stream.frames)));
    this.#parts.flow.hidden = stream.learner.labels !== null;
    if (stream.learner.labels !== null && stream.newest !== null) {
      setText(this.#parts.answer, describeAnswer(stream.newest, stream.learner.labels).title);
    }
  }

  /** Updates at most once a second, because many streams are shown together. */
  async showPictures(stream, viewer) {
    const newest = stream.newest;
    const now = performance.now();
    if (newest === null || newest.frame === this.#shownFrame || now < this.#nextPictures) return;
    this.#nextPictures = now + kPicturePauseMs;
    const parts = stream.learner.labels === null ? ["picture", "flow"] : ["picture"];
    const shown = await fetchPictures(this.name, parts, newest.frame, viewer);
    if (shown === null) return;
    parts.forEach((part, i) => swapPicture(this.#parts[part], shown.pictures[i]));
    this.#shownFrame = newest.frame;
  }

  redraw() {}

  dispose() { removeWithPictures(this.#root); }
}
