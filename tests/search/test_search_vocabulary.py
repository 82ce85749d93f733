"""Words of an index, mapped."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ark.search import vocabulary
from ark.search.vocabulary import Vocabulary, write

ANY = st.text(alphabet=st.characters(), min_size=1, max_size=6)  # half characters among them
HASHES = {"own": vocabulary.digest, "few": lambda word: len(word) % 3, "one": lambda _: 7}


@pytest.mark.parametrize("kind", HASHES)
@settings(deadline=None, max_examples=60)
@given(words=st.lists(ANY, unique=True, max_size=30), others=st.lists(ANY, max_size=10))
def test_it_is_a_dictionary_whatever_the_hash(
    kind: str, words: list[str], others: list[str]
) -> None:
    numbers = {word: i for i, word in enumerate(words)}
    asked = [*others, *words, *words[:3]]
    with tempfile.TemporaryDirectory() as root, pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "digest", HASHES[kind])
        write(words, Path(root))
        found = Vocabulary.open(Path(root))
        assert found.find(asked).tolist() == [numbers[w] for w in asked if w in numbers]
        assert list(found) == words
        assert len(found) == len(words)
        assert found.find([]).tolist() == []


def test_hashes_are_the_same_in_every_process() -> None:
    assert vocabulary.digest(b"moth") == 18104695741588729865


def test_another_kind_of_array_is_refused(tmp_path: Path) -> None:
    write(["one", "two"], tmp_path)
    np.save(tmp_path / "words.hashes.npy", np.zeros(2))
    with pytest.raises(ValueError, match=r"words\.hashes\.npy is not a list of uint64"):
        Vocabulary.open(tmp_path)
