"""The HTTP faces of Mead: guards, parsing, and one call into the runtime."""
