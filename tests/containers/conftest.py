"""The fixtures of the end-to-end tests, for containers."""
import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

_spec = importlib.util.spec_from_file_location("e2e_conftest", HERE.parent / "e2e" / "conftest.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

pytest_configure = _module.pytest_configure
pytest_collection_modifyitems = _module.pytest_collection_modifyitems
program = _module.program
place = _module.place
