"""The static build, copied with its shim into an image that has none of our libraries. REPRIEVE_STATIC_BUILD names its build folder."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from containers import Container, root_file_system, skip_without_crun
from harness import EXIT_DURABLE, ROOT, SAVER

BUILD = Path(os.environ.get("REPRIEVE_STATIC_BUILD") or ROOT / "build" / "static")


@pytest.fixture(scope="module")
def static_build():
    """Built here if it is not there; where an archive is missing, that is the reason to skip. The flags are those of the other build, so
    that its objects serve."""
    commands = [["cmake", "-G", "Ninja", "-S", ROOT, "-B", BUILD, "-DREPRIEVE_STATIC=ON", "-DREPRIEVE_TESTS=OFF", "-DREPRIEVE_WERROR=ON",
                 "-DCMAKE_C_COMPILER=gcc", *(["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else [])],
                ["ninja", "-C", BUILD, "-j2"]]
    for command in commands:
        made = subprocess.run(["nice", *map(str, command)], capture_output=True, text=True, timeout=1200)
        if "REPRIEVE_STATIC: there is no" in made.stderr:
            pytest.skip(made.stderr.strip())
        assert made.returncode == 0, made.stdout + made.stderr
    return BUILD


def test_it_needs_the_c_library_alone(static_build):
    checked = subprocess.run([ROOT / "tests" / "check_static.sh", static_build], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_it_is_hardened_as_the_other_build_is(static_build):
    checked = subprocess.run([ROOT / "tests" / "check_hardening.sh", static_build], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_what_it_installs_goes_again(static_build):
    """The bill of materials, too, which no other build has."""
    checked = subprocess.run([ROOT / "tests" / "packages.sh", "--short", static_build], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


# What lib/vssh/libssh.c of curl 8.5.0 calls: that of Ubuntu 24.04, where Debian 12's has libssh2.
LIBSSH = """
sftp_async_read sftp_async_read_begin sftp_attributes_free sftp_canonicalize_path sftp_close sftp_closedir sftp_dir_eof
sftp_file_set_nonblocking sftp_free sftp_fstat sftp_get_error sftp_init sftp_lstat sftp_mkdir sftp_new sftp_open sftp_opendir sftp_readdir
sftp_readlink sftp_rename sftp_rmdir sftp_seek64 sftp_setstat sftp_stat sftp_statvfs sftp_statvfs_free sftp_symlink sftp_unlink sftp_write
ssh_clean_pubkey_hash ssh_connect ssh_disconnect ssh_free ssh_get_error ssh_get_poll_flags ssh_get_publickey_hash ssh_get_server_publickey
ssh_key_free ssh_key_type ssh_knownhosts_entry_free ssh_new ssh_options_parse_config ssh_options_set ssh_pki_export_pubkey_base64
ssh_pki_import_privkey_file ssh_pki_import_pubkey_file ssh_scp_close ssh_scp_free ssh_scp_init ssh_scp_new ssh_scp_pull_request
ssh_scp_push_file ssh_scp_read ssh_scp_request_get_size ssh_scp_write ssh_session_get_known_hosts_entry ssh_session_update_known_hosts
ssh_set_blocking ssh_string_free_char ssh_userauth_gssapi ssh_userauth_kbdint ssh_userauth_kbdint_getnprompts ssh_userauth_kbdint_setanswer
ssh_userauth_list ssh_userauth_none ssh_userauth_password ssh_userauth_publickey ssh_userauth_publickey_auto ssh_userauth_try_publickey
ssh_version
""".split()


def test_a_curl_that_was_built_with_libssh_links_and_starts(tmp_path, static_build):
    calls = "\n".join(f"void {name}(void);" for name in LIBSSH)
    table = ", ".join(LIBSSH)
    program = tmp_path / "calls.c"
    program.write_text(f"int ssh_init(void);\nint ssh_finalize(void);\n{calls}\nvoid (*const calls[])(void) = {{{table}}};\n"
                       "int main(void) { return ssh_init() || ssh_finalize() || !calls[0]; }\n")
    subprocess.run([os.environ.get("CC", "cc"), "-o", tmp_path / "calls", program, next(static_build.rglob("libabsent.a"))], check=True, capture_output=True)
    assert subprocess.run([tmp_path / "calls"]).returncode == 0


def test_the_build_asks_which_icu_that_is(static_build):
    package = subprocess.run(["pkg-config", "--modversion", "icu-uc"], capture_output=True, text=True)
    if package.returncode:
        pytest.skip("there is no icu-uc here")
    archive = next(static_build.rglob("libabsent.a"))
    names = subprocess.run(["nm", "--defined-only", archive], check=True, capture_output=True, text=True).stdout.split()
    version = package.stdout.split('.')[0]
    found = {name for name in names if name.lower().startswith("ucnv_")}
    assert f"ucnv_open_{version}" in found and all(name.endswith(f"_{version}") for name in found), found


@pytest.fixture
def copied(tmp_path, static_build):
    """Both files in one directory, which is all that there is to install."""
    directory = tmp_path / "copied"
    directory.mkdir()
    shutil.copy(static_build / "supervisor" / "reprieve", directory)
    shutil.copy(static_build / "shim" / "libreprieve-shim.so", directory)
    for name in ("store", "work"):
        (tmp_path / name).mkdir()
        os.chmod(tmp_path / name, 0o777)
    for path in (tmp_path, *list(tmp_path.parents)[:3]):
        os.chmod(path, os.stat(path).st_mode | 0o011)
    return directory


def test_an_image_without_our_libraries(tmp_path, copied):
    skip_without_crun()
    root = root_file_system(["python3"])
    assert not list(root.glob("usr/lib/*/libcurl.so*")) + list(root.glob("usr/lib/*/libarchive.so*"))
    mounts = [(copied, "/opt/reprieve", "ro"), (tmp_path / "store", "/store", "rw"), (tmp_path / "work", "/work", "rw"),
              (os.path.dirname(SAVER), "/app", "ro")]
    env = {"REPRIEVE_STORE": "file:///store", "REPRIEVE_JOB": "copied", "REPRIEVE_CHECKPOINT_DIR": "/work/checkpoints",
           "REPRIEVE_CHECKPOINT_SIGNAL": "USR1", "REPRIEVE_QUIET_TIME": "0.2", "REPRIEVE_SHIM": "on", "REPRIEVE_STRICT": "1"}
    job = ["/opt/reprieve/reprieve", "run", "--", "python3", "-B", "/app/saver.py", "--on-signal", "--pause", "0.01"]
    first = Container(tmp_path, root, job, env=env, mounts=mounts)
    try:
        first.wait_for_output("resumes 0")
        assert first.stop() == EXIT_DURABLE, first
    finally:
        first.end()
    saved = int(first.out.split("saved ")[-1].split()[0])
    shutil.rmtree(tmp_path / "work" / "checkpoints")
    second = Container(tmp_path, root, [*job, "--steps", saved + 3], env=env, mounts=mounts)
    try:
        assert second.wait() == 0, second
        assert f"resumes {saved}" in second.out and "BAD" not in second.out, second
    finally:
        second.end()


@pytest.mark.parametrize("arguments", [["--version"], ["run", "--help"], ["explain", "profile"]])
def test_it_starts(copied, arguments):
    assert subprocess.run([copied / "reprieve", *arguments], capture_output=True).returncode == 0


def test_it_speaks_https(copied, tmp_path):
    """TLS is inside as well: a server that is none of S3's is refused for its certificate, not for want of a library."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=elsewhere", "-days", "2",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    server = subprocess.Popen(["openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key, "-quiet", "-www"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = None
        while not port:
            assert server.poll() is None
            listening = subprocess.run(["ss", "-ltnp"], capture_output=True, text=True).stdout
            ports = [line.split()[3].rpartition(":")[2] for line in listening.splitlines() if f"pid={server.pid}," in line]
            port = ports[0] if ports else None
        result = subprocess.run(
            [copied / "reprieve", "list", "--store", "s3://bucket/x"], capture_output=True, text=True, timeout=100,
            env={"PATH": os.environ["PATH"], "AWS_ENDPOINT_URL_S3": f"https://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "a",
                 "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "eu-west-1", "AWS_EC2_METADATA_DISABLED": "true"})
        assert result.returncode != 0
        assert "certificate" in result.stderr, result.stderr
    finally:
        server.kill()
        server.wait()
