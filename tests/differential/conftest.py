"""The fixtures of the end-to-end tests, here too."""
import importlib.util
from pathlib import Path

_spec = importlib.util.spec_from_file_location("e2e_conftest", Path(__file__).resolve().parents[1] / "e2e" / "conftest.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

pytest_configure = _module.pytest_configure
pytest_collection_modifyitems = _module.pytest_collection_modifyitems
program = _module.program
place = _module.place
