"""The version of this package and of the server."""

__version__ = "0.1.0"
