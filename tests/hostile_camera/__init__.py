"""RTSP cameras that lie, each in one way of its own: README.md."""
