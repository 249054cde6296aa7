"""Settings of the documentation's site; ``make_site.py`` puts them beside the pages."""

project = "arm_control"
copyright = "arm_control maintainers, Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
napoleon_google_docstring = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"exclude-members": "from_mapping"}
myst_enable_extensions = ["tasklist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "arm_control"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["wide.css"]
highlight_language = "none"
