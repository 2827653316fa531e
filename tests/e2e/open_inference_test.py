"""tritonclient, the unchanged client of the Open Inference Protocol, with the built program. It needs only an
address."""

import queue
import unittest

import millrace
from millrace_testing import millrace_process
import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

SIDE = 64  # Of the model's input.


def pictures(values: np.ndarray) -> triton.InferInput:
    tensor = triton.InferInput("pictures", values.shape, "UINT8")
    tensor.set_data_from_numpy(values)
    return tensor


def moving_bars() -> np.ndarray:
    """Two pictures of what moves to the right by two pixels."""
    x = np.arange(2 * SIDE)
    bars = np.broadcast_to((x // 8 % 2 * 200).astype(np.uint8), (SIDE, 2 * SIDE))
    shifted = [bars[:, 2:SIDE + 2], bars[:, :SIDE]]
    return np.stack([np.stack([picture] * 3, axis=-1) for picture in shifted])


class OpenInferenceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        configuration = millrace_process.config(
            streams=[{"name": "ball", "source": {"uri": "test:ball"}}])
        cls.server = cls.enterClassContext(millrace_process.serve(configuration))
        cls.client = cls.enterClassContext(triton.InferenceServerClient(cls.server.grpc))
        cls.ours = cls.enterClassContext(millrace.Client(cls.server.grpc))
        millrace_process.wait_for("a prediction",
                                  lambda: cls.ours.stream("ball").frames.predicted > 0)

    def test_tells_what_there_is(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertTrue(self.client.is_model_ready("ball"))
        self.assertFalse(self.client.is_model_ready("cube"))
        self.assertEqual(self.client.get_server_metadata().name, "millrace")
        metadata = self.client.get_model_metadata("ball", as_json=True)
        self.assertEqual(metadata["inputs"], [{"name": "pictures", "datatype": "UINT8",
                                               "shape": ["2", "-1", "-1", "3"]}])
        self.assertEqual(metadata["outputs"][0]["name"], "flow")

    def test_says_what_to_call_instead_of_what_only_triton_has(self):
        """Each with words that name it, and what to call instead."""
        calls = {
            "ModelConfig": (lambda: self.client.get_model_config("ball"), "GetStream"),
            "ModelStatistics": (self.client.get_inference_statistics, "/metrics"),
            "RepositoryIndex": (self.client.get_model_repository_index, "ListStreams"),
            "RepositoryModelLoad": (lambda: self.client.load_model("ball"), "CreateStream"),
            "RepositoryModelUnload": (lambda: self.client.unload_model("ball"), "DeleteStream"),
            "SystemSharedMemoryStatus": (self.client.get_system_shared_memory_status, "pictures"),
            "CudaSharedMemoryStatus": (self.client.get_cuda_shared_memory_status, "pictures"),
            "TraceSetting": (self.client.get_trace_settings, "Open Inference Protocol"),
            "LogSettings": (self.client.get_log_settings, "Open Inference Protocol"),
        }
        for method, (call, advice) in calls.items():
            with self.subTest(method), self.assertRaises(InferenceServerException) as refused:
                call()
            self.assertEqual(refused.exception.status(), "StatusCode.UNIMPLEMENTED")
            self.assertIn(f"no method inference.GRPCInferenceService/{method}", refused.exception.message())
            self.assertIn(advice, refused.exception.message())

    def test_infers_what_our_own_client_is_told(self):
        self.ours.learner("ball").freeze()
        self.addCleanup(lambda: self.ours.learner("ball").resume())
        # What was admitted before is learned from still.
        learned = self.ours.stream("ball").frames.received
        millrace_process.wait_for("the last frame that teaches",
                                  lambda: self.ours.latest("ball").frame_number > learned + 5)
        values = moving_bars()
        result = self.client.infer("ball", [pictures(values)], request_id="mine")
        flow = result.as_numpy("flow")
        self.assertEqual((flow.dtype, flow.shape), (np.float32, (SIDE, SIDE, 2)))
        self.assertEqual(result.get_response().id, "mine")
        ours = self.ours.predict("ball", list(values), parts=millrace.Parts(flow=True, uncertainty=True))
        np.testing.assert_array_equal(flow, ours.flow)
        np.testing.assert_array_equal(result.as_numpy("uncertainty"), ours.uncertainty)
        self.assertEqual(ours.uncertainty.shape, (SIDE, SIDE))
        parameters = result.get_response().parameters
        self.assertAlmostEqual(parameters["loss"].double_param, ours.loss, places=6)
        self.assertEqual(parameters["update_count"].int64_param, ours.update_count)

    def test_images_are_decoded(self):
        preview = self.ours.latest("ball", parts=millrace.Parts(preview=True)).preview
        tensor = triton.InferInput("pictures", [2], "BYTES")
        tensor.set_data_from_numpy(np.array([preview, preview], dtype=np.object_))
        result = self.client.infer("ball", [tensor], outputs=[triton.InferRequestedOutput("flow")])
        self.assertEqual(result.as_numpy("flow").shape, (SIDE, SIDE, 2))

    def test_a_stream_tells_what_the_model_says_of_its_camera(self):
        answers: queue.Queue = queue.Queue()
        self.client.start_stream(lambda result, error: answers.put((result, error)))
        self.client.async_stream_infer("ball", [], request_id="mine",
                                       parameters={"policy": "LOSSLESS", "depth": 64})
        frames = []
        for _ in range(10):
            result, error = answers.get(timeout=60)
            self.assertIsNone(error)
            self.assertEqual(result.as_numpy("flow").shape, (SIDE, SIDE, 2))
            self.assertEqual(result.get_response().id, "mine")
            frames.append(result.get_response().parameters["frame_number"].int64_param)
        self.client.stop_stream()
        self.assertEqual(frames, sorted(set(frames)))

    def test_what_is_wrong_is_said(self):
        with self.assertRaises(InferenceServerException) as wrong:
            self.client.infer("ball", [pictures(moving_bars()[:1])])
        self.assertEqual(wrong.exception.status(), "StatusCode.INVALID_ARGUMENT")
        self.assertIn("2 pictures", wrong.exception.message())
        with self.assertRaises(InferenceServerException) as unknown:
            self.client.infer("cube", [pictures(moving_bars())])
        self.assertEqual(unknown.exception.status(), "StatusCode.NOT_FOUND")

    def test_what_is_wrong_with_a_stream_is_told_to_its_callback(self):
        answers: queue.Queue = queue.Queue()
        self.client.start_stream(lambda result, error: answers.put((result, error)))
        self.client.async_stream_infer("cube", [])
        result, error = answers.get(timeout=60)
        self.assertIsNone(result)
        self.assertIn("there is no", error.message())
        self.client.stop_stream()

    def test_models_go_on_learning_while_they_are_asked(self):
        def updates() -> int:
            return min(self.ours.learner("ball").status().updates)
        before = updates()
        values = moving_bars()
        flows = []
        while updates() < before + 20:
            flows.append(self.client.infer("ball", [pictures(values)]).as_numpy("flow"))
        self.assertTrue(np.any(flows[0] != flows[-1]), "it is asked anew each time")


if __name__ == "__main__":
    unittest.main()
