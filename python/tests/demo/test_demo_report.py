# SPDX-License-Identifier: Apache-2.0
import base64
import re
from html.parser import HTMLParser

import pytest
from PIL import Image

from demo import physics, report
from demo.comparison import same_results

PICTURES = ("melting", "detector", "film", "structure_factor", "speeds", "times")
VOID = {"meta", "img"}


class Tags(HTMLParser):
    """Collects attributes that refer to something, and checks that tags close in order."""

    def __init__(self):
        super().__init__()
        self.open, self.references = [], []

    def handle_starttag(self, tag, attrs):
        self.references += [v for k, v in attrs if k in ("src", "href", "srcset")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def checks(record, crystal, heating):
    return [*physics.check(record, crystal, heating), same_results(record, record)]


@pytest.fixture
def page(tmp_path, plan, record, checks, comparison):
    return report.write(tmp_path, plan, record, checks, comparison).read_text()


def test_the_page_is_well_formed_and_refers_to_nothing_outside_itself(page):
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert len(tags.references) == len(PICTURES)
    assert all(r.startswith("data:image/png;base64,") for r in tags.references)
    assert "url(" not in page and "@import" not in page and "$" not in page


def test_every_picture_is_a_png_in_the_page_and_beside_it(page, tmp_path):
    embedded = [base64.b64decode(b) for b in re.findall(r"base64,([^\"]+)\"", page)]
    for name in PICTURES:
        path = tmp_path / "pictures" / f"{name}.png"
        with Image.open(path) as picture:
            picture.load()
            assert picture.format == "PNG" and picture.width >= 600
            assert len(picture.convert("RGB").resize((64, 64)).getcolors(4096)) > 8, "blank"
        assert path.read_bytes() in embedded


def test_the_page_states_the_figures(page):
    assert "the physics is right" in page
    lead = page.split("</p>")[0]
    assert "was there 1.2 s after the start" in lead and "after 9.8 s" in lead, "it leads"
    assert page.index("to the first result") < page.index("fall of (111)")
    assert "1,000×" in page
    assert "160 MB" in page and "3.2 GB/s" in page
    assert "10.0 s" in page and "15.0 s" in page and "0.42 s" in page
    assert "2,304 atoms" in page and "on 2 ranks" in page and "on 3 ranks" in page
    assert "MPICH &lt;5&gt;" in page, "text is escaped"


def test_a_failed_check_is_told_at_the_top(tmp_path, plan, record, crystal, heating, comparison):
    record.peaks[:] = record.peaks[0]  # never melts
    checks = physics.check(record, crystal, heating)
    page = report.write(tmp_path, plan, record, checks, comparison).read_text()
    assert "the physics is not right" in page.split("</p>")[1]
    assert "the crystal has not melted" in page
    assert ">NO<" in page


def test_the_comparison_counts_from_first_launch_to_last_end(comparison):
    assert comparison.stream_seconds == 10.0
    assert comparison.files_seconds == 15.0
    assert comparison.throughput == pytest.approx(160e6 / (9.9 - 1.1))
    assert comparison.first_results == (1.25, 9.75)
    assert "1.50×" in comparison.summary()
    assert "1.2 s after the start" in comparison.headline()
    assert "after 9.8 s" in comparison.headline()
