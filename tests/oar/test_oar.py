"""Jobs under a real OAR: announced their end by --checkpoint, submitted again by exit code 99, resumed."""
import json
import re
from pathlib import Path

import pytest
from harness import PYTHON, REPRIEVE, ROOT, SAVER

# A job ends 175 s before its time, and more than 60 s after it has begun: before that OAR does not submit it again.
LIMITS = ("-l", "resource_id=1,walltime=0:4:0", "--checkpoint", "170", "-t", "idempotent")


def logs(path):
    return "\n".join(each.read_text(errors="replace") for each in sorted(path.glob("log*"), key=lambda each: int(each.suffix[1:])))


@pytest.mark.parametrize("name", ["single", "array"])
def test_an_example_is_submitted_again_and_resumes(oar, tmp_path, name):
    """Under another number; that of its array stays."""
    tmp_path.chmod(0o755)
    tmp_path.parent.chmod(0o755)
    script = tmp_path / "start"
    # The first start trains on and on; the second one ends with what it resumed.
    script.write_text(f"""#!/bin/bash
export PATH={Path(REPRIEVE).parent}:/usr/bin:/bin REPRIEVE_STORE=file://{tmp_path}/store REPRIEVE_NOTICE=none REPRIEVE_QUIET_TIME=0.2
steps=100000
[ -e "started-$OAR_ARRAY_INDEX" ] && steps=1
touch "started-$OAR_ARRAY_INDEX"
exec {ROOT}/examples/oar/{name}.sh {PYTHON} {SAVER} --pause 0.2 --steps "$steps"
""")
    script.chmod(0o755)
    count = 2 if name == "array" else 1
    first = oar.submit(tmp_path, script, *LIMITS, *(("--array", count) if name == "array" else ()))
    assert len(first) == count
    known = len(oar.jobs())
    oar.wait(f"the others\n{logs(tmp_path)}", lambda: len(oar.jobs()) == known + count, 240)
    oar.wait("all to be over", lambda: all(state in ("Terminated", "Error") for state in oar.jobs().values()), 120)
    text = logs(tmp_path)
    assert text.count("SIGUSR2 (--checkpoint)") == count and text.count("(exit 99)") == count, text
    assert "BAD" not in text and len(re.findall(r"^finished \d", text, re.M)) == count, text
    assert len([step for step in re.findall(r"^resumes (\d+)$", text, re.M) if int(step) > 0]) == count, text
    for index in range(1, count + 1):
        found = oar.call(REPRIEVE, "list", "--job", f"oar-{first[0]}_{index}", "--store", f"file://{tmp_path}/store", "--json")
        assert json.loads(found)
