// The loss over time, as a share of the loss of no motion: a faint line for each second, a strong
// one for the mean around it, and the line that a model must stay under.

const kMeanSeconds = 15;
const kLeastSpan = 60;

/** Points [second, ratio] -> the mean of the last kMeanSeconds at each of them. */
export function smooth(points) {
  const result = [];
  let first = 0;
  let sum = 0;
  points.forEach(([second, ratio], i) => {
    sum += ratio;
    while (points[first][0] <= second - kMeanSeconds) sum -= points[first++][1];
    result.push([second, sum / (i - first + 1)]);
  });
  return result;
}

function ticks(low, high, most) {
  const step = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
    .find(candidate => (high - low) / candidate <= most) ?? (high - low);
  const result = [];
  for (let i = Math.ceil(low / step); i * step <= high + 1e-9; ++i) result.push(i * step);
  return result;
}

function spanText(seconds) {
  return seconds < 120 ? `${Math.round(seconds)} s ago` : `${Math.round(seconds / 60)} min ago`;
}

/** Draws `points` = [second, ratio] into `canvas`, sharp on any screen. */
export function drawChart(canvas, points) {
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

  const mean = smooth(points);
  const ratios = points.map(point => point[1]);
  const low = Math.min(0.6, Math.floor(Math.min(...ratios, 1) * 10) / 10);
  // By the mean once it is one: the first seconds of a model that begins would squeeze all others.
  const settled = mean.filter(([second]) => second >= points[0][0] + kMeanSeconds);
  const highest = Math.max(...(settled.length ? settled : mean).map(point => point[1]), 1);
  const high = Math.max(1.1, Math.min(2, Math.ceil(highest * 10) / 10));
  const last = points.length ? points[points.length - 1][0] : 0;
  const span = Math.max(kLeastSpan, points.length ? last - points[0][0] : 0);
  const left = 34;
  const right = width - 4;
  const top = 6;
  const bottom = height - 20;
  const x = second => right - (last - second) / span * (right - left);
  const y = ratio => bottom - (Math.min(ratio, high) - low) / (high - low) * (bottom - top);

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
    pen.fillText(tick.toFixed(high - low > 4 ? 0 : 1), left - 6, y(tick));
  }
  pen.textBaseline = "alphabetic";
  pen.fillText("now", right, height - 4);
  pen.textAlign = "left";
  pen.fillText(spanText(span), left, height - 4);

  const line = (path, stroke, thickness) => {
    pen.beginPath();
    path.forEach(([second, ratio], i) =>
      i ? pen.lineTo(x(second), y(ratio)) : pen.moveTo(x(second), y(ratio)));
    pen.strokeStyle = stroke;
    pen.lineWidth = thickness;
    pen.lineJoin = "round";
    pen.stroke();
  };
  if (mean.length > 1) {
    pen.beginPath();
    mean.forEach(([second, ratio], i) =>
      i ? pen.lineTo(x(second), y(ratio)) : pen.moveTo(x(second), y(ratio)));
    pen.lineTo(x(last), y(1));
    pen.lineTo(x(mean[0][0]), y(1));
    pen.fillStyle = color("--accent-soft");
    pen.fill();
    line(points, color("--accent-soft"), 1.5);
    line(mean, color("--accent"), 2.5);
  }
  pen.setLineDash([5, 4]);
  line([[last - span, 1], [last, 1]], color("--warn"), 1.5);
  pen.setLineDash([]);
  pen.fillStyle = color("--warn");
  // Where the loss is not: it begins on the right, above this line, and has left it when it has come to the left.
  const begins = points.length === 0 || x(points[0][0]) > (left + right) / 2;
  pen.textAlign = begins ? "left" : "right";
  pen.strokeStyle = color("--card");
  pen.lineWidth = 4;
  const place = begins ? left + 2 : right - 2;
  pen.strokeText("no motion", place, y(1) - 6);
  pen.fillText("no motion", place, y(1) - 6);

  canvas.setAttribute("aria-label", mean.length
    ? `Loss over time, now ${mean[mean.length - 1][1].toFixed(2)} of that of no motion`
    : "Loss over time: no prediction yet");
}
