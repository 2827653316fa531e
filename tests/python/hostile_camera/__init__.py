"""RTSP cameras that lie, each in its own way: README.md."""
