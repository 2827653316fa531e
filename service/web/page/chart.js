// The explained share of the motion over time, drawn by dygraphs: a faint line for each second, a
// strong line for the recent predictions, and a dashed line for a model that sees no motion.
import {shareText} from "/standing.js";
import {setText} from "/text.js";

const kMinSpan = 60;
// Without this, a new model's first seconds would squeeze the rest of the chart.
const kSettledSeconds = 15;
const kLowest = -1;
// The lines have a gap where no prediction came for longer.
const kGapSeconds = 5;

// Its inline style would break the page's Content-Security-Policy.
Dygraph.PLUGINS = Dygraph.PLUGINS.filter(plugin => plugin !== Dygraph.Plugins.Legend);
// Without these a finger scrolls the page, also on the chart.
const {touchstart, touchmove, touchend, ...kMouse} = Dygraph.defaultInteractionModel;

const kOptions = {
  labels: ["second", "each", "recent", "none"],
  interactionModel: {...kMouse, dblclick: (event, graph) => showAll(graph)},
  axisLabelFontSize: 12,
  xRangePad: 8,  // Pixels, for the last label.
  axes: {
    x: {axisLabelFormatter: second => agoText(second), axisLabelWidth: 64, pixelsPerLabel: 70},
    y: {axisLabelFormatter: share => `${Math.round(100 * share)} %`, axisLabelWidth: 44},
  },
};

const showAll = graph => graph.updateOptions({dateWindow: null});
const agoText = second => second === 0 ? "now" : `${-second} s ago`;

/** A row for each second: [seconds until now (negative), share in that second, recent share, 0]. */
function rowsOf(points, now) {
  const end = points.length ? points.at(-1).second + 1 : 0;
  const rows = [];
  for (const {second, each, recent} of points) {
    const before = rows.length ? rows.at(-1)[0] : second - end;
    if (second - end - before > kGapSeconds) rows.push([before + 1, null, null, 0]);
    rows.push([second - end, each, recent, 0]);
  }
  rows.push([0, null, now, 0]);
  if (rows[0][0] > -kMinSpan) rows.unshift([-kMinSpan, null, null, 0]);
  return rows;
}

/** [lowest, highest] share that the chart shows. */
function rangeOf(points, now) {
  const settled = points.filter(({second}) => second >= points[0].second + kSettledSeconds);
  const shares = (settled.length ? settled : points).map(({recent}) => recent).concat(now ?? []);
  const low = Math.max(kLowest, Math.min(-0.1, Math.floor(Math.min(...shares, 0) * 10) / 10));
  // Room below, where the label of the lowest share would touch those of the time.
  return [low - 0.04, Math.max(0.4, Math.ceil(Math.max(...shares, 0) * 10 + 0.5) / 10)];
}

export class Chart {
  #place;
  #values;
  #graph = null;
  #selected = null;  // The second whose values are shown.

  /** Draws into `place`, and writes the values under the pointer into `values`. */
  constructor(place, values) {
    this.#place = place;
    this.#values = values;
    place.addEventListener("keydown", event => this.#press(event));
    this.#show(null);
  }

  /**
   * `points` = {second, each, recent}: the explained shares of the motion in that second, and of the
   * recent predictions at its end. `now`: the current share of the latter.
   */
  draw(points, now) {
    this.#place.setAttribute("aria-label", now === null
      ? "Motion explained over time: no prediction yet"
      : `Motion explained over time, now ${shareText(now)}`);
    if (this.#place.clientWidth === 0) return;
    const file = rowsOf(points, now);
    const options = {file, valueRange: rangeOf(points, now), ...this.#colors()};
    this.#graph ??= new Dygraph(this.#place, file, {
      ...kOptions, ...options,
      highlightCallback: (event, second, shown, row) => this.#show(second, row),
      unhighlightCallback: () => this.#show(null),
    });
    this.#values.ariaLive = "off";  // A screen reader announces values on a key, not each second.
    this.#graph.resize();
    this.#graph.updateOptions(options);
    if (this.#selected !== null) this.#select(file.findIndex(([second]) => second >= this.#selected));
  }

  dispose() { this.#graph?.destroy(); }

  #colors() {
    const style = getComputedStyle(this.#place);
    const color = name => style.getPropertyValue(name).trim();
    return {
      gridLineColor: color("--line"), axisLineColor: color("--line"),
      series: {
        each: {color: color("--accent-soft"), strokeWidth: 1.5},
        recent: {color: color("--accent"), strokeWidth: 2.5, fillGraph: true},
        none: {color: color("--warn"), strokeWidth: 1.5, strokePattern: [5, 4], highlightCircleSize: 0},
      },
    };
  }

  #show(second, row) {
    this.#selected = second;
    const text = column => shareText(this.#graph.getValue(row, column));
    setText(this.#values, second === null ? "dashed: seeing no motion"
      : `${agoText(second)}: ${text(2)}, in that second ${text(1)}`);
  }

  #select(row) {
    const last = this.#graph.numRows() - 1;
    this.#graph.setSelection(Math.min(Math.max(row, 0), last), undefined, undefined, true);
  }

  #press(event) {
    const row = this.#graph.getSelection();
    const [from, to] = this.#graph.xAxisRange();
    const middle = this.#selected ?? to;
    const actions = {
      "ArrowLeft": () => this.#select((row < 0 ? this.#graph.numRows() : row) - 1),
      "ArrowRight": () => this.#select(row + 1),
      "+": () => this.#graph.updateOptions({dateWindow: [(middle + from) / 2, (middle + to) / 2]}),
      "Escape": () => showAll(this.#graph),
    };
    if (!(event.key in actions)) return;
    this.#values.ariaLive = "polite";
    actions[event.key]();
    event.preventDefault();
  }
}
