"""A folder with the report: one HTML file, Markdown, and every figure as PNG."""

from pathlib import Path

from dialogist import __version__
from dialogist.errors import DataError
from dialogist_lab.report.contents import Contents
from dialogist_lab.report.markdown import render_markdown
from dialogist_lab.report.page import render_page

PAGE = "report.html"
TEXT = "report.md"
FIGURES = "figures"


def write_report(contents: Contents, folder: Path) -> None:
    """Write all files; figures of an earlier report that are no longer there are removed.

    Raises:
        DataError: they cannot be written.
        MissingExtraError: jinja2 or matplotlib is not installed.
    """
    page = render_page(contents, __version__)
    text = render_markdown(contents, __version__, FIGURES)
    images = {f"{picture.name}.png": picture.png() for picture in contents.pictures}
    figures = folder / FIGURES
    try:
        figures.mkdir(parents=True, exist_ok=True)
        for old in figures.glob("*.png"):
            if old.name not in images:
                old.unlink()
        for name, data in images.items():
            (figures / name).write_bytes(data)
        (folder / TEXT).write_text(text, encoding="utf-8")
        (folder / PAGE).write_text(page, encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"{error.filename or folder}: cannot be written: {error.strerror}"
        ) from None
