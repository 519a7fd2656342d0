"""One contract for every kind of release: a check is written once, and every kind is held to it.

``kinds`` has one small world for each kind, ``holes`` all that a kind lacks, with the reason. A
check is a test with the argument ``kind``; ``table`` runs it for every kind and prints at the end
which kinds kept it. A hole is expected to fail, and strictly so: what mends it takes the row out.
"""
