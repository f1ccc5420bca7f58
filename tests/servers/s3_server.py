"""Servers that speak S3: what boto3, as the other side's judge, does with them."""
from server import Server, free_port, install, split


class S3Server(Server):
    access_key, secret_key, region = "TESTKEY", "TESTSECRET", "us-east-1"
    port = None

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self):
        return {"AWS_ENDPOINT_URL_S3": self.endpoint, "AWS_ACCESS_KEY_ID": self.access_key, "AWS_SECRET_ACCESS_KEY": self.secret_key,
                "AWS_REGION": self.region, "AWS_EC2_METADATA_DISABLED": "true"}

    @property
    def client(self):
        import boto3
        from botocore.config import Config
        return boto3.client("s3", endpoint_url=self.endpoint, region_name=self.region, aws_access_key_id=self.access_key,
                            aws_secret_access_key=self.secret_key, config=Config(
                                s3={"addressing_style": "path"}, request_checksum_calculation="when_required",
                                response_checksum_validation="when_required"))

    def make(self):
        bucket = self.bucket_name()
        self.client.create_bucket(Bucket=bucket)
        return f"s3://{bucket}/team a/run+7=x"

    def objects(self, url):
        bucket, prefix = split(url)
        found = {}
        for page in self.client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            found.update({item["Key"][len(prefix):]: item["Size"] for item in page.get("Contents", [])})
        return found

    def read(self, url, key):
        bucket, prefix = split(url)
        return self.client.get_object(Bucket=bucket, Key=prefix + key)["Body"].read()


class Moto(S3Server):
    name = "moto"

    def start(self):
        install("python")
        from server import CACHE
        self.port = free_port()
        self.spawn([CACHE / "python" / "bin" / "moto_server", "-H", "127.0.0.1", "-p", self.port])
        self.wait_for_port(self.port)
