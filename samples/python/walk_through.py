"""Adds a camera to a running Millrace, watches it, pauses and resumes its learner, takes a checkpoint,
and deletes the camera again.   walk_through.py [ADDRESS]"""

import datetime
import itertools
import math
import sys
import time

try:
    import millrace
except ModuleNotFoundError:
    sys.exit("The client is missing: samples/README.md has the command that installs it.")

# As an entry of `streams` in the configuration file. For a camera: rtsp://USER:PASSWORD@HOST/PATH.
CAMERA = {"name": "ball", "source": {"uri": "test:ball"}}
NAME = CAMERA["name"]


def add(client):
    print("Adding a camera ...", flush=True)
    stream = client.create_stream(CAMERA)
    print(f"  '{stream.name}' is {stream.learner_state.name}, from {stream.uri}")


def explained(loss, loss_no_motion):
    """How much of the motion the model explains. "none": "nothing moves" is the better guess."""
    percent = 100 * (1 - loss / loss_no_motion) if loss_no_motion > 0 else math.nan
    if not math.isfinite(percent):
        return ""
    share = f"{round(percent)} %" if round(percent) >= 0 else "none"
    return f"  explains {share} of the motion"


def watch(client, count):
    print(f"Its next {count} predictions:", flush=True)
    with client.predictions(NAME) as predictions:
        for prediction in itertools.islice(predictions, count):
            delay_ms = prediction.delay // datetime.timedelta(milliseconds=1)
            share = explained(prediction.loss, prediction.loss_no_motion)
            print(f"  frame {prediction.frame_number}  delay {delay_ms} ms{share}", flush=True)


def pause_for_a_second(client):
    print("Pausing its learner ...", flush=True)
    print(f"  it is {client.learner(NAME).pause().state.name}")
    time.sleep(1)
    dropped = client.stream(NAME).frames.dropped[millrace.DropReason.PAUSED]
    print(f"  {dropped} frames were dropped meanwhile")
    print(f"  it is {client.learner(NAME).resume().state.name} again", flush=True)


def take_checkpoint(client):
    print("Taking a checkpoint: the next weights that prove good ...", flush=True)
    try:
        checkpoint = client.checkpoints(NAME).create()
    except millrace.FailedPrecondition as error:  # The configuration names no folder for them.
        print(f"  none: {error.message}")
        return
    share = explained(checkpoint.score, 1)  # Its score is relative to the loss of no motion.
    print(f"  {checkpoint.name} of {checkpoint.bytes / 1e6:.1f} MB{share}", flush=True)


def delete(client):
    print("Deleting the camera ...", flush=True)
    frames = client.delete_stream(NAME).frames
    print(f"  of {frames.received} frames {frames.predicted} were predicted")


def tell(events):
    print("What a watcher saw of it all:")
    for event in events:
        print(f"  {event.time:%H:%M:%S}  {event.kind.name}  {event.source_state.name}"
              f"  {event.learner_state.name}", flush=True)
        if event.kind is millrace.EventKind.DELETED:
            return


def main(address="127.0.0.1:50051"):
    with millrace.Client(address) as client, client.watch() as events:
        events.wait_for_server()
        add(client)
        try:
            watch(client, 5)
            pause_for_a_second(client)
            watch(client, 3)
            take_checkpoint(client)
        finally:
            delete(client)
        tell(events)


try:
    main(*sys.argv[1:2])
except millrace.MillraceError as error:
    hint = " Is `millrace serve` running?" if isinstance(error, millrace.Unavailable) else ""
    sys.exit(f"{error.code.name}: {error}{hint}")
except KeyboardInterrupt:
    pass
