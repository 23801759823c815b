"""Who is talked of, who speaks, and what attention makes of it."""

import math

import torch

from dialogist.nn.attention import PEOPLE, Mentions, SpeakerMatch, attention_weights

BEGIN, END, STOP, ANN, BOB, WORD = 1, 2, 3, 10, 11, 5


def mentions(speakers: list[int] | None = None, vocabulary: int = 40) -> Mentions:
    made = Mentions(vocabulary)
    made.learn(speakers or [ANN, BOB], [STOP], torch.device("cpu"))
    return made


def test_the_subject_is_the_first_of_the_sentence_the_last_is_the_last_of_all() -> None:
    said = torch.tensor([[BEGIN, WORD, BOB, WORD, ANN, WORD, STOP, WORD, ANN, BOB, STOP]])
    subject, last = mentions().along(said)[0].unbind(dim=1)
    assert subject.tolist() == [-1, -1, 1, 1, 1, 1, -1, -1, 0, 0, -1]
    assert last.tolist() == [-1, -1, 1, 1, 0, 0, 0, 0, 0, 1, 1]


def test_token_by_token_it_is_the_same() -> None:
    known = mentions()
    said = torch.randint(0, 12, (5, 20), generator=torch.Generator().manual_seed(1))
    named, whole = known.nobody(5), known.along(said)
    for place in range(20):
        named = known.after(named, said[:, place])
        assert torch.equal(named, whole[:, place])


def test_an_utterance_is_whose_token_it_begins_with() -> None:
    """Others' names inside it change nothing; begin, end and padding are nobody's."""
    source = torch.tensor([[BEGIN, BOB, WORD, ANN, ANN, WORD, WORD, BOB, END, 0]])
    utterance = torch.tensor([[-1, 0, 0, 0, 1, 1, 2, 2, -1, -1]])
    found = mentions().spoken(source, utterance, 12)
    assert found.shape == (1, 12, PEOPLE)
    whose = [row.nonzero()[:, 0].tolist() for row in found[0]]
    assert whose == [[], [1], [1], [1], [0], [0], [], [], [], [], [], []]
    assert found.sum() == 5


def test_speakers_beyond_those_told_apart_match_nobody() -> None:
    many = mentions(list(range(10, 10 + PEOPLE + 2)))
    source = torch.tensor([[10 + PEOPLE - 1, WORD, 10 + PEOPLE, WORD]])
    found = many.spoken(source, torch.tensor([[0, 0, 1, 1]]), 4)
    assert found.sum(dim=2).tolist() == [[1, 1, 0, 0]]
    assert many.along(source)[0, -1].tolist() == [PEOPLE - 1, PEOPLE - 1]


def test_numbers_are_added_to_scores() -> None:
    """Each head its own: the wider product is the old score and, where they match, the number."""
    torch.manual_seed(2)
    heads, width, targets = 3, 4, 2
    match, known = SpeakerMatch(heads), mentions()
    with torch.no_grad():
        match.weight.normal_(std=0.05)
    key, rows = torch.randn(1, heads, 5, width), torch.randn(targets, heads * width)
    spoken = known.spoken(
        torch.tensor([[BEGIN, ANN, WORD, BOB, WORD]]), torch.tensor([[-1, 0, 0, 1, 1]]), 5
    )
    named = torch.tensor([[1, 0], [-1, 0]])
    wide = match.queries(rows, known.units(named)).view(targets, heads, -1).transpose(0, 1)[None]
    found = attention_weights(wide, match.keys(key, spoken), None)

    query = rows.view(targets, heads, width).transpose(0, 1)[None]
    scores = query @ key.transpose(2, 3) / math.sqrt(width)
    numbers = 60 * match.weight.detach()
    for head in range(heads):
        subject, last = numbers[head].tolist()
        scores[0, head, 0] += torch.tensor([0, last, last, subject, subject])
        scores[0, head, 1] += torch.tensor([0, last, last, 0, 0])
    torch.testing.assert_close(found, scores.softmax(dim=-1))


def test_nothing_changes_before_anything_is_learned() -> None:
    match = SpeakerMatch(2)
    rows, named = torch.randn(3, 8), mentions().units(torch.tensor([[0, 1], [1, 1], [-1, -1]]))
    key, spoken = torch.randn(3, 2, 6, 4), torch.ones(3, 6, PEOPLE)
    wide = match.queries(rows, named).view(3, 2, 1, -1)
    found = attention_weights(wide, match.keys(key, spoken), None)
    torch.testing.assert_close(found, attention_weights(rows.view(3, 2, 1, 4), key, None))
