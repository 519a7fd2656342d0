"""Formats that a written release is exported to: post-processing, which costs no privacy.

Every module here whose ``EXPORTS`` lists exports is found by its file, see
:func:`geodp.io.folder.exports.find_exports`.
"""
