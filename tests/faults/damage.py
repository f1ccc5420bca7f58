"""Spoils a file:// store in ways that a disk, a crash or an enemy would. The layout is that of storage/FORMAT.md."""
import hashlib
import json


def read_record(path):
    """Header and body of a small object."""
    header, _, body = path.read_bytes().partition(b"\n")
    return json.loads(header), json.loads(body)


def write_record(path, header, body):
    """Writes it with a digest that is right: what an enemy with write access to the store would do."""
    text = json.dumps(body, separators=(",", ":")).encode()
    header = {**header, "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
    path.chmod(0o644) if path.exists() else None
    path.write_bytes(json.dumps(header, separators=(",", ":")).encode() + b"\n" + text)


def forge(path, change):
    """Applies change(body) to a record; its entries are put back in the order that the format asks for."""
    header, body = read_record(path)
    change(body)
    if "entries" in body:
        body["entries"].sort(key=lambda entry: entry["path"].encode())
    write_record(path, header, body)


def copy_snapshot(snapshots, old, new):
    """The same content once more, as another snapshot."""
    header, body = read_record(snapshots / f"{old}.json")
    attempt, sequence = map(int, new.split("-"))
    body.update(id=new, attempt=attempt, sequence=sequence, parent=old, nonce="0" * 32)
    write_record(snapshots / f"{new}.json", header, body)


def flip(path, position):
    """One bit of one byte; `position` may be negative."""
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(data)


def truncate(path, size):
    path.chmod(0o644)
    with open(path, "r+b") as file:
        file.truncate(size)


def add_link(entry_path, target):
    def change(body):
        like = body["entries"][0]
        body["entries"].append({"path": entry_path, "type": "symlink", "target": target, "mode": 0o777, "mtime": like["mtime"]})
    return change


def rename_data(new):
    """The newest checkpoint's data shall be restored to another path."""
    def change(body):
        entry = [entry for entry in body["entries"] if entry["path"].endswith("/data")][-1]
        entry["path"] = new
    return change


def link_then_write_through(body):
    add_link("aa", "..")(body)
    rename_data("aa/evil")(body)


def hardlink_out(body):
    body["entries"].append({"path": "zz", "type": "hardlink", "target": "../../secret"})
