"""The WebSocket engine behind flask-sock: gunicorn's socket, the protocol of `websockets`.

`handshake` judges the request, `incoming` makes messages of bytes, `outgoing` and `flusher` carry
frames to the kernel, `wire` knows sockets, `connection` joins them into one WebSocket, and
`engine` is what wsgi hands to the blueprints.
"""
