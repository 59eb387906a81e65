"""Equal small values are one object."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kq.core.shared import share, shared_texts


@given(st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=3))
def test_equal_maps_are_one_object(given_):
    shared = share(given_)
    assert shared == given_
    assert share(dict(reversed(given_.items()))) is shared


@given(st.text())
def test_equal_texts_are_one_object(text):
    assert share(text) == text
    assert share("".join(text)) is share(text)


def test_a_shared_map_follows_nobody_and_changes_for_nobody():
    given_ = {"a": "b"}
    shared = share(given_)
    given_["a"] = "c"
    assert shared == {"a": "b"}
    with pytest.raises(TypeError):
        shared["a"] = "c"


texts = st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=4)


@given(texts, texts)
def test_texts_are_the_map_that_they_were_made_of(one, other):
    made = shared_texts(one)
    assert made == one
    assert one == made
    assert dict(made) == {**made} == one
    assert len(made) == len(one)
    assert [made[name] for name in made] == [one[name] for name in made]
    assert all(made.get(name, "none") == one.get(name, "none") for name in {*one, *other})
    assert all((name in made) == (name in one) for name in {*one, *other})
    assert (made == shared_texts(other)) == (one == other)
    assert made == shared_texts(dict(reversed(one.items())))
    assert hash(made) == hash(shared_texts(dict(reversed(one.items()))))


def test_a_text_that_is_not_there_is_a_key_error():
    with pytest.raises(KeyError):
        shared_texts({"a": "b"})["b"]


def test_names_and_texts_of_two_maps_are_the_same_objects():
    one, other = (shared_texts({"".join(("a", "b")): "".join(("c", "d"))}) for _ in range(2))
    assert next(iter(one)) is next(iter(other))
    assert one["ab"] is other["ab"]


def test_a_time_is_shared_only_with_what_its_object_has_elsewhere():
    time = "2026-03-02T09:00:00Z"
    own = {time: time}
    assert shared_texts({"at": "".join(time)}, own)["at"] is time
    made = "2026-03-02T09:00:01Z"
    assert shared_texts({"at": "".join(list(made))})["at"] is not share(made)
