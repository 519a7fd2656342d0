"""What stands on pages of releases in several tables."""

import re
from html import unescape


def text_of(page):
    """Return the words of a page, without styles."""
    body = re.sub(r"<style.*?</style>", "", page, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", " ", body)).replace("\N{NO-BREAK SPACE}", " ")


def rows_of(page):
    """Return the words of the rows of the table of places, by the place."""
    table = page.split('id="part-places"')[1].split("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return {unescape(name): numbers for name, *numbers in cells[1:]}
