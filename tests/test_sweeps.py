"""A job that fails or is refused never stops the others of its sweep."""

from __future__ import annotations

import errno
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath import errors
from gardenpath import sweeps as launching
from gardenpath import sweeps as module
from gardenpath.console import exit_on_error
from gardenpath.errors import (
    ConfigError,
    GardenpathError,
    InputError,
    MissingCorpusError,
    RunError,
    SweepStoppedError,
    TrainingStoppedError,
)
from gardenpath.models.training.checkpoints import stop_signals
from gardenpath.settings.compose import CommandLine, ConfigSource, Script, composed
from gardenpath.settings.schema import folders_for, short_names
from gardenpath.store.run_folder import RunFolder, read_failure
from gardenpath.sweeps import JobOutcome, stopped_as_a_whole, survived, sweep_jobs
from tests import small_runs
from tests.integration.commands import ROOT, call, start


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a corpus."""
    small_runs.write_corpus(tmp_path / "corpus")
    return tmp_path


def test_a_missing_corpus_stops_no_other_job(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = small_runs.arguments(folder, "model=unigram,ngram")
    given[1] = f"data.root={folder / 'absent'},{folder / 'corpus'}"
    assert call("train.py", "-m", *given) == 1
    output = capsys.readouterr().out
    assert "4 runs: 2 done, 2 failed" in output
    assert output.count("failed: ") == 2 and f"{folder / 'absent'}" in output


@pytest.mark.slow
def test_a_repeated_sweep_skips_what_is_finished(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = small_runs.arguments(folder, "model=unigram,ngram")
    assert call("train.py", "-m", *given) == 0
    capsys.readouterr()
    paths = sorted((folder / "runs").rglob("result.json"))
    before = [path.stat().st_mtime_ns for path in paths]
    assert call("train.py", "-m", *given, "seed=1,2") == 0
    output = capsys.readouterr().out
    assert output.count("is finished already") == 2 and "4 runs: 4 done" in output
    assert [path.stat().st_mtime_ns for path in paths] == before
    assert call("train.py", "-m", *given, "existing=refuse") == 1
    assert call("train.py", "-m", *given, "existing=overwrite") == 0
    assert [path.stat().st_mtime_ns for path in paths] != before


@pytest.mark.slow
def test_an_evaluation_that_fails_stops_no_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = small_runs.run(folder, "model=unigram").path
    two = small_runs.run(folder, "model=ngram").path
    common = [f"output={folder / 'out'}", f"paths.cache={folder / 'cache'}",
              f"paths.surprisals={folder / 'store.sqlite'}"]  # fmt: skip
    runs = f"run={folder / 'absent'},{one},{two}"
    assert call("evaluate.py", "-m", "task=perplexity", runs, *common) == 1
    output = capsys.readouterr().out
    assert "3 jobs: 2 done, 1 failed" in output and "absent" in output
    assert len(list((folder / "out").rglob("perplexity.csv"))) == 2


def test_outcomes_travel_between_processes() -> None:
    failed = pickle.loads(pickle.dumps(JobOutcome.failed("no\n  memory")))  # noqa: S301
    assert failed.failure == "no memory" and math.isinf(failed)
    assert pickle.loads(pickle.dumps(JobOutcome(1.5))) == 1.5  # noqa: S301


def test_an_error_of_the_system_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def full() -> float:
        raise OSError(errno.ENOSPC, "full", "/a")

    assert survived(full).failure == "/a: full (free some space, or choose another disk)"
    assert "Traceback" not in capsys.readouterr().err


def test_an_interruption_is_not_the_failure_of_one_job() -> None:
    def interrupted() -> float:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise RunError("interrupted") from None

    with pytest.raises(SystemExit):
        survived(interrupted)
    assert survived(lambda: None).failure is None


@pytest.mark.slow
def test_a_damaged_or_useless_run_is_not_skipped_as_finished(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = small_runs.arguments(folder, "model=lstm", *small_runs.NEURAL, "trainer.max_epochs=1")
    assert call("train.py", "-m", *given, "seed=1,2") == 0
    one, two = (folder / "runs" / "text" / "lstm" / f"seed{number}" for number in (1, 2))
    weights = bytearray((one / "weights.safetensors").read_bytes())
    weights[-5] ^= 1
    (one / "weights.safetensors").write_bytes(weights)
    # As older versions did, without a manifest.
    (two / "manifest.json").unlink()
    result = json.loads((two / "result.json").read_text(encoding="utf-8"))
    result["test"]["loss"] = math.inf
    (two / "result.json").write_text(json.dumps(result), encoding="utf-8")
    capsys.readouterr()
    assert call("train.py", "-m", *given, "seed=1,2") == 1
    output = capsys.readouterr().out
    assert "2 runs: 2 failed" in output and "is finished already" not in output
    assert f"failed: {one / 'weights.safetensors'}: is damaged" in output
    assert f"failed: {two}: the training diverged: the test loss is inf" in output
    assert call("train.py", "-m", *given, "seed=1,2", "existing=overwrite") == 0


@pytest.mark.slow
def test_the_reason_of_a_divergence_names_the_folder_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = small_runs.arguments(
        folder, "model=lstm", *small_runs.NEURAL, "trainer.gradient_clip=0",
        "model.optimiser.learning_rate=1e30",
    )  # fmt: skip
    path = folder / "runs" / "text" / "lstm" / "seed1"
    assert call("train.py", "-m", *given) == 1
    capsys.readouterr()
    assert call("train.py", "-m", *given) == 1
    output = capsys.readouterr().out
    again = "is not resumed, because it would diverge again: training diverged at step "
    assert f"failed: {path}: {again}" in output


# ----------------------------------------------------------------------------
# Sweeps in parallel processes and in queues: own folders, own failures, the same results.


LSTM = ("model=lstm", *small_runs.NEURAL, "trainer.max_epochs=2")
LOCAL = ("hydra/launcher=local", "hydra.launcher.n_jobs=2")


def _run_path(folder: Path, rate: str) -> Path:
    return folder / "runs" / "text" / "lstm" / f"learning_rate={rate}" / "seed1"


def _require_same(one: Path, other: Path) -> None:
    for name in ("weights.safetensors", "vocabulary.json", "result.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    assert small_runs.metrics(RunFolder(one)) == small_runs.metrics(RunFolder(other))


@pytest.mark.slow
def test_parallel_jobs_write_their_own_folders_and_fail_alone(folder: Path) -> None:
    """Two learning rates at once equal each alone; a third job is refused, and stops neither."""
    taken = _run_path(folder, "0.5")
    small_runs.run(folder, "model=unigram", f"run_dir={taken}")
    before = (taken / "weights.safetensors").read_bytes()
    given = small_runs.arguments(folder, *LSTM, "model.optimiser.learning_rate=0.5,1e-2,1e-5")
    done = start("train.py", "-m", *given, *LOCAL, folder=folder)
    assert done.returncode == 1, done.stderr
    assert "3 runs: 2 done, 1 failed" in done.stdout
    assert f"failed: {taken} contains a finished run with other settings: " in done.stdout
    assert "Traceback" not in done.stderr
    assert (taken / "weights.safetensors").read_bytes() == before
    for rate in ("0.01", "1e-5"):
        alone = folder / "alone" / rate
        chosen = f"model.optimiser.learning_rate={rate}"
        small_runs.run(folder, *LSTM, chosen, f"run_dir={alone}")
        _require_same(_run_path(folder, rate), alone)


def _owner(path: Path, seconds: int = 120) -> int:
    """The process that is training in a run folder, once it has trained for an epoch."""
    for _ in range(seconds * 10):
        if (path / "metrics.csv").is_file():
            return int(json.loads((path / ".lock.json").read_text(encoding="utf-8"))["pid"])
        time.sleep(0.1)
    raise AssertionError(f"nothing is training in {path}")


@pytest.mark.slow
def test_a_job_whose_process_is_killed_fails_alone_and_is_resumed(folder: Path) -> None:
    many = (*LSTM, "trainer.max_epochs=30", "trainer.early_stopping=0")
    given = small_runs.arguments(folder, *many, "model.optimiser.learning_rate=1e-3,1e-4")
    command = [sys.executable, str(ROOT / "train.py"), "-m", *given, *LOCAL]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True) as sweep:
        os.kill(_owner(_run_path(folder, "0.001")), signal.SIGKILL)
        output, _ = sweep.communicate(timeout=240)
    assert sweep.returncode == 1
    assert "2 runs: 1 done, 1 failed" in output
    assert "its process ended unexpectedly (SIGKILL" in output
    # The same command again, in this process: one is skipped, the other is continued.
    untouched = (_run_path(folder, "0.0001") / "result.json").stat().st_mtime_ns
    assert call("train.py", "-m", *given) == 0
    assert (_run_path(folder, "0.0001") / "result.json").stat().st_mtime_ns == untouched
    alone = folder / "alone"
    small_runs.run(folder, *many, "model.optimiser.learning_rate=1e-3", f"run_dir={alone}")
    _require_same(_run_path(folder, "0.001"), alone)


@pytest.mark.slow
def test_submitit_runs_jobs_in_its_local_queue(folder: Path) -> None:
    given = small_runs.arguments(folder, "model=unigram,ngram")
    wrong = "data.min_count=1,2"
    small_runs.run(folder, "model=ngram", f"run_dir={folder}/runs/text/unigram/min_count=2/seed1")
    done = start("train.py", "-m", *given, wrong, "hydra/launcher=submitit_local", folder=folder)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "4 jobs submitted" in done.stdout and "4 runs: 3 done, 1 failed" in done.stdout
    alone = folder / "alone"
    small_runs.run(folder, "model=ngram", "data.min_count=2", f"run_dir={alone}")
    path = folder / "runs" / "text" / "ngram" / "min_count=2" / "seed1"
    assert (path / "weights.safetensors").read_bytes() == (
        alone / "weights.safetensors"
    ).read_bytes()


@pytest.mark.parametrize("launcher", ["slurm", "submitit_local"])
def test_a_launcher_that_is_not_installed_is_named(
    launcher: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    launching.require_launcher([f"hydra/launcher={launcher}"])
    monkeypatch.setattr(launching, "find_spec", lambda _: None)
    package = "hydra-submitit-launcher"
    with pytest.raises(ConfigError, match=rf"{package}: pip install 'gardenpath\[launchers\]'"):
        launching.require_launcher([f"hydra/launcher={launcher}"])
    launching.require_launcher(["hydra/launcher=local"])


# ----------------------------------------------------------------------------
# A signal ends a whole sweep with one message, leaves no process behind, and a repeat goes on.


LONG = ("model=lstm", *small_runs.NEURAL, "trainer.max_epochs=100000", "trainer.early_stopping=0")


def _sweep(folder: Path, *launcher: str) -> subprocess.Popen[str]:
    small_runs.write_corpus(folder / "corpus")
    given = small_runs.arguments(folder, *LONG, "seed=1,2,3")
    return subprocess.Popen(
        [sys.executable, str(ROOT / "train.py"), "-m", *given, *launcher],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _seed(folder: Path, number: int) -> RunFolder:
    return RunFolder(folder / "runs" / "text" / "lstm" / f"seed{number}")


def _trained_by(run: RunFolder) -> int:
    """The process that trains a run, once it has trained for an epoch."""
    for _ in range(1800):
        if (run / "metrics.csv").is_file():
            return int(json.loads((run.path / ".lock.json").read_text(encoding="utf-8"))["pid"])
        time.sleep(0.1)
    raise AssertionError(f"nothing is training in {run.path}")


def _require_ended(process: int) -> None:
    for _ in range(600):
        state = Path(f"/proc/{process}/stat")
        if not state.exists() or state.read_text(encoding="utf-8").split(")")[1].split()[0] == "Z":
            return
        time.sleep(0.1)
    raise AssertionError(f"process {process} goes on")


@pytest.mark.slow
@pytest.mark.parametrize("launcher", [(), LOCAL])
def test_a_signal_ends_all_jobs(tmp_path: Path, launcher: tuple[str, ...]) -> None:
    """The jobs that run write their checkpoints, and the last one does not begin."""
    running = [1, 2] if launcher else [1]
    with _sweep(tmp_path, *launcher) as sweep:
        processes = [_trained_by(_seed(tmp_path, number)) for number in running]
        sweep.send_signal(signal.SIGTERM)
        _, errors = sweep.communicate(timeout=120)
    assert sweep.returncode == 128 + signal.SIGTERM
    assert errors.splitlines()[-1] == (
        "the sweep was stopped by SIGTERM; run the same command again to continue it"
    )
    assert "Traceback" not in errors
    for process in processes:
        _require_ended(process)
    for number in running:
        failure = read_failure(_seed(tmp_path, number))
        assert failure is not None and failure.kind == "interrupted"
        assert "checkpoint written" in failure.message
    assert not _seed(tmp_path, 3).is_begun


@pytest.mark.slow
def test_jobs_end_with_a_sweep_that_is_killed(tmp_path: Path) -> None:
    """They write their checkpoints, so that they do not block the next attempt."""
    with _sweep(tmp_path, *LOCAL) as sweep:
        processes = [_trained_by(_seed(tmp_path, number)) for number in (1, 2)]
        sweep.kill()
        for process in processes:
            _require_ended(process)
    for number in (1, 2):
        failure = read_failure(_seed(tmp_path, number))
        assert failure is not None and failure.kind == "interrupted"


def test_a_signal_between_jobs_and_one_within(tmp_path: Path) -> None:
    with pytest.raises(SweepStoppedError, match="SIGTERM"), stopped_as_a_whole():
        os.kill(os.getpid(), signal.SIGTERM)
    with (
        pytest.raises(SweepStoppedError, match="SIGUSR2"),
        stopped_as_a_whole(),
        stop_signals(RunFolder(tmp_path)),
    ):
        os.kill(os.getpid(), signal.SIGUSR2)
    with pytest.raises(SweepStoppedError, match="SIGTERM"), stopped_as_a_whole():
        raise TrainingStoppedError("another process was stopped", signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_sweep_that_is_a_job_of_slurm_is_requeued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "scontrol"
    command.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/requeued\n', encoding="utf-8")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    monkeypatch.delenv("SLURM_ARRAY_JOB_ID", raising=False)
    for sent in (signal.SIGTERM, signal.SIGUSR1):
        with pytest.raises(SweepStoppedError), stopped_as_a_whole():
            os.kill(os.getpid(), sent)
    assert (tmp_path / "requeued").read_text(encoding="utf-8") == "requeue 12\n"


@pytest.mark.parametrize("code", [-signal.SIGTERM, 1])
def test_slurm_may_end_the_command_that_requeues_a_job(tmp_path: Path, code: int) -> None:
    """The handler of submitit then raises an error, but the job is requeued all the same."""

    def handler(_number: int, _frame: object) -> None:
        raise subprocess.CalledProcessError(code, ["scontrol", "requeue", "3"])

    before = signal.signal(signal.SIGUSR1, handler)
    expected = TrainingStoppedError if code < 0 else subprocess.CalledProcessError
    try:
        with pytest.raises(expected), stop_signals(RunFolder(tmp_path)):
            os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


# ----------------------------------------------------------------------------
# The jobs of a sweep, and the folders that each of them writes.


RATES = "model.optimiser.learning_rate=1e-2,1e-5"


def _targets(*arguments: str, script: Script = "train") -> list[str]:
    line = CommandLine(ConfigSource(script), list(arguments), is_sweep=True)
    return [job.target for job in sweep_jobs(line)]


def test_settings_that_differ_are_in_the_names_of_folders() -> None:
    assert _targets(RATES, "model=lstm,rnng") == [
        "runs/toy_english/lstm/learning_rate=0.01/seed1",
        "runs/toy_english/rnng/learning_rate=0.01/seed1",
        "runs/toy_english/lstm/learning_rate=1e-5/seed1",
        "runs/toy_english/rnng/learning_rate=1e-5/seed1",
    ]
    assert _targets("trainer=cpu,auto") == [
        "runs/toy_english/lstm/trainer=cpu/seed1", "runs/toy_english/lstm/trainer=auto/seed1",
    ]  # fmt: skip


def test_folders_of_corpora_models_and_seeds_are_as_they_were() -> None:
    found = _targets("data=toy_english,toy_mandarin", "model=lstm", "model.size=tiny", "seed=1,2")
    corpora = ("toy_english", "toy_mandarin")
    assert found == [f"runs/{data}/lstm/seed{seed}" for data in corpora for seed in (1, 2)]
    assert _targets("experiment=reflexives") == [
        "runs/reflexives/ptb/lstm/seed1",
        "runs/reflexives/ptb/rnng/seed1",
        "runs/reflexives/wikipedia/ngram/seed1",
        "runs/reflexives/wikipedia/lstm/seed1",
    ]


def test_a_job_keeps_its_folder_if_values_are_added() -> None:
    more = _targets("model.optimiser.learning_rate=0.5,1e-5,0.01,3", "seed=1,2,3")
    assert set(_targets(RATES, "seed=1,2")) < set(more)


@pytest.mark.slow
def test_settings_of_a_grid_are_named_whichever_blocks_are_run() -> None:
    given = ("experiment=mandarin", "trainer.max_epochs=1,2")
    assert set(_targets(*given, "model=lstm")) < set(_targets(*given))


@pytest.mark.parametrize(
    "arguments",
    [("run_dir=here", "seed=1,2"), ("model.optimiser.learning_rate=1e-2,0.01",), ("seed=1,1",)],
)
def test_jobs_that_would_share_a_folder_are_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=r"2 jobs would write .*; list each value once"):
        _targets(*arguments)


def test_a_folder_of_ones_own_may_name_the_settings() -> None:
    found = _targets(RATES, "run_dir=out/${_variant}seed${seed}", "seed=1")
    assert found == ["out/learning_rate=0.01/seed1", "out/learning_rate=1e-5/seed1"]


def test_evaluations_write_folders_of_their_own() -> None:
    found = _targets("run=runs/a,runs/b", "suite=demo,mandarin", "output=out", script="evaluate")
    assert found == [f"out/run=runs+{run}/{s}" for run in "ab" for s in ("demo", "mandarin")]
    assert _targets("suite=demo,mandarin", script="evaluate") == [
        "results/demo",
        "results/mandarin",
    ]
    with pytest.raises(ConfigError, match=r"2 jobs would write all.tsv: .* leave task.file= out"):
        _targets("task=surprisal", "input=x", "task.file=all.tsv", "run=a,b", script="evaluate")


def test_hundreds_of_jobs_compose_only_their_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def counted(source: ConfigSource, overrides: tuple[str, ...]) -> object:
        calls.append(overrides)
        return composed(source, overrides)

    monkeypatch.setattr(module, "composed", counted)
    seeds = ",".join(map(str, range(1, 61)))
    rates = "model.optimiser.learning_rate=0.1,0.2,0.3"
    found = _targets("model=lstm,rnng", "data=toy_english,toy_mandarin", f"seed={seeds}", rates)
    assert len(set(found)) == 720 and len(calls) == 4


# ----------------------------------------------------------------------------
# Messages of errors name place, problem and remedy.


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("is odd", path="a.txt"), "a.txt: is odd"),
        (InputError("is odd", path="a.txt", line=3), "a.txt:3: is odd"),
        (InputError("is odd", path="a", line=3, remedy="mend it"), "a:3: is odd (mend it)"),
    ],
)
def test_input_errors_name_file_line_and_remedy(error: InputError, message: str) -> None:
    assert str(error) == message


def test_a_missing_corpus_says_all_that_helps() -> None:
    error = MissingCorpusError(
        corpus="The Treebank",
        looked_for="/no/where",
        licence="LDC99T42 at the LDC",
        setting="data.root=/path",
    )
    for part in ("The Treebank", "/no/where", "LDC99T42", "data.root=/path", "data=toy_english"):
        assert part in str(error)


def test_config_errors_list_all_mistakes() -> None:
    assert str(ConfigError(["one"])).startswith("1 mistake in")
    message = str(ConfigError(["one", "two"]))
    assert message.splitlines() == ["2 mistakes in the configuration:", "  - one", "  - two"]


def test_every_error_is_one_that_scripts_report() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    exceptions = [kind for kind in kinds if issubclass(kind, Exception)]
    assert len(exceptions) >= 7
    assert all(issubclass(kind, GardenpathError) for kind in exceptions)


def test_scripts_print_the_message_and_exit_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught, exit_on_error():
        raise InputError("is odd", path="a.txt")
    assert caught.value.code == 2
    assert capsys.readouterr().err == "error: a.txt: is odd\n"


def test_mistakes_of_the_program_keep_their_traceback() -> None:
    with pytest.raises(ZeroDivisionError), exit_on_error():
        _ = 1 / 0


# ----------------------------------------------------------------------------
# Folders that name the settings in which the jobs of a sweep differ.


def _folder(value: object) -> str:
    return folders_for({"data.root": value}, {"data.root": "root"})


@pytest.mark.parametrize(
    ("value", "folder"),
    [
        (0.01, "root=0.01/"),
        (1e-05, "root=1e-5/"),
        (2.0, "root=2/"),
        (2, "root=2/"),
        (True, "root=true/"),
        (None, "root=null/"),
        ("corpora/ptb", "root=corpora+ptb/"),
        ([1, 2], "root=1+2/"),
        ("-1", "root=-1/"),
    ],
)
def test_values_are_written_in_one_way(value: object, folder: str) -> None:
    assert _folder(value) == folder


@given(st.text(min_size=1, max_size=300))
def test_names_are_safe_and_short(text: str) -> None:
    folder = _folder(text)
    assert folder.count("/") == 1 and folder.endswith("/")
    assert len(folder.encode()) <= 81 and not set(folder) & set("\0\n '\"$*?,;:()[]{}\\")


@given(st.text(max_size=120), st.text(max_size=120))
def test_different_values_have_different_folders(one: str, other: str) -> None:
    assert (_folder(one) == _folder(other)) == (one == other)


def test_paths_and_plus_signs_are_kept_apart() -> None:
    assert len({_folder(one) for one in ("a/b", "a+b", "/a/b", "a/b/", "a_b", "a b")}) == 6


def test_names_are_as_short_as_they_remain_different() -> None:
    keys = ["model.optimiser.learning_rate", "model.network.dropout", "data.dropout", "trainer"]
    assert list(short_names(keys).values()) == [
        "learning_rate", "network.dropout", "data.dropout", "trainer",
    ]  # fmt: skip


def test_the_order_on_the_command_line_does_not_matter() -> None:
    names = short_names(["a.x", "b.y"])
    assert folders_for({"b.y": 2, "a.x": 1}, names) == folders_for({"a.x": 1, "b.y": 2}, names)
