"""What our pages allow a browser to do: https://www.w3.org/TR/CSP3/."""

import base64
import hashlib


def policy(*scripts: str) -> str:
    """Return a content security policy: its own scripts run, by their digests; nothing else does, or comes
    from elsewhere.
    """
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    directives = "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {allowed}; {directives}"
