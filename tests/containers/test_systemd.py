"""examples/systemd: the unit is one that systemd takes, and as patient as the job needs."""
import re
import shutil
import subprocess

import pytest

from harness import LIMIT, REPRIEVE, ROOT

UNIT = ROOT / "examples" / "systemd" / "reprieve@.service"


def test_systemd_takes_the_unit(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    text = UNIT.read_text()
    # It looks for the program, which the tests do not install.
    (tmp_path / UNIT.name).write_text(text.replace("/usr/local/bin/reprieve", REPRIEVE))
    checked = subprocess.run(["systemd-analyze", "verify", "--man=no", tmp_path / UNIT.name], capture_output=True, text=True, timeout=LIMIT)
    assert checked.returncode == 0 and not checked.stderr, checked.stderr


def test_the_unit_gives_the_save_its_time():
    text = UNIT.read_text()
    grace = int(re.search(r"REPRIEVE_GRACE=(\d+)", text).group(1))
    assert grace < int(re.search(r"^TimeoutStopSec=(\d+)$", text, re.M).group(1))
    assert "\nKillMode=mixed\n" in text, "with control-group the job itself would get SIGTERM at once"
    assert set(re.search(r"^RestartForceExitStatus=(.*)$", text, re.M).group(1).split()) == {"74", "75"}
    assert set(re.search(r"^RestartPreventExitStatus=(.*)$", text, re.M).group(1).split()) == {"64", "78", "93", "126", "127"}


def test_a_job_that_only_crashes_is_not_started_for_ever(place):
    """What systemd would do with the unit, start after start."""
    text = UNIT.read_text()
    assert "\nStartLimitIntervalSec=0\n" in text and "\nRestart=on-failure\n" in text
    prevented = {int(code) for code in re.search(r"^RestartPreventExitStatus=(.*)$", text, re.M).group(1).split()}
    most = re.search(r"^Environment=.*\bREPRIEVE_MAX_NO_PROGRESS=(\d+)", text, re.M).group(1)
    codes = []
    while not codes or codes[-1] not in prevented:
        codes.append(place.run("sh", "-c", "exit 3", REPRIEVE_MAX_NO_PROGRESS=most).wait())
        assert len(codes) <= int(most) + 1
    assert codes == [3] * int(most) + [93]
