"""Shipped configurations, for tests that serve them from another folder."""

import pathlib

import yaml
from millrace_testing.millrace_process import ROOT

_PATHS = [("model", "weights"), ("checkpoints", "folder"), ("source", "uri")]


def read(path: pathlib.Path) -> dict:
    """Reads the configuration at `path`, and makes its relative paths absolute."""
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    for part in [settings, *settings["streams"]]:
        for section, key in _PATHS:
            value = part.get(section, {}).get(key)
            if value and ":" not in value:
                part[section][key] = str((path.parent / value).resolve())
    return settings


def in_checkout(text: str, state: str) -> str:
    """The text of the image's configuration, with paths in the checkout and with the folder `state`
    for learned weights."""
    return text.replace("/opt/millrace", str(ROOT)).replace("/var/lib/millrace", state)
