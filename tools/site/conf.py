"""The documentation site: `sphinx-build -W -c tools/site docs build/site`."""

from importlib.metadata import version as installed

project = "Stepwell"
author = "the Stepwell developers"
version = installed("stepwell")
release = version
extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3
html_theme = "furo"
html_title = "Stepwell"
html_theme_options = {
    "source_repository": "https://github.com/stepwell/stepwell",
    "source_branch": "main",
    "source_directory": "docs/",
}
copybutton_prompt_text = "$ "
