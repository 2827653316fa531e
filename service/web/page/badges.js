// The badges beside a stream's name, the same on its tile and on its own page.
import {isOver, isOverloaded, stateOf, troublesOf} from "/standing.js";
import {element, setText} from "/text.js";

/** Shows the stream's state in `parts` of `root`, and gives its pictures the camera's aspect ratio. */
export function showStanding(root, parts, stream) {
  root.classList.toggle("over", isOver(stream));
  root.classList.toggle("overloaded", isOverloaded(stream));
  const {text, tone, cause} = stateOf(stream);
  setText(parts.state, text);
  parts.state.className = `pill ${tone}`;
  const troubles = troublesOf(stream);
  const said = JSON.stringify(troubles);
  if (parts.troubles.dataset.said !== said) {
    parts.troubles.dataset.said = said;
    parts.troubles.replaceChildren(
      ...troubles.map(trouble => element("span", trouble.text, `pill ${trouble.tone}`)));
  }
  setText(parts.cause, cause);
  parts.cause.hidden = cause === "";
  const {width, height} = stream.learner;
  if (width > 0 && height > 0) root.style.setProperty("--shape", `${width} / ${height}`);
}
