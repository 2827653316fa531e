"""A user's view of a server: its gRPC API by the Python client, its metrics and probes.

A Subscriber reads predictions, an Auditor checks the counters, each on its own thread during the
whole test.
"""

import dataclasses
import re
import threading
import urllib.error
import urllib.request

import grpc
import millrace
from millrace.v1 import prediction_pb2, stream_pb2, stream_service_pb2, stream_service_pb2_grpc

from millrace_testing import millrace_process

_SAMPLE = re.compile(r"(?P<name>[a-z_]+)(\{(?P<labels>[^}]*)\})? (?P<value>\S+)")


class Subscriber:
    """Keeps every prediction that one Subscribe call delivers: it does not connect again. A context
    manager."""

    def __init__(self, address: str, stream: str = "", parts: millrace.Parts | None = None):
        self.messages: list[millrace.Prediction] = []
        self._client = millrace.Client(address, reconnect=millrace.Reconnect(give_up_after=0))
        self._subscription = self._client.predictions(stream, parts=parts)
        self._subscription.wait_for_server()
        self._ended = grpc.StatusCode.OK
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> "Subscriber":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._client.close()
        self._thread.join()

    def _read(self) -> None:
        try:
            for message in self._subscription:
                self.messages.append(message)
        except millrace.MillraceError as error:
            self._ended = error.code

    @property
    def predictions(self) -> list[prediction_pb2.Prediction]:
        """As the server sent them."""
        return [message.message for message in self.messages]

    def epoch(self) -> int:
        """The epoch of the newest prediction; -1 before the first."""
        return self.messages[-1].epoch if self.messages else -1

    def is_open(self) -> bool:
        return self._subscription.is_open()

    def wait_for_predictions(self, more: int, epoch_above: int = -1) -> None:
        """Waits for `more` predictions, the last of them of an epoch above `epoch_above`."""
        enough = len(self.messages) + more
        millrace_process.wait_for(
            f"{more} more predictions of an epoch above {epoch_above}",
            lambda: not self.is_open() or (len(self.messages) >= enough and self.epoch() > epoch_above))
        assert self.is_open(), f"the stream of predictions ended: {self._ended}"

    def end(self) -> grpc.StatusCode:
        """Waits until the server ends the call, and returns how."""
        self._thread.join(millrace_process.PATIENCE_S)
        assert not self._thread.is_alive(), "the stream of predictions does not end"
        return self._ended


@dataclasses.dataclass(frozen=True)
class Books:
    """The outcome counts of all frames, in one answer of the server."""

    source: str
    received: int
    predicted: int
    dropped: int
    in_flight: int

    def balance(self) -> bool:
        return self.received == self.predicted + self.dropped + self.in_flight


def get(url: str) -> tuple[int, str]:
    """The status and the body of a page, whatever the status."""
    try:
        with urllib.request.urlopen(url, timeout=millrace_process.PATIENCE_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def checkpoints_written(server: millrace_process.Server) -> float:
    return sums(get(server.metrics)[1])["millrace_pipeline_checkpoints_written_total"]


def resumed_after(output: str) -> int:
    """The number of frames after which a server reports that it resumes; 0: it starts from the beginning."""
    found = re.search(r"where it ended after (\d+) frames", output)
    return int(found[1]) if found else 0


def sums(scrape: str) -> dict[str, float]:
    """The sum of each family of samples over its labels."""
    total: dict[str, float] = {}
    for line in scrape.splitlines():
        if sample := _SAMPLE.fullmatch(line):
            total[sample["name"]] = total.get(sample["name"], 0) + float(sample["value"])
    return total


def of_stream(scrape: str, family: str, stream: str) -> float:
    """What a family says of one stream, over its other labels."""
    samples = (_SAMPLE.fullmatch(line) for line in scrape.splitlines())
    return sum(float(sample["value"]) for sample in samples
               if sample and sample["name"] == family
               and f'stream="{stream}"' in (sample["labels"] or "").split(","))  # fmt: skip


def books_of_scrape(scrape: str) -> Books:
    """What is in flight is the rest of the others, but for what the server itself cannot account for."""
    total = sums(scrape)
    received, predicted, dropped, unaccounted = (int(total[name]) for name in (
        "millrace_ingest_frames_received_total", "millrace_service_frames_predicted_total",
        "millrace_service_frames_dropped_total", "millrace_service_frames_unaccounted"))
    return Books(source="/metrics", received=received, predicted=predicted, dropped=dropped,
                 in_flight=received - predicted - dropped - unaccounted)


def books_of_stream(source: str, frames: stream_pb2.FrameCounts) -> Books:
    return Books(source=source, received=frames.received, predicted=frames.predicted,
                 dropped=sum(reason.frames for reason in frames.dropped),
                 in_flight=frames.in_flight)


def books_of_summary(summary: dict) -> Books:
    return Books(source="--summary-json", received=summary["frames_received"],
                 predicted=summary["predicted"], dropped=sum(summary["dropped"].values()),
                 in_flight=summary["in_flight"])


class Auditor:
    """Checks the counters again and again, in every output of the server. A context manager.

    `stream` is the stream of GetStream. It must be named if there are several."""

    def __init__(self, server: millrace_process.Server, stream: str = ""):
        self.audits = 0
        self.wrong: list = []
        self._server = server
        self._name = stream
        self._channel = grpc.insecure_channel(server.grpc)
        self._streams = stream_service_pb2_grpc.StreamServiceStub(self._channel)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._audit_on)

    def __enter__(self) -> "Auditor":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.finish()
        self._channel.close()

    def finish(self) -> None:
        """Stops looking. Idempotent."""
        self._stopping.set()
        self._thread.join()

    def stream(self, name: str = "") -> stream_pb2.Stream:
        request = stream_service_pb2.GetStreamRequest(stream=name or self._name)
        return self._streams.GetStream(request).stream

    def state(self, name: str = "") -> str:
        """`STREAMING`, `BACKING_OFF` ..."""
        state = stream_pb2.SourceState.Name(self.stream(name).source_state)
        return state.removeprefix("SOURCE_STATE_")

    def wait_for_state(self, *states: str, stream: str = "") -> None:
        millrace_process.wait_for(f"the source of {stream or 'the stream'} to be {' or '.join(states)}",
                                  lambda: self.state(stream) in states)

    def ready(self) -> tuple[int, str]:
        return get(self._server.metrics.replace("/metrics", "/readyz"))

    def _audit_on(self) -> None:
        last: dict[str, Books] = {}
        while not self._stopping.wait(0.02):
            try:
                for books in self._all_books():
                    self._audit(books, last.get(books.source, books))
                    last[books.source] = books
            except Exception as error:  # Whatever it is, the test must hear of it.
                self.wrong.append(error)
                return

    def _audit(self, books: Books, before: Books) -> None:
        self.audits += 1
        if not books.balance() or min(dataclasses.astuple(books)[1:]) < 0:
            self.wrong.append(books)
        if books.received < before.received or books.predicted < before.predicted:
            self.wrong.append(("went back", before, books))

    def _all_books(self) -> list[Books]:
        listed = self._streams.ListStreams(stream_service_pb2.ListStreamsRequest()).streams
        return [books_of_scrape(get(self._server.metrics)[1]),
                books_of_stream("GetStream", self.stream().frames),
                *(books_of_stream(f"ListStreams, {stream.name}", stream.frames) for stream in listed)]
