// The buttons of a stream: its learner's state, its learning rate, a checkpoint. The page shows
// them to viewers who may press them; the server checks again at each press.
import {setText} from "/text.js";
import {faultOf, token} from "/token.js";

const kPatienceMs = 4000;

const kModes = {
  pause: {mode: "paused", done: "Paused: it neither predicts nor learns."},
  freeze: {mode: "frozen", done: "Frozen: it predicts and learns nothing."},
  resume: {mode: "learning", done: "Learning."},
};

/** Why the buttons are hidden. */
function whyNot({needs_token: needs, why}) {
  if (!needs) return `View only: ${why}.`;
  return token.known ? "This token is none of the server's." : "Control needs a token.";
}

export class Controls {
  #stream;
  #parts;
  #checkpoint = null;

  constructor(stream, parts) {
    this.#stream = stream;
    this.#parts = parts;
    for (const [action, {done}] of Object.entries(kModes)) {
      parts[action].addEventListener("click", () => this.#press(action, () => done));
    }
    parts.checkpoint.addEventListener("click", () => this.#press("checkpoint", () => ""));
    parts["rate-form"].addEventListener("submit", event => {
      event.preventDefault();
      const value = encodeURIComponent(parts["rate-value"].value.trim());
      this.#press(`learning_rate?value=${value}`,
                  ({learning_rate: set}) => `The learning rate is ${set}.`);
    });
    parts["token-form"].addEventListener("submit", event => {
      event.preventDefault();
      this.#useToken();
    });
  }

  /** `control`: the server's answer whether this page may use the controls. */
  update({learner, checkpoint}, control) {
    const parts = this.#parts;
    this.#showCheckpoint(checkpoint);
    parts.buttons.hidden = !control.may;
    parts["token-form"].hidden = control.may || !control.takes_token;
    parts["no-control"].hidden = control.may;
    setText(parts["no-control"], whyNot(control));
    for (const [action, {mode}] of Object.entries(kModes)) {
      parts[action].setAttribute("aria-pressed", String(learner.state === mode));
      parts[action].disabled = !learner.ok;
    }
    parts["set-rate"].disabled = !learner.ok;
    parts.checkpoint.disabled = !learner.ok || !learner.keeps_checkpoints;
    parts.checkpoint.title = learner.keeps_checkpoints
      ? "" : "This stream keeps no checkpoints: its configuration names no folder.";
    parts["rate-value"].placeholder = String(learner.learning_rate);
  }

  #useToken() {
    const field = this.#parts["token-value"];
    const text = field.value.trim();
    const fault = faultOf(text);
    this.#say(fault, fault !== "");
    field.setAttribute("aria-invalid", String(fault !== ""));
    if (fault !== "") return;
    token.set(text);
    field.value = "";
  }

  /** Shows the outcome of the requested checkpoint once: the line may show other outcomes since. */
  #showCheckpoint(checkpoint) {
    const said = JSON.stringify(checkpoint);
    if (said === this.#checkpoint) return;
    this.#checkpoint = said;
    if (checkpoint === null) return;
    this.#say(checkpoint.written ? `Checkpoint ${checkpoint.written} is written.`
      : checkpoint.error ?? "Waiting for weights that prove good: some hundred frames …", checkpoint.error);
  }

  #say(text, bad) {
    setText(this.#parts.outcome, text);
    this.#parts.outcome.className = bad ? "outcome bad" : "outcome";
  }

  async #press(action, outcome) {
    try {
      const answer = await fetch(
        `/api/streams/${encodeURIComponent(this.#stream)}/${action}`,
        {method: "POST", headers: token.headers, signal: AbortSignal.timeout(kPatienceMs)});
      const said = await answer.json().catch(() => ({
        error: `The server failed to answer (${answer.status}); its log says why.`}));
      this.#say(answer.ok ? outcome(said) : said.error, !answer.ok);
      if (action === "checkpoint" && answer.ok) this.#checkpoint = null;
    } catch {
      this.#say("The server did not answer; nothing is known of what came of it.", true);
    }
  }
}
