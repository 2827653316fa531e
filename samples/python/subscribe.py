"""Prints what a running Millrace predicts.   subscribe.py [ADDRESS [STREAM]]"""

import datetime
import sys

try:
    import millrace
except ModuleNotFoundError:
    sys.exit("The client is missing: samples/README.md has the command that installs it.")


def show(prediction):
    delay_ms = prediction.delay // datetime.timedelta(milliseconds=1)
    ratio = prediction.loss / max(prediction.loss_no_motion, 1e-9)  # Below 1: better than no model.
    dx, dy = prediction.flow.mean(axis=(0, 1))  # In pixels of the grid, over all cells.
    lost = f"  lost {prediction.dropped}" if prediction.dropped else ""
    print(f"frame {prediction.frame_number}  delay {delay_ms} ms"
          f"  loss {ratio:.3f} of no motion  mean flow {dx:+.3f} {dy:+.3f} px{lost}", flush=True)


def show_status(status):
    """What a camera does that sends nothing. Without it, the log would say so."""
    if status.source_state not in (millrace.SourceState.STREAMING, millrace.SourceState.STOPPED):
        print(f"camera {status.source_state}  {status.source_cause}", flush=True)


def main(address="127.0.0.1:50051", stream=""):  # The stream may be empty if the server has one.
    # A server that is gone is waited for, for so many seconds.
    with millrace.Client(address, reconnect=millrace.Reconnect(give_up_after=5)) as client:
        client.stream(stream)  # What is wrong from the start is said at once.
        for prediction in client.predictions(stream, on_status=show_status):
            show(prediction)


try:
    main(*sys.argv[1:3])
except millrace.MillraceError as error:
    hint = " Is `millrace serve` running?" if isinstance(error, millrace.Unavailable) else ""
    sys.exit(f"{error.code.name}: {error}{hint}")
except KeyboardInterrupt:
    pass
