"""Nunjucks itself puts out what the table of its tests says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.cases.formats.test_nunjucks import OUTPUTS, VARIABLES
from tests.formats.installed import MODULES, NODE

_SCRIPT = """
const nunjucks = require(process.argv[1]);
const environment = nunjucks.configure({autoescape: false});
// As promptfoo adds it.
environment.addFilter("load", (text) => JSON.parse(text));
const {templates, variables} = JSON.parse(require("fs").readFileSync(0));
console.log(JSON.stringify(templates.map((each) => environment.renderString(each, variables))));
"""


def test_nunjucks_puts_out_what_its_table_says() -> None:
    data = json.dumps({"templates": list(OUTPUTS), "variables": VARIABLES})
    done = subprocess.run(
        [NODE, "-e", _SCRIPT, Path(MODULES / "nunjucks")], input=data, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == list(OUTPUTS.values())
