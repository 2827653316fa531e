"""The version of this package, which is the server's, too."""

__version__ = "0.1.0"
