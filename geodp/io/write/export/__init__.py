"""Formats for exports of a written release: post-processing, which costs no privacy.

Every module here whose ``EXPORTS`` lists exports is found by its file, see
:func:`geodp.io.folder.formats.find_exports`.
"""
