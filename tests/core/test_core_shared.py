"""Equal small values are one object."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kq.core.shared import share


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
