"""Whether the listener's certificate can be used, found out before anything depends on it."""

import ssl

from mead.config import McpServerSettings


def certificate_faults(server: McpServerSettings) -> list[str]:
    """One line for what is wrong with certfile and keyfile; none when TLS is off."""
    if server.certfile is None or server.keyfile is None:
        return []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # an empty password, so that an encrypted key is a fault and not a question on a terminal
        context.load_cert_chain(server.certfile, server.keyfile, password="")
    except ssl.SSLError as error:
        reason = "the two do not belong together" if "MISMATCH" in str(error) else "not usable PEM"
        return [f"mcp_server.certfile and mcp_server.keyfile: {reason}"]
    except OSError as error:
        return [f"mcp_server.certfile and mcp_server.keyfile: {error.strerror}"]
    return []
