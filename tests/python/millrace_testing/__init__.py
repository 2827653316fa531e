"""Helpers that Python tests of several folders share."""
