"""Mead: supervised conversations with language models, on gevent."""
