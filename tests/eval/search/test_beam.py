"""Grids of hypotheses."""

from __future__ import annotations

import math

import torch

from gardenpath.eval.search.beam import NO_ACTION, Beam, after_word, below, beside, best, root_beam
from gardenpath.eval.search.protocol import ROOT_NODE

NONE = -math.inf


def make_beam(score: list[list[float]], *, first: int = 0, steps: int = 1) -> Beam:
    """Hypotheses whose numbers say where they stand."""
    scores = torch.tensor(score, dtype=torch.float64)
    number = torch.arange(scores.numel()).view_as(scores) + first
    return Beam(
        score=scores,
        node=number,
        depth=number + 100,
        opened=number + 200,
        origin=number + 300,
        trail=number.to(torch.int16).unsqueeze(2).expand(*scores.shape, steps),
    )


def require_whole(beam: Beam) -> None:
    """All that belongs to a living hypothesis has moved together."""
    alive = beam.is_alive
    node = beam.node[alive]
    assert torch.equal(beam.depth[alive], node + 100)
    assert torch.equal(beam.opened[alive], node + 200)
    assert torch.equal(beam.origin[alive], node + 300)
    trail = beam.trail[alive]
    assert ((trail == node.unsqueeze(1)) | (trail == NO_ACTION)).all()


def test_the_best_come_first_in_each_group() -> None:
    beam = make_beam([[-3.0, -1.0, -2.0], [NONE, -9.0, NONE]])
    found = best(beam, 2)
    assert found.score.tolist() == [[-1.0, -2.0], [-9.0, NONE]]
    assert found.node[:, 0].tolist() == [1, 4]
    require_whole(found)


def test_a_beam_can_have_more_places_than_hypotheses() -> None:
    found = best(make_beam([[-3.0, -1.0]], steps=2), 4)
    assert found.score.tolist() == [[-1.0, -3.0, NONE, NONE]]
    assert found.trail.shape == (1, 4, 2)
    require_whole(found)


def test_beams_side_by_side_have_trails_of_one_length() -> None:
    found = beside(make_beam([[-1.0], [-2.0]]), make_beam([[-3.0], [-4.0]], first=10, steps=3))
    assert found.score.tolist() == [[-1.0, -3.0], [-2.0, -4.0]]
    assert found.trail[0].tolist() == [[0, NO_ACTION, NO_ACTION], [10, 10, 10]]
    require_whole(found)


def test_groups_can_be_repeated_left_out_and_added() -> None:
    beam = make_beam([[-1.0, -2.0], [-3.0, -4.0], [-5.0, -6.0]])
    found = below(beam.rows(torch.tensor([2, 2, 0])), make_beam([[-7.0, -8.0]], first=20))
    assert found.node.tolist() == [[4, 5], [4, 5], [0, 1], [20, 21]]
    require_whole(found)
    assert len(beam.rows(torch.tensor([], dtype=torch.long)).score) == 0


def test_a_group_begins_with_one_certain_hypothesis() -> None:
    beam = root_beam(2, 3, device=torch.device("cpu"), dtype=torch.float64)
    assert beam.score.tolist() == [[0.0, NONE, NONE]] * 2
    assert beam.score.dtype == torch.float64
    assert beam.node.eq(ROOT_NODE).all() and beam.depth.eq(0).all()
    assert beam.trail.shape == (2, 3, 0)


def test_after_a_word_nothing_has_been_done() -> None:
    beam = make_beam([[-1.0, -2.0], [-3.0, NONE]], steps=4)
    found = after_word(beam.score, beam.node + 7, beam.depth)
    assert torch.equal(found.score, beam.score) and torch.equal(found.depth, beam.depth)
    assert found.opened.eq(0).all()
    assert found.origin.tolist() == [[0, 1], [0, 1]]
    assert found.trail.shape == (2, 2, 0)
