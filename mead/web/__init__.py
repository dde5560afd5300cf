"""The web process: what knows gunicorn, its master and its worker, and the sockets between them."""
