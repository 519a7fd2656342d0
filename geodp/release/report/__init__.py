"""Reports of a release from its public card: Markdown, HTML page, registry record.

The page is in :mod:`geodp.release.report.html`.
"""
