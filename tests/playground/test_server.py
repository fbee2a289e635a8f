"""Requests of the page are checked before a model sees them."""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gardenpath.eval.display import models_in_order
from gardenpath.playground import HOST, bound
from gardenpath.playground.models import beginnings_of
from gardenpath.playground.server import (
    MOST_BYTES,
    OWN_ASSETS,
    RefusedRequestError,
    sentence_request,
)
from gardenpath.playground.settings import (
    PlaygroundLimits,
    PlaygroundSettings,
    playground_settings_of,
)
from gardenpath.runs.find import load
from tests.adopted import tiny_models
from tests.documented.pages import ROOT
from tests.playground.serving import Served, served, settings_for
from tests.toy_runs import NARROW_SEARCH, run_of

LIMITS = PlaygroundLimits(characters=30, words=4, models=2)


def _body(**content: object) -> bytes:
    return json.dumps({"runs": ["a"], "sentences": ["the cat"], **content}).encode()


def test_spaces_empty_sentences_and_repeated_models_do_not_count() -> None:
    found = sentence_request(_body(runs=["a", "a"], sentences=["  the\t cat ", " "]), LIMITS)
    assert (found.runs, found.sentences) == (("a",), ("the cat",))


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "JSON"),
        (b"\xff", 400, "the request"),
        (b"[]", 400, "mapping"),
        (b"[" * 5000 + b"]" * 5000, 400, "the request"),
        (_body(runs="a"), 400, "runs must be a list"),
        (_body(sentences=[1]), 400, "sentences must be a list"),
        (_body(runs=["a", "b", "c"]), 400, "at most 2"),
        (_body(sentences=["a", "b", "c"]), 400, "at most 2"),
        (_body(sentences=["x" * 31]), 413, "31 characters; the playground takes at most 30"),
        (_body(sentences=["a b c d e"]), 413, "5 words; the playground takes at most 4"),
    ],
)
def test_other_requests_are_refused(body: bytes, status: int, said: str) -> None:
    with pytest.raises(RefusedRequestError) as caught:
        sentence_request(body, LIMITS)
    assert caught.value.status == status and said in str(caught.value)


# ----------------------------------------------------------------------------
# The server of the playground: what it answers, and whom it refuses.


# What a browser sends when somebody clicks on a link.
NAVIGATION = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
SENTENCE = "the author knows the senator ."
VARIANT = "the authors know the senator ."


def _result(events: list[dict[str, Any]]) -> dict[str, Any]:
    return next(one for one in events if one["type"] == "result")


@pytest.mark.parametrize("family", ["ngram", "lstm", "rnng", "plm"])
def test_numbers_are_those_of_the_api(playground: Served, folder: Path, family: str) -> None:
    events = playground.events(family, sentences=[SENTENCE, VARIANT])
    run = load(playground.name_of(family), device="cpu", search=NARROW_SEARCH)
    frame = run.surprisal([SENTENCE, VARIANT], allow_unknown=True)
    cells = [cell for one in _result(events)["variants"] for cell in one["cells"]]
    assert [cell["word"] for cell in cells] == list(frame["word"])
    assert [cell["bits"] for cell in cells] == pytest.approx(
        list(frame["surprisal_bits"]), abs=1e-4
    )
    assert [cell["seen"] for cell in cells] == list(frame["seen"])
    if run.is_syntactic:
        entropies = [cell["columns"]["entropy_bits"] for cell in cells]
        assert entropies == pytest.approx(list(frame["entropy_bits"]), abs=1e-3)


def test_words_of_a_search_arrive_one_by_one_with_their_parses(playground: Served) -> None:
    events = playground.events("rnng", sentences=[SENTENCE])
    kinds = [one["type"] for one in events if one["type"] not in ("waiting", "loading")]
    assert kinds == ["start", *["word"] * 6, "result", "done"]
    words = [one for one in events if one["type"] == "word"]
    assert [one["word"] for one in words] == list(range(6))
    final = _result(events)["variants"][0]
    for place, one in enumerate(words):
        assert one["bits"] == pytest.approx(final["cells"][place]["bits"], abs=1e-4)
        assert one["columns"]["entropy_bits"] >= 0
        shares = [share for share, _ in one["parses"]]
        assert shares and shares == sorted(shares, reverse=True) and sum(shares) <= 1 + 1e-9
        # As many words as have been read.
        assert all(
            len(re.findall(r"[^\s()]+(?=[\s)]|$)", text)) > place for _, text in one["parses"]
        )


def test_unknown_words_are_marked_before_anything_is_computed(playground: Served) -> None:
    names = [playground.name_of(family) for family in ("lstm", "rnng")]
    asked = {"runs": names, "sentences": ["the xylograph knows the senator ."]}
    status, _, body = playground.ask("/api/seen", asked)
    found = json.loads(body)
    assert status == 200 and set(found) == set(names)
    for one in found.values():
        assert one["words"][0][1] == "xylograph"
        assert one["seen"][0][1] is False and one["seen"][0][0] is True
        assert one["seen_as"][0][1].startswith("<unk")


def test_text_is_divided_as_the_corpus_is(playground: Served) -> None:
    cells = _result(playground.events("lstm", sentences=["The author knows the senator."]))
    assert [one["word"] for one in cells["variants"][0]["cells"]] == [*SENTENCE.split(), "</s>"]


def test_a_model_of_others_can_be_added(playground: Served, tmp_path: Path) -> None:
    folder = tmp_path / "tiny-gpt2"
    tokeniser = tiny_models.tokeniser("gpt2")
    tokeniser.save_pretrained(folder)
    tiny_models.model("gpt2", len(tokeniser)).float().save_pretrained(folder)
    status, _, body = playground.ask("/api/models", {"reference": f"hf:{folder}"})
    (added,) = json.loads(body)["models"]
    assert status == 200 and added["adopted"] and added["name"] in playground.shelf.models
    # Text is known as it is, so that examples fit without a look at the tokeniser.
    asked = {"runs": [added["name"]], "sentences": []}
    _, _, body = playground.ask("/api/examples", asked)
    assert {one["unknown"] for one in json.loads(body)["examples"]} == {0}
    asked = {"runs": [added["name"]], "sentences": [SENTENCE]}
    _, _, body = playground.ask("/api/surprisal", asked)
    cells = _result([json.loads(line) for line in body.splitlines()])["variants"][0]["cells"]
    frame = load(f"hf:{folder}", device="cpu").surprisal(SENTENCE)
    assert [one["bits"] for one in cells[:-1]] == pytest.approx(
        list(frame["surprisal_bits"])[: len(cells) - 1], abs=1e-4
    )


def test_mostly_unknown_words_are_a_warning(playground: Served) -> None:
    events = playground.events("lstm", sentences=["qq ww ee rr"])
    start = next(one for one in events if one["type"] == "start")
    assert "100% of 4 words are unknown" in start["warning"]
    assert all(cell["bits"] is not None for cell in _result(events)["variants"][0]["cells"])


def test_a_sentence_that_is_too_long_is_refused_politely(playground: Served) -> None:
    asked = {"runs": [playground.name_of("lstm")], "sentences": ["a " * 5000]}
    for path in ("/api/surprisal", "/api/seen"):
        status, _, body = playground.ask(path, {**asked, "sentences": ["x" * 10_000]})
        assert status == 413
        assert "10,000 characters; the playground takes at most 1,000" in json.loads(body)["error"]
    huge = b" " * (MOST_BYTES + 1)
    assert playground.ask("/api/seen", huge)[0] == 413
    playground.events("lstm", sentences=[SENTENCE])


def test_errors_of_one_model_do_not_hide_the_others(playground: Served) -> None:
    asked = {"runs": ["nothing", playground.name_of("lstm")], "sentences": [SENTENCE]}
    _, _, body = playground.ask("/api/surprisal", asked)
    events = [json.loads(line) for line in body.splitlines()]
    error = next(one for one in events if one["type"] == "error")
    assert error["name"] == "nothing" and "reload the page" in error["message"]
    assert _result(events)["name"] == playground.name_of("lstm")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "127.0.0.1:80"}, 200),
        ({"Host": "localhost:1234"}, 200),
        ({"Host": "attacker.example"}, 421),
        ({"Host": "127.0.0.1.attacker.example"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://attacker.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", **NAVIGATION}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
def test_only_the_page_itself_is_answered(
    playground: Served, headers: dict[str, str], status: int
) -> None:
    assert playground.ask("/api/models", headers=headers)[0] == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (NAVIGATION, 200),
        ({**NAVIGATION, "Sec-Fetch-Dest": "iframe"}, 403),
        ({**NAVIGATION, "Sec-Fetch-Mode": "no-cors"}, 403),
        ({**NAVIGATION, "Host": "attacker.example"}, 421),
    ],
)
def test_a_link_from_elsewhere_leads_to_the_page(
    playground: Served, headers: dict[str, str], status: int
) -> None:
    assert playground.ask("/", headers={"Sec-Fetch-Site": "cross-site", **headers})[0] == status


def test_other_content_types_are_refused(playground: Served) -> None:
    headers = {"Content-Type": "text/plain"}
    assert playground.ask("/api/seen", {"runs": [], "sentences": []}, headers=headers)[0] == 415


@pytest.mark.parametrize(
    "path",
    ["/assets/../server.py", "/assets/..%2fserver.py", "/assets/examples.yaml", "/etc/passwd"],
)
def test_no_other_file_is_served(playground: Served, path: str) -> None:
    assert playground.ask(path)[0] == 404


def test_every_answer_has_a_strict_policy(playground: Served) -> None:
    for path in ("/", "/assets/playground.js", "/api/models", "/nothing"):
        _, headers, _ = playground.ask(path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_the_page_names_no_other_host() -> None:
    for path in OWN_ASSETS.iterdir():
        found = re.findall(r"https?://[^\s\"'`)]+", path.read_text(encoding="utf-8"))
        assert {one for one in found if "www.w3.org" not in one} == set(), path


def test_the_server_listens_on_this_machine_only() -> None:
    with bound(0) as listening:
        assert listening.getsockname()[0] == HOST == "127.0.0.1"


def test_a_port_in_use_is_explained() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        with pytest.raises(Exception, match="port=0 for any free port"):
            bound(taken.getsockname()[1])


def test_two_users_at_once_get_their_own_numbers(playground: Served) -> None:
    asked = {"first": "the old author sleeps .", "second": "the young senator laughs ."}
    found: dict[str, list[dict[str, Any]]] = {}

    def ask(user: str) -> None:
        found[user] = playground.events("rnng", "lstm", sentences=[asked[user]])

    threads = [threading.Thread(target=ask, args=(user,)) for user in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for user, sentence in asked.items():
        alone = playground.events("rnng", "lstm", sentences=[sentence])
        for family in ("rnng", "lstm"):
            name = playground.name_of(family)
            both = [[e for e in es if e.get("name") == name] for es in (found[user], alone)]
            assert _result(both[0])["variants"] == _result(both[1])["variants"]
            assert [c["word"] for c in _result(both[0])["variants"][0]["cells"]][
                :-1
            ] == sentence.split()


def test_the_time_of_a_request_is_limited(folder: Path, tmp_path: Path) -> None:
    settings = settings_for(folder, tmp_path / "store.sqlite", seconds=0.1)
    with served(settings) as found:
        events = found.events("plm", "ngram", sentences=["the author knows the senator " * 20])
        error = next(one for one in events if one["type"] == "error")
        assert "no answer within 0.1 seconds" in error["message"]
        assert _result(events)["name"] == found.name_of("ngram")


def test_too_many_requests_are_refused(folder: Path, tmp_path: Path) -> None:
    settings = settings_for(folder, tmp_path / "store.sqlite", waiting=1)
    with served(settings) as found, socket.create_connection((HOST, found.port)) as slow:
        body = json.dumps(
            {"runs": [found.name_of("plm")], "sentences": ["the author " * 45]}
        ).encode()
        head = f"POST /api/surprisal HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        slow.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        slow.recv(1)
        status, _, answer = found.ask("/api/surprisal", {"runs": ["x"], "sentences": ["a"]})
        assert (status, "try again" in json.loads(answer)["error"]) == (503, True)
        slow.close()
        end = time.monotonic() + 30
        while found.ask("/api/surprisal", {"runs": ["x"], "sentences": ["a"]})[0] == 503:
            assert time.monotonic() < end, "a request that was given up still counts"
            time.sleep(0.1)


def test_infinite_and_undefined_numbers_are_told_apart() -> None:
    from gardenpath.playground.models import finite, number

    assert [number(value) for value in (1.5, math.inf, math.nan)] == [1.5, -1.0, None]
    # Minus one is a number where numbers may be negative.
    assert [finite(value) for value in (-1.0, math.inf, math.nan)] == [-1.0, None, None]


def test_a_request_that_is_given_up_stops_the_model(folder: Path, tmp_path: Path) -> None:
    settings = settings_for(folder, tmp_path / "store.sqlite")
    with served(settings) as found:
        words = [f"{a} {b}" for a in ("the", "old", "young") for b in ("author", "senator", "king")]
        sentence = " ".join(words * 5)
        model = found.shelf.models[found.name_of("plm")]
        body = json.dumps({"runs": [found.name_of("plm")], "sentences": [sentence]}).encode()
        head = f"POST /api/surprisal HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        with socket.create_connection((HOST, found.port)) as client:
            client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            received = b""
            while received.count(b'"type": "word"') < 3:
                received += client.recv(4096)
        # The thread that computes is free again long before all words are known.
        assert found.events("ngram", sentences=[SENTENCE])[-1]["type"] == "done"
        assert model.run.store is not None
        asked = beginnings_of([tuple(sentence.split())])
        stored = model.run.store.get(model.run.model_key, asked)
        assert 3 <= len(stored) < len(asked)


def test_models_stand_in_the_usual_order(playground: Served) -> None:
    _, _, body = playground.ask("/api/models")
    models = [one["model"] for one in json.loads(body)["models"]]
    assert models == models_in_order(models) and len(models) > 2


@pytest.mark.parametrize("family", ["lstm", "rnng"])
def test_a_run_that_is_deleted_or_replaced_is_told(
    folder: Path, tmp_path: Path, family: str
) -> None:
    copy = tmp_path / "runs" / family / "seed1"
    shutil.copytree(run_of(folder, family).path, copy)
    settings = replace(settings_for(folder, tmp_path / "s.sqlite"), run=(str(tmp_path / "runs"),))
    with served(settings) as found:
        first = found.events(family, sentences=[SENTENCE])
        shutil.move(copy, tmp_path / "elsewhere")
        # What is in memory remains right.
        assert _result(found.events(family, sentences=[VARIANT]))["variants"]
        assert _result(found.events(family, sentences=[SENTENCE])) == _result(first)
        shutil.move(tmp_path / "elsewhere", copy)
        weights = copy / "weights.safetensors"
        weights.write_bytes(weights.read_bytes() + b" ")
        # The request before may not have left its turn yet: then this one begins with "waiting".
        events = found.events(family, sentences=[SENTENCE])
        (error,) = [one for one in events if one["type"] not in ("waiting", "start", "done")]
        assert "start the playground again" in error["message"]


def test_a_run_that_is_deleted_before_it_is_used_is_told(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "runs" / "lstm" / "seed1"
    shutil.copytree(run_of(folder, "lstm").path, copy)
    settings = replace(settings_for(folder, tmp_path / "s.sqlite"), run=(str(tmp_path / "runs"),))
    with served(settings) as found:
        shutil.rmtree(copy)
        events = found.events("lstm", sentences=[SENTENCE])
        error = next(one for one in events if one["type"] == "error")
        assert str(copy) in error["message"] and events[-1]["type"] == "done"
        assert found.ask("/api/models")[0] == 200


def test_documented_commands_are_valid() -> None:
    commands = [
        shlex.split(line.split("#")[0])
        for page in (ROOT / "docs" / "playground.md", ROOT / "README.md")
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("python playground.py")
    ]
    assert len(commands) >= 5
    for _, script, *arguments in commands:
        assert (ROOT / script).is_file()
        playground_settings_of(arguments)


def test_a_missing_folder_is_explained(tmp_path: Path) -> None:
    from gardenpath.errors import GardenpathError
    from gardenpath.playground.models import ModelShelf

    with pytest.raises(GardenpathError):
        ModelShelf(PlaygroundSettings(run=(str(tmp_path / "runs"),)))
