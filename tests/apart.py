"""Processes of their own, for what kills them or takes their rights.

They are not forked from here: what other threads hold just then would be held for ever.
"""

import multiprocessing

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    [
        "tests.published",
        "tests.io.folder.test_stopping",
        "tests.privacy.test_hash_chain",
        "tests.io.folder.test_staging",
        "tests.cli.test_publishing",
    ]
)


def exit_code(function, *arguments):
    """Call a function of a module in a process of its own; minus the signal that killed it."""
    child = SERVER.Process(target=function, args=arguments)
    child.start()
    child.join()
    return child.exitcode


def exit_codes(function, calls):
    """Call a function in as many processes side by side as there are lists of arguments."""
    children = [SERVER.Process(target=function, args=arguments) for arguments in calls]
    for child in children:
        child.start()
    for child in children:
        child.join()
    return [child.exitcode for child in children]
