"""The bill of materials of a release: where a package's copyright file is."""
import importlib.util

import pytest
from harness import ROOT


@pytest.fixture
def bill():
    spec = importlib.util.spec_from_file_location("bill_of_materials", ROOT / "supervisor" / "packaging" / "bill_of_materials.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_link_that_leads_nowhere_is_made_good_by_another_package_of_the_source(bill, tmp_path):
    for name in ("libssl-dev", "libssl3t64", "zlib1g"):
        (tmp_path / name).mkdir()
    (tmp_path / "libssl-dev" / "copyright").symlink_to("../libssl3/copyright")
    (tmp_path / "libssl3t64" / "copyright").write_text("the text")
    (tmp_path / "zlib1g" / "copyright").write_text("another")
    installed = [("zlib1g", "zlib"), ("libssl3t64", "openssl"), ("libssl-dev", "openssl")]
    facts = {"name": "libssl-dev", "source": "openssl"}
    assert bill.copyright_file(facts, installed, tmp_path).read_text() == "the text"
    (tmp_path / "libssl-dev" / "copyright").unlink()
    (tmp_path / "libssl-dev" / "copyright").write_text("its own")
    assert bill.copyright_file(facts, installed, tmp_path).read_text() == "its own"
    with pytest.raises(SystemExit, match="no copyright file of libxml2"):
        bill.copyright_file({"name": "libxml2", "source": "libxml2"}, installed, tmp_path)
    assert ["libc6", "glibc"] in bill.installed_packages()
