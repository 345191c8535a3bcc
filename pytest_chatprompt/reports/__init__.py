"""Reports: what people read about a whole run.

The `CaseResult`s of a run come in, from pytest's reports; the distinct changes come out, what pytest's terminal
shows of them, and the files that the user asked for: the page, Markdown and JSON. `plugin` calls it when a run ends;
`items` asks which tests failed. A run's end begins in `terminal_hooks` and `report_files`; `report_formats` lists the
formats of files. The words are in modules whose names end in `_lines` and `_text`, the page's in `page_*`.
"""
