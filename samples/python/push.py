"""Makes frames, pushes them into a running Millrace, and prints the outcome of each.

push.py [ADDRESS]"""

import sys

try:
    import millrace
    import numpy
except ModuleNotFoundError:
    sys.exit("The client is missing: samples/README.md has the command that installs it.")

NAME = "pushed"


def frames(count, height=96, width=128):
    """A pattern that moves to the right: three pixels from a picture to the next."""
    pattern = numpy.random.default_rng(1).integers(0, 256, (height // 8, width // 8, 3), numpy.uint8)
    picture = pattern.repeat(8, axis=0).repeat(8, axis=1)
    for i in range(count):
        yield millrace.Frame(numpy.roll(picture, 3 * i, axis=1), id=f"picture {i}")


def show(outcome):
    if outcome.prediction:
        dx, dy = outcome.prediction.flow.mean(axis=(0, 1))
        print(f"{outcome.id}  mean flow {dx:+.3f} {dy:+.3f} px", flush=True)
    elif outcome.dropped is not None:
        print(f"{outcome.id}  dropped: {outcome.dropped.name}", flush=True)
    else:
        print(f"{outcome.id}  {outcome.refused or 'skipped'}", flush=True)


def main(address="127.0.0.1:50051"):
    with millrace.Client(address) as client:
        client.create_stream({"name": NAME, "source": {"uri": "push:"}})
        try:
            for outcome in client.push(NAME, frames(50)):
                show(outcome)
        finally:
            client.delete_stream(NAME)


try:
    main(*sys.argv[1:2])
except millrace.MillraceError as error:
    hint = " Is `millrace serve` running?" if isinstance(error, millrace.Unavailable) else ""
    sys.exit(f"{error.code.name}: {error}{hint}")
except KeyboardInterrupt:
    pass
