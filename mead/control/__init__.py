"""The control socket: how commands reach the process that holds the storage directory.

A Unix socket, 0600, inside the directory, for processes of the same user.  Source: SPEC section 10.
"""
