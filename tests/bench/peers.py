"""Who is measured: each gives commands on a directory and a store, which is a directory or a bucket of a sink."""
import os
import shutil
import sys
from pathlib import Path

BUCKET = "bench"
# The AWS CRT has no program: CRT up|down ENDPOINT PREFIX DIRECTORY.
CRT = """
import sys
from pathlib import Path
from awscrt import auth, http, io, s3
verb, endpoint, prefix, directory = sys.argv[1:]
host, group = endpoint.split("//")[1], io.EventLoopGroup()
signing = s3.create_default_s3_signing_config(region="us-east-1", credential_provider=auth.AwsCredentialsProvider.new_static("key", "secret"))
client = s3.S3Client(bootstrap=io.ClientBootstrap(group, io.DefaultHostResolver(group)), region="us-east-1", signing_config=signing,
                     tls_mode=s3.S3RequestTlsMode.DISABLED)
def transfer(method, name, **more):
    headers = [("host", host)] + ([("content-length", str(Path(more["send_filepath"]).stat().st_size))] if method == "PUT" else [])
    return client.make_request(type=s3.S3RequestType[f"{method}_OBJECT"], request=http.HttpRequest(method, f"/{prefix}/{name}",
                               http.HttpHeaders(headers)), **more)
names = sorted(path.name for path in Path(directory).iterdir())
if verb == "up":
    all = [transfer("PUT", name, send_filepath=f"{directory}/{name}") for name in names]
else:
    Path(verb).mkdir()
    all = [transfer("GET", name, recv_filepath=f"{verb}/{name}") for name in names]
for one in all:
    one.finished_future.result()
"""


class Peer:
    """`store`: a directory, or the endpoint of a sink."""
    name = "?"

    def __init__(self, store, work, binary):
        self.store, self.work, self.binary, self.remote = store, Path(work), binary, "//" in str(store)

    @classmethod
    def is_there(cls):
        return shutil.which(cls.name) is not None

    @property
    def url(self):
        return f"s3://{BUCKET}/{self.name}"

    def prepare(self):
        """Not measured; None: there is nothing to do."""
        return None

    def save(self, directory):
        """Also once more, of what is there already."""
        raise NotImplementedError

    def restore(self, directory, target):
        """`directory` is what was saved."""
        raise NotImplementedError


class Reprieve(Peer):
    name = "reprieve"

    @classmethod
    def is_there(cls):
        return True

    def where(self):
        return ["--store", self.url if self.remote else f"file://{self.store}/reprieve", "--job", "bench"]

    def save(self, directory):
        return [self.binary, "save", directory, *self.where()]

    def restore(self, directory, target):
        return [self.binary, "restore", "latest", target, *self.where()]

    def run(self, directory, target):
        return [self.binary, "run", "-q", *self.where(), "--checkpoint-dir", target, "--", "true"]


class S5cmd(Peer):
    name = "s5cmd"

    def command(self, verb, source, target):
        return ["s5cmd", "--log", "error", "--no-verify-ssl", "--endpoint-url", self.store, verb, source, target]

    def save(self, directory):
        return self.command("cp", f"{directory}/", f"{self.url}/{Path(directory).name}/")

    def restore(self, directory, target):
        return self.command("cp", f"{self.url}/{Path(directory).name}/*", f"{target}/")

    run = restore  # and the job


class Crt(Peer):
    name = "crt"

    @classmethod
    def is_there(cls):
        return CRT_PYTHON is not None

    def save(self, directory):
        return [CRT_PYTHON, "-c", CRT, "up", self.store, f"{BUCKET}/crt", directory]

    def restore(self, directory, target):
        return [CRT_PYTHON, "-c", CRT, target, self.store, f"{BUCKET}/crt", directory]

    run = restore


class Rclone(Peer):
    name = "rclone"

    def save(self, directory):
        # Its own way of keeping the time of a file needs one more request for each.
        return ["env", "-u", "AWS_CA_BUNDLE", "rclone", "--config", "/dev/null", "--s3-provider", "Other", "--s3-env-auth",
                "--s3-endpoint", self.store, "--s3-no-check-bucket", "--use-server-modtime", "copy", directory,
                f":s3:{BUCKET}/rclone/{Path(directory).name}"]


class Restic(Peer):
    name = "restic"

    def command(self, *words):
        repository = f"s3:{self.store}/{BUCKET}/restic" if self.remote else f"{self.store}/restic"
        return ["restic", "--quiet", "--password-command", "echo bench", "--cache-dir", self.work / "cache", "--repo", repository, *words]

    def prepare(self):
        return self.command("init")

    def save(self, directory):
        return self.command("backup", directory)


class Borg(Peer):
    name = "borg"

    def prepare(self):
        return ["borg", "init", "--encryption", "none", f"{self.store}/borg"]

    def save(self, directory):
        return ["borg", "create", f"{self.store}/borg::{{now:%H%M%S%f}}", directory]


class Rsync(Peer):
    name = "rsync"

    def save(self, directory):
        return ["rsync", "-a", f"{directory}/", f"{self.store}/rsync/"]


class Cp(Peer):
    name = "cp"

    def save(self, directory):
        return ["cp", "-r", directory, f"{self.store}/cp"]


def python_with_crt():
    beside = shutil.which("s5cmd") or ""
    for python in (str(Path(beside).parent / "python"), sys.executable):
        if os.path.exists(python) and os.system(f"{python} -c 'import awscrt' 2>/dev/null") == 0:
            return python
    return None


CRT_PYTHON = python_with_crt()
