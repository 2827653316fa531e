// The buttons of a stream: what its learner does, its rate, a checkpoint. Shown to those who may
// press them; the server decides again at each press.
import {setText} from "/text.js";

const kPatienceMs = 4000;

/** The token that was given to this page; it goes when the tab is closed. */
export const token = {
  get headers() {
    return sessionStorage.token ? {"Authorization": `Bearer ${sessionStorage.token}`} : {};
  },
  set(text) { sessionStorage.token = text; },
};

const kModes = {
  pause: {mode: "paused", done: "Paused: it neither predicts nor learns."},
  freeze: {mode: "frozen", done: "Frozen: it predicts and learns nothing."},
  resume: {mode: "learning", done: "Learning."},
};

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
      token.set(parts["token-value"].value.trim());
      parts["token-value"].value = "";
    });
  }

  /** `control`: whether this page may, as the server said. */
  update({learner, checkpoint}, control) {
    const parts = this.#parts;
    this.#showCheckpoint(checkpoint);
    parts.buttons.hidden = !control.may;
    parts["token-form"].hidden = !control.needs_token;
    parts["no-control"].hidden = control.may;
    setText(parts["no-control"], control.needs_token
      ? (sessionStorage.token ? "This token is none of the server's." : "Control needs a token.")
      : `View only: ${control.why}.`);
    for (const [action, {mode}] of Object.entries(kModes)) {
      parts[action].setAttribute("aria-pressed", String(learner.state === mode));
      parts[action].disabled = !learner.ok;
    }
    parts.checkpoint.disabled = !learner.keeps_checkpoints;
    parts.checkpoint.title = learner.keeps_checkpoints
      ? "" : "This stream keeps no checkpoints: its configuration names no folder.";
    parts["rate-value"].placeholder = String(learner.learning_rate);
  }

  /** What came of the checkpoint that was asked for, once: other outcomes may stand there since. */
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
      const said = await answer.json();
      this.#say(answer.ok ? outcome(said) : said.error, !answer.ok);
      if (action === "checkpoint" && answer.ok) this.#checkpoint = null;
    } catch {
      this.#say("The server did not answer; nothing is known of what came of it.", true);
    }
  }
}
