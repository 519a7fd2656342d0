"""The notice of a withdrawal at the top of an explanation."""

from __future__ import annotations

from dataclasses import replace

from geodp.features.explain.page import Explanation, Section, Writer
from geodp.table.withdrawal import Notice


def add_notice(explanation: Explanation, notice: Notice | None) -> Explanation:
    """Add the notice that lies beside a release, as the first section; nothing without one."""
    if notice is None:
        return explanation
    page, stated = Writer(explanation.language), notice.withdrawal
    heading = page.write("heading_withdrawn")
    if stated is None:
        sentences = [page.write("withdrawn_unreadable")]
    else:
        sentences = [
            page.write("withdrawn", withdrawn=stated.date),
            page.write("withdrawn_reason", reason=stated.reason),
        ]
        if stated.use is not None:
            sentences.append(page.write("withdrawn_use", use=stated.use))
    sections = (Section(heading, tuple(sentences)), *explanation.sections)
    return replace(explanation, sections=sections, figures={**page.figures, **explanation.figures})
