"""The datasheet as one HTML file that opens offline: figures inline, nothing fetched."""

from steelyard.datasheet.render.html.page import render

__all__ = ["render"]
