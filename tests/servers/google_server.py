"""tests/fakes/google_fake.py as a store server: no emulator checks tokens. What was written is looked at with Google's own client
library."""
import os
import sys
from pathlib import Path

from server import Server, split

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fakes"))
from google_fake import GoogleFake  # noqa: E402


class Google(Server):
    name = "google"

    def start(self):
        self.fakes = {}
        self.newest = None

    def make(self):
        """One fake for each bucket; the environment is that of the newest."""
        fake = GoogleFake(self.bucket_name())
        fake.PAGE = 50
        fake.tokens = set()  # as the real one: nothing without a token, which its metadata server hands out
        self.fakes[fake.bucket] = self.newest = fake
        return f"gs://{fake.bucket}/team a/run+7=x"

    @property
    def environment(self):
        return {"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": self.newest.url, "GCE_METADATA_HOST": self.newest.host}

    def bucket(self, url):
        from google.auth.credentials import AnonymousCredentials
        from google.cloud import storage
        name, prefix = split(url)
        fake = self.fakes[name]
        os.environ["STORAGE_EMULATOR_HOST"] = fake.url
        try:
            client = storage.Client(project="p", credentials=AnonymousCredentials())
        finally:
            del os.environ["STORAGE_EMULATOR_HOST"]
        return client, name, prefix

    def objects(self, url):
        client, name, prefix = self.bucket(url)
        self.fakes[name].tokens, tokens = None, self.fakes[name].tokens
        try:
            return {blob.name[len(prefix):]: blob.size for blob in client.list_blobs(name, prefix=prefix)}
        finally:
            self.fakes[name].tokens = tokens

    def read(self, url, key):
        client, name, prefix = self.bucket(url)
        self.fakes[name].tokens, tokens = None, self.fakes[name].tokens
        try:
            return client.bucket(name).blob(prefix + key).download_as_bytes()
        finally:
            self.fakes[name].tokens = tokens

    def stop(self):
        for fake in self.fakes.values():
            fake.close()
