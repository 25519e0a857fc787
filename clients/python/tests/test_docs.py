import re
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT

PAGES = [ROOT / "docs/python.md", ROOT / "clients/python/README.md"]
BLOCK = re.compile(r"^```(python|text output)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_prints_what_it_says(page: Path) -> None:
    blocks = BLOCK.findall(page.read_text())
    printed = ""
    for language, text in blocks:
        if language == "python":
            printed = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout
        else:
            assert printed == text
    assert blocks
