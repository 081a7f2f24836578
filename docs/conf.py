"""Settings of the documentation site. The built pages load nothing from outside."""

import re
import shutil
import sys
from importlib.metadata import metadata
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

project = "mercer"
author = "the mercer developers"
copyright = "2026, the mercer developers"  # noqa: A001 - the name Sphinx reads
release = version = installed("mercer")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinx_llm.txt",  # llms.txt, and a Markdown copy of each page beside its HTML
]
llms_txt_description = f"{metadata('mercer')['Summary']}."
llms_txt_build_parallel = False  # the gallery is run once
llms_txt_suppress_unknown_node_warnings = True
linkcheck_ignore = ["lab/index.html"]  # written when the site is built
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
templates_path = ["_templates"]
exclude_patterns = ["_build"]
default_role = "code"
add_module_names = False
toc_object_entries = False  # lists of contents hold headings alone
highlight_language = "none"  # formulas and trees are not Python; examples with >>> are coloured anyway

autosummary_generate = True
autosummary_generate_overwrite = True
autodoc_typehints = "none"  # types are in the docstrings, in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # our templates list what is worth listing
numpydoc_class_members_toctree = False

# The gallery: every script runs when the site is built, and one that fails stops the build.
sys.path.insert(0, str(Path(__file__).parent))  # for the modules beside this one
import messages  # noqa: E402

from mercer.lab.files import write_static  # noqa: E402

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib", "gallery_look.settle"),
    "capture_repr": (),  # what is worth reading is printed
    "image_srcset": ["2x"],
    "inspect_global_variables": False,
    "download_all_examples": True,  # scripts and notebooks
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "min_reported_time": 1000,  # seconds: how long a script took on our machine is no part of the page
}

html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_static_path = ["_static"]
html_css_files = ["mercer.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "mercer"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"*": ["page-toc"], "index": []},  # not the many pages of the reference and the gallery
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages that no list of siblings belongs to.
html_sidebars = {page: [] for page in ("index", "tutorial", "search")}

# Docstrings are plain text first: |x|, X_fit_ and the like mean themselves, not markup.
_CODE = re.compile(r"(``[^`]*``|`[^`]*`)")
_NAME = re.compile(r"(\w)_(?!\w)")
_FIELD = re.compile(r"\w[\w, ]* :")


def _plain(text: str) -> str:
    return _NAME.sub(r"\1\\_", text.replace("|", r"\|"))


def _escape(_app: object, _what: str, name: str, _obj: object, _options: object, lines: list[str]) -> None:
    """Escape what reStructuredText would take for markup, outside `code` and examples."""
    if name.endswith(".set_output"):  # scikit-learn's own text refers to pages of its site
        lines[:] = ["Choose what `transform` returns: an array, a pandas or a polars DataFrame, as in scikit-learn."]
    in_example = False
    for place, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if not in_example and not _FIELD.match(line):
            parts = _CODE.split(line)
            lines[place] = "".join(part if i % 2 else _plain(part) for i, part in enumerate(parts))


def _write_messages(app: Any) -> None:
    """The reference of errors and warnings, from the source."""
    (Path(app.srcdir) / "messages.rst").write_text(messages.page(), encoding="utf-8")


def _write_lab(app: Any, error: Exception | None) -> None:
    """The static edition of the lab, as a part of the site."""
    if error is None and app.builder.name == "html":
        folder = Path(app.outdir) / "lab"
        shutil.rmtree(folder, ignore_errors=True)
        write_static(folder)


def setup(app: Any) -> None:
    app.connect("build-finished", _write_lab)
    app.connect("builder-inited", _write_messages)
    app.connect("autodoc-process-docstring", _escape, priority=400)  # before numpydoc
