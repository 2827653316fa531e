"""Prints what a running Millrace predicts.   subscribe.py [ADDRESS [STREAM]]"""

import datetime
import math
import sys

try:
    import millrace
except ModuleNotFoundError:
    sys.exit("The client is missing: samples/README.md has the command that installs it.")


def explained(loss, loss_no_motion):
    """How much of the motion the model explains. "none": "nothing moves" is the better guess."""
    percent = 100 * (1 - loss / loss_no_motion) if loss_no_motion > 0 else math.nan
    if not math.isfinite(percent):
        return ""
    share = f"{round(percent)} %" if round(percent) >= 0 else "none"
    return f"  explains {share} of the motion"


def show(prediction):
    delay_ms = prediction.delay // datetime.timedelta(milliseconds=1)
    share = explained(prediction.loss, prediction.loss_no_motion)
    dx, dy = prediction.flow.mean(axis=(0, 1))  # In pixels of the grid, over all cells.
    lost = f"  lost {prediction.dropped}" if prediction.dropped else ""
    print(f"frame {prediction.frame_number}  delay {delay_ms} ms{share}"
          f"  mean flow {dx:+.3f} {dy:+.3f} px{lost}", flush=True)


def show_status(status):
    """Why no prediction comes, or which work is given up under overload. Without it, the log would say so."""
    if status.learner_state is millrace.LearnerState.FAILED:
        print(f"learner failed  {status.learner_cause}", flush=True)
    elif status.learner_state is millrace.LearnerState.PAUSED:
        print("learner paused", flush=True)
    elif status.source_state not in (millrace.SourceState.STREAMING, millrace.SourceState.STOPPED):
        print(f"camera {status.source_state}  {status.source_cause}", flush=True)
    elif status.gives_up:
        print(f"{status.overload_cause}  {status.overload_remedy}", flush=True)


def main(address="127.0.0.1:50051", stream=""):  # The stream may be empty if the server has one.
    # The client waits five seconds for a server that is gone.
    with millrace.Client(address, reconnect=millrace.Reconnect(give_up_after=5)) as client:
        client.stream(stream)  # Reports an error at the start at once.
        for prediction in client.predictions(stream, on_status=show_status):
            show(prediction)


try:
    main(*sys.argv[1:3])
except millrace.MillraceError as error:
    hint = " Is `millrace serve` running?" if isinstance(error, millrace.Unavailable) else ""
    sys.exit(f"{error.code.name}: {error}{hint}")
except KeyboardInterrupt:
    pass
