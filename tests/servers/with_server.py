#!/usr/bin/env python3
"""Runs a command with a store server beside it, for measurements and for trying by hand.

	build/servers/python/bin/python tests/servers/with_server.py radosgw|moto|azurite|google -- COMMAND [ARG...]

The command's environment has what clients of that server need, and STORE, the URL of a fresh bucket. The server ends with it.
"""
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from azurite import Azurite  # noqa: E402
from google_server import Google  # noqa: E402
from radosgw import Radosgw  # noqa: E402
from s3_server import Moto  # noqa: E402
from server import CannotInstall  # noqa: E402

SERVERS = {kind.name: kind for kind in (Radosgw, Moto, Azurite, Google)}


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in SERVERS or sys.argv[2] != "--":
        sys.exit(__doc__.strip())
    # So that a server that is ended by a signal is taken down too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="store-") as path:
        server = SERVERS[sys.argv[1]](path)
        try:
            server.start()
            store = server.make()
            return subprocess.run(sys.argv[3:], env={**os.environ, **server.environment, "STORE": store}).returncode
        except CannotInstall as error:
            print(f"{server.name}: {error}", file=sys.stderr)
            return 77
        finally:
            server.stop()


if __name__ == "__main__":
    sys.exit(main())
