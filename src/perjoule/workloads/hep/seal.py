"""The key and certificate of a job: Dask runs what it is sent, so its processes heed only who has these.

https://distributed.dask.org/en/stable/tls.html
"""

from datetime import UTC, datetime
from pathlib import Path

# whatever the clocks of hosts show
_FROM, _UNTIL = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
_TLS = "DASK_DISTRIBUTED__COMM__TLS__"
_ROLES, _PARTS = ("SCHEDULER", "WORKER", "CLIENT"), ("KEY", "CERT")


def sealed() -> str:
    """Return a new private key, and a certificate that it has signed itself, as PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "perjoule")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), _FROM, _UNTIL)
        .sign(key, SHA256())
        .public_bytes(Encoding.PEM)
    )
    return (key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + certificate).decode()


def environment(file: Path) -> dict[str, str]:
    """Return what has a process of Dask speak to nobody who lacks the key in a file."""
    names = ["CA_FILE", *(f"{role}__{part}" for role in _ROLES for part in _PARTS)]
    return {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"} | {
        f"{_TLS}{name}": str(file) for name in names
    }
