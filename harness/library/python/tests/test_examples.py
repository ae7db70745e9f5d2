import doctest

import pytest

import gsofa
import gsofa._functions
import gsofa._symbolic


@pytest.mark.parametrize("module", (gsofa, gsofa._functions, gsofa._symbolic), ids=lambda m: m.__name__)
def test_examples_of_docstrings(module):
    found = doctest.testmod(module)
    assert found.attempted > 0 and found.failed == 0
