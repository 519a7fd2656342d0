"""The HTML page of a release: map, margins, estimates of any area, and card.

:mod:`~geodp.release.report.html.page` puts it together; ``assets`` has its scripts and styles.
:mod:`~geodp.release.report.html.embedded` writes the small map without a script.
"""
