"""The notice of a withdrawal at the top of every page."""

from __future__ import annotations

from geodp.errors import printable
from geodp.io.write.map.captions import Language
from geodp.release.report.html.head import write_days
from geodp.release.report.html.markup import Html, bind, element
from geodp.release.report.html.texts import texts_of
from geodp.table.withdrawal import Notice


def write_notice(notice: Notice | None, language: Language) -> list[Html]:
    """Write the notice that lies beside a release, for the top of its page; empty without one."""
    if notice is None:
        return []
    page, stated = texts_of(language).page, notice.withdrawal
    if stated is None:
        sentences = [page["notice_unreadable"]]
    else:
        # The reason is what the office wrote, in whatever language.
        days, reason = write_days(stated.date, page), printable(stated.reason)
        sentences = [page["notice_withdrawn"].format(date=days, reason=reason)]
        if stated.use is not None:
            sentences.append(page["notice_use"].format(release_id=printable(stated.use)))
    return [element("p", bind(" ".join(sentences)), class_="alarm", role="alert")]
