"""Microsoft's own emulator of Blob Storage, and Microsoft's own client as the judge of what we write."""
from server import CACHE, Server, free_port, install

ACCOUNT = "devstoreaccount1"
# Not a secret: everyone's Azurite has it.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


class Azurite(Server):
    name = "azurite"
    port = None

    def start(self):
        install("azurite")
        self.port = free_port()
        self.spawn([CACHE / "node" / "node_modules" / ".bin" / "azurite-blob", "--blobHost", "127.0.0.1", "--blobPort", self.port,
                    "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"], cwd=self.path)
        self.wait_for_port(self.port)

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}/{ACCOUNT}"

    @property
    def environment(self):
        return {"AZURE_STORAGE_BLOB_ENDPOINT": self.endpoint, "AZURE_STORAGE_ACCOUNT": ACCOUNT, "AZURE_STORAGE_KEY": KEY}

    def container(self, url):
        from azure.storage.blob import ContainerClient
        name, _, prefix = url.partition("://")[2].partition("/")[2].partition("/")
        return ContainerClient(self.endpoint, name, credential=KEY), f"{prefix}/" if prefix else ""

    def make(self):
        url = f"az://{ACCOUNT}/{self.bucket_name()}/team a/run+7=x"
        self.container(url)[0].create_container()
        return url

    def objects(self, url):
        container, prefix = self.container(url)
        return {blob.name[len(prefix):]: blob.size for blob in container.list_blobs(name_starts_with=prefix)}

    def read(self, url, key):
        container, prefix = self.container(url)
        return container.download_blob(prefix + key).readall()
