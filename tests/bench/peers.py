"""Who is measured: each a list of commands on a directory and a store. `None`: it cannot do that."""
import os
import shutil
from pathlib import Path


class Peer:
    name = "?"
    program = "?"
    without = ()  # of the environment

    def __init__(self, endpoint, bucket, work, binary):
        self.endpoint, self.bucket, self.work, self.binary = endpoint, bucket, Path(work), binary

    @classmethod
    def is_there(cls):
        return shutil.which(cls.program) is not None

    @property
    def url(self):
        return f"s3://{self.bucket}/{self.name}"

    def prepare(self):
        """Not measured."""
        return None

    def up(self, directory):
        raise NotImplementedError

    def down(self, target, directory):
        """`directory` is what was saved; its content must lie in place(target, directory) then."""
        raise NotImplementedError

    def again(self, directory):
        """Half of the bytes changed since up()."""
        return None

    def place(self, target, directory):
        return Path(target)


class Reprieve(Peer):
    name = "reprieve"

    @classmethod
    def is_there(cls):
        return True

    def up(self, directory):
        return [self.binary, "save", directory, "--store", self.url, "--job", Path(directory).name]

    again = up

    def down(self, target, directory):
        return [self.binary, "restore", "latest", target, "--store", self.url, "--job", Path(directory).name]


class Aws(Peer):
    name = program = "aws"

    def up(self, directory):
        return ["aws", "s3", "cp", "--quiet", "--recursive", directory, f"{self.url}/{Path(directory).name}"]

    def again(self, directory):
        return ["aws", "s3", "sync", "--quiet", directory, f"{self.url}/{Path(directory).name}"]

    def down(self, target, directory):
        return ["aws", "s3", "cp", "--quiet", "--recursive", f"{self.url}/{Path(directory).name}", target]


class S5cmd(Peer):
    name = program = "s5cmd"

    def command(self, verb, source, target):
        return ["s5cmd", "--log", "error", "--endpoint-url", self.endpoint, verb, source, target]

    def up(self, directory):
        return self.command("cp", f"{directory}/", f"{self.url}/{Path(directory).name}/")

    def again(self, directory):
        return self.command("sync", f"{directory}/", f"{self.url}/{Path(directory).name}/")

    def down(self, target, directory):
        return self.command("cp", f"{self.url}/{Path(directory).name}/*", f"{target}/")


class Rclone(Peer):
    name = program = "rclone"
    without = ("AWS_CA_BUNDLE",)  # "unsupported transport"; SSL_CERT_FILE serves

    def command(self, source, target):
        # Its own way of keeping the time of a file needs one more request for each; nobody else keeps it.
        return ["rclone", "--config", "/dev/null", "--s3-provider", "Other", "--s3-env-auth", "--s3-endpoint", self.endpoint,
                "--s3-no-check-bucket", "--use-server-modtime", "copy", source, target]

    def up(self, directory):
        return self.command(directory, f":{self.url.replace('//', '')}/{Path(directory).name}")

    again = up

    def down(self, target, directory):
        return self.command(f":{self.url.replace('//', '')}/{Path(directory).name}", target)


class Restic(Peer):
    name = program = "restic"

    def command(self, *words):
        certificate = os.environ.get("SSL_CERT_FILE") or "/etc/ssl/certs/ca-certificates.crt"
        return ["restic", "--quiet", "--cacert", certificate, "--password-command", "echo bench", "--cache-dir",
                str(self.work / "restic-cache"), "--repo", f"s3:{self.endpoint}/{self.bucket}/restic", *words]

    def prepare(self):
        return self.command("init")

    def up(self, directory):
        return self.command("backup", directory)

    again = up

    def down(self, target, directory):
        return self.command("restore", "latest", "--path", directory, "--target", target)

    def place(self, target, directory):
        return Path(f"{target}{directory}")


class TarLz4(Peer):
    name = "tar_lz4"
    program = "lz4"

    @classmethod
    def is_there(cls):
        return all(shutil.which(program) for program in ("tar", "lz4", "aws"))

    def shell(self, line, *words):
        return ["bash", "-c", f"set -o pipefail; {line}", "bash", *map(str, words)]

    def up(self, directory):
        return self.shell('tar -C "$1" -cf - . | lz4 -q -1 | aws s3 cp --quiet - "$2"', directory,
                          f"{self.url}/{Path(directory).name}.tar.lz4")

    again = up

    def down(self, target, directory):
        return self.shell('mkdir "$1" && aws s3 cp --quiet "$2" - | lz4 -q -d | tar -C "$1" -xf -', target,
                          f"{self.url}/{Path(directory).name}.tar.lz4")


class Plain(Peer):
    """No program that one would use: curl, with the bytes as they are, all files at once, nothing read twice, checked or listed. What is
    left is the server and the copying, so that an aim that is below this cannot be had here by any client."""
    name = "plain"
    program = "curl"

    def transfers(self, directory, lines):
        """curl's own file of options: 20,000 names are more than a command takes."""
        options = self.work / "plain-options"
        with open(options, "w") as file:
            for path in sorted(path for path in Path(directory).rglob("*") if path.is_file()):
                name = path.relative_to(directory)
                file.write(lines(path, name) + f'url = "{self.endpoint}/{self.bucket}/plain/{name}"\n')
        line = """exec curl --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" "$@" """
        return ["bash", "-c", line, "bash", "--silent", "--show-error", "--fail", "--insecure", "--parallel", "--parallel-immediate",
                "--parallel-max", "16", "--aws-sigv4", "aws:amz:us-east-1:s3", "--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD",
                "--create-dirs", "--config", str(options)]

    def up(self, directory):
        return self.transfers(directory, lambda path, name: f'upload-file = "{path}"\n')

    def down(self, target, directory):
        return self.transfers(directory, lambda path, name: f'output = "{Path(target) / name}"\n')


ALL = (Reprieve, Aws, S5cmd, Rclone, Restic, TarLz4, Plain)
TITLES = {"tar_lz4": "tar | lz4 | aws s3 cp -", "aws": "aws s3 cp"}
