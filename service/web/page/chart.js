// The explained share of the motion over time: a faint line for each second, a strong line for the
// recent predictions, and the line of a model that sees no motion.
import {shareText} from "/standing.js";

const kMinSpan = 60;
// Without this, a new model's first seconds would squeeze the rest of the chart.
const kSettledSeconds = 15;
const kLowest = -1;

function ticks(low, high, most) {
  const step = [0.05, 0.1, 0.2, 0.5, 1].find(candidate => (high - low) / candidate <= most) ?? (high - low);
  const result = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9; ++i) result.push(i * step);
  return result;
}

function spanText(seconds) {
  return seconds < 120 ? `${Math.round(seconds)} s ago` : `${Math.round(seconds / 60)} min ago`;
}

/** The strong line: [second, share], with the current share, `now`, at its end. */
function strongLine(points, now) {
  const line = points.map(({second, recent}) => [second, recent]);
  if (now !== null) line.push([line.length ? line[line.length - 1][0] + 1 : 0, now]);
  return line;
}

/** [lowest, highest] share that the chart shows. */
function range(line) {
  const settled = line.filter(([second]) => second >= line[0][0] + kSettledSeconds);
  const shares = (settled.length ? settled : line).map(point => point[1]);
  const low = Math.max(kLowest, Math.min(-0.1, Math.floor(Math.min(...shares, 0) * 10) / 10));
  return [low, Math.max(0.4, Math.ceil(Math.max(...shares, 0) * 10 + 0.5) / 10)];
}

/**
 * Draws into `canvas`, sharp on any screen. `points` = {second, each, recent}: the explained shares of the
 * motion in that second, and of the recent predictions at its end. `now`: the current share of the latter.
 */
export function drawChart(canvas, points, now) {
  const style = getComputedStyle(canvas);
  const color = name => style.getPropertyValue(name).trim();
  const {width, height} = canvas.getBoundingClientRect();
  const density = window.devicePixelRatio || 1;
  if (width === 0) return;
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  const pen = canvas.getContext("2d");
  pen.scale(density, density);
  pen.font = `12px ${style.fontFamily}`;

  const strong = strongLine(points, now);
  const [low, high] = range(strong);
  const last = strong.length ? strong[strong.length - 1][0] : 0;
  const span = Math.max(kMinSpan, strong.length ? last - strong[0][0] : 0);
  const left = 44;
  const right = width - 4;
  const top = 6;
  const bottom = height - 20;
  const x = second => right - (last - second) / span * (right - left);
  const y = share => bottom - (Math.min(Math.max(share, low), high) - low) / (high - low) * (bottom - top);

  pen.fillStyle = color("--muted");
  pen.strokeStyle = color("--line");
  pen.lineWidth = 1;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const tick of ticks(low, high, 6)) {
    pen.beginPath();
    pen.moveTo(left, y(tick));
    pen.lineTo(right, y(tick));
    pen.stroke();
    pen.fillText(`${Math.round(100 * tick)} %`, left - 6, y(tick));
  }
  pen.textBaseline = "alphabetic";
  pen.fillText("now", right, height - 4);
  pen.textAlign = "left";
  pen.fillText(spanText(span), left, height - 4);

  const trace = path => path.forEach(([second, share], i) =>
    i ? pen.lineTo(x(second), y(share)) : pen.moveTo(x(second), y(share)));
  const line = (path, stroke, thickness) => {
    pen.beginPath();
    trace(path);
    pen.strokeStyle = stroke;
    pen.lineWidth = thickness;
    pen.lineJoin = "round";
    pen.stroke();
  };
  if (strong.length > 1) {
    pen.beginPath();
    trace(strong);
    pen.lineTo(x(last), y(0));
    pen.lineTo(x(strong[0][0]), y(0));
    pen.fillStyle = color("--accent-soft");
    pen.fill();
    line(points.map(({second, each}) => [second, each]), color("--accent-soft"), 1.5);
    line(strong, color("--accent"), 2.5);
  }
  pen.setLineDash([5, 4]);
  line([[last - span, 0], [last, 0]], color("--warn"), 1.5);
  pen.setLineDash([]);
  pen.fillStyle = color("--warn");
  pen.strokeStyle = color("--card");
  pen.lineWidth = 4;
  pen.textAlign = "left";
  const place = y(0) + 14 < bottom ? y(0) + 14 : y(0) - 6;
  pen.strokeText("seeing no motion", left + 4, place);
  pen.fillText("seeing no motion", left + 4, place);

  canvas.setAttribute("aria-label", now === null
    ? "Motion explained over time: no prediction yet"
    : `Motion explained over time, now ${shareText(now)}`);
}
