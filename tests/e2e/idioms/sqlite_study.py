"""Trials in a SQLite database that stays open, as Optuna's RDB storage keeps them: sqlite_study.py DIR delete|wal"""
import sqlite3
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
study = sqlite3.connect(out / "study.db", isolation_level=None)
study.execute(f"PRAGMA journal_mode={sys.argv[2]}")
study.execute("CREATE TABLE IF NOT EXISTS trials (number INTEGER PRIMARY KEY, value REAL)")
study.execute("CREATE TABLE IF NOT EXISTS trial_params (number INTEGER REFERENCES trials, name TEXT, value REAL)")
if study.execute("PRAGMA integrity_check").fetchone() != ("ok",):
    raise SystemExit("the database is damaged")
done, = study.execute("SELECT COUNT(*) FROM trials").fetchone()
params, = study.execute("SELECT COUNT(*) FROM trial_params").fetchone()
if params != 2 * done:
    raise SystemExit(f"{done} trials have {params} parameters")
model = toy.Model()
model.step, model.weight = done, toy.weight_after(done)
model.resumed()

for step, loss in model.steps():
    study.execute("BEGIN")
    study.execute("INSERT INTO trials VALUES (?, ?)", (step, loss))
    study.execute("INSERT INTO trial_params VALUES (?, 'lr', ?)", (step, loss / 2))
    study.execute("INSERT INTO trial_params VALUES (?, 'width', ?)", (step, loss * 2))
    study.execute("COMMIT")
    toy.say("saved", step)
model.final()
