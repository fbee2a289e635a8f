"""Grids of hypotheses."""

from __future__ import annotations

import math

import torch

from gardenpath.eval.search.beam import Beam, after_word, below, beside, best, root_beam
from gardenpath.eval.search.protocol import ROOT_NODE

NONE = -math.inf


def make_beam(score: list[list[float]], *, first: int = 0) -> Beam:
    """Hypotheses whose numbers say where they stand."""
    scores = torch.tensor(score, dtype=torch.float64)
    number = torch.arange(scores.numel()).view_as(scores) + first
    return Beam(
        score=scores,
        integers=torch.stack([number + 100 * column for column in range(5)], dim=2),
        numbers=torch.stack([scores, number.double()], dim=2),
    )


def require_whole(beam: Beam) -> None:
    """All that belongs to a living hypothesis has moved together."""
    alive = beam.is_alive
    node = beam.node[alive]
    assert torch.equal(beam.depth[alive], node + 100)
    assert torch.equal(beam.opened[alive], node + 200)
    assert torch.equal(beam.origin[alive], node + 300)
    assert torch.equal(beam.entry[alive], node + 400)
    assert torch.equal(beam.last[alive], node.double())
    assert torch.equal(beam.joint[alive], beam.score[alive])


def test_the_best_come_first_in_each_group() -> None:
    beam = make_beam([[-3.0, -1.0, -2.0], [NONE, -9.0, NONE]])
    found = best(beam, 2)
    assert found.score.tolist() == [[-1.0, -2.0], [-9.0, NONE]]
    assert found.node[:, 0].tolist() == [1, 4]
    require_whole(found)


def test_a_beam_can_have_more_places_than_hypotheses() -> None:
    found = best(make_beam([[-3.0, -1.0]]), 4)
    assert found.score.tolist() == [[-1.0, -3.0, NONE, NONE]]
    require_whole(found)


def test_beams_side_by_side() -> None:
    found = beside(make_beam([[-1.0], [-2.0]]), make_beam([[-3.0], [-4.0]], first=10))
    assert found.score.tolist() == [[-1.0, -3.0], [-2.0, -4.0]]
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
    assert beam.entry.eq(-1).all()


def test_after_a_word_nothing_has_been_done() -> None:
    beam = make_beam([[-1.0, -2.0], [-3.0, NONE]])
    found = after_word(beam.score, beam.joint, beam.node + 7, beam.depth)
    assert torch.equal(found.score, beam.score) and torch.equal(found.depth, beam.depth)
    assert found.opened.eq(0).all()
    assert found.origin.tolist() == [[0, 1], [0, 1]]
    assert found.entry.eq(-1).all()
    assert torch.equal(found.joint, beam.joint) and found.last.eq(0).all()
