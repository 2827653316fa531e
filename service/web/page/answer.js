// Text for the predictions of a model that learns from labels.

const kMaxOutputs = 5;

const percent = share => `${(100 * share).toFixed(share > 0.0995 ? 0 : 1)} %`;
const nameOf = (index, names) => names[index] ?? String(index);

/** {title, lines, note} for `newest`, a prediction of the task `labels`. */
export function describeAnswer(newest, labels) {
  const note = newest.labelled > 0
    ? `learns from ${newest.labelled} labelled of the last ${labels.window} frames`
    : `no labels in the last ${labels.window} frames`;
  if (!labels.classes) {
    const values = newest.outputs.slice(0, kMaxOutputs).map(value => (value ?? NaN).toPrecision(4));
    if (newest.outputs.length > kMaxOutputs) values.push("…");
    return {title: values.join("  "), lines: [], note};
  }
  const likely = newest.outputs.map((share, index) => [share, index])
    .sort(([a], [b]) => b - a).slice(0, kMaxOutputs);
  return {
    title: nameOf(newest.best_class, labels.names),
    lines: likely.map(([share, index]) => `${nameOf(index, labels.names)}: ${percent(share)}`),
    note,
  };
}

/** {value, note} of the score of labelled frames' predictions. */
export function describeScore(score, classes) {
  const known = score.scored > 0;
  const recent = classes ? score.accuracy_last_200 : score.squared_error_last_200;
  const {added, too_late: late} = score.outcomes;
  return {
    value: !known ? "–" : classes ? percent(recent) : (recent ?? NaN).toPrecision(3),
    note: `${added} labels` + (late > 0 ? `, ${late} too late` : "") + (known ? ", last 200" : ""),
  };
}
