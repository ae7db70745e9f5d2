"""Results beyond those of analyze() alone: relaxed supernodes, masks, estimates, names."""
import inspect

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from test_analyze import square

import gsofa


def padded(a, relax):
    """A postordered pattern with full blocks for the maximal subtrees of at most `relax` columns."""
    low, up = oracle.factors(a)
    full = low | up
    n, parent = len(a), oracle.elimination_tree(a)
    size = np.ones(n, dtype=int)
    for v, p in enumerate(parent):
        if p >= 0:
            size[p] += size[v]
    for root in range(n):
        if size[root] <= relax and (parent[root] < 0 or size[parent[root]] > relax):
            block = slice(root + 1 - size[root], root + 1)
            full[block, block] = True
            full[root + 1:, block] |= full[root + 1:, block].any(axis=1)[:, None]
            full[block, root + 1:] |= full[block, root + 1:].any(axis=0)
    return full


def test_the_purpose_decides_the_automatic_order():
    grid = sp.kronsum(sp.kronsum(*[sp.diags([1.0, 1.0, 1.0], [-1, 0, 1], shape=(12, 12))] * 2),
                      sp.diags([1.0, 1.0, 1.0], [-1, 0, 1], shape=(12, 12))).tocsr()
    once, often = (gsofa.analyze(grid, factorizations=f, device="cpu") for f in (1, 1000))
    assert once.order.startswith("amf") and often.order.startswith("cpu_nested_dissection") and often.nnz < once.nnz
    assert (gsofa.order(grid, factorizations=1000, device="cpu") == gsofa.order(grid, often.order, device="cpu")).all()
    assert gsofa.order(grid, purpose="supernodal", cores=16).size == 12**3
    for wrong, text in (({"factorizations": 0}, "factorizations: 0 is below 1"), ({"purpose": "splu"}, "'splu' is none of automatic"),
                        ({"cores": 0}, "cores: 0 is below 1")):
        with pytest.raises(gsofa.InvalidInput, match=text):
            gsofa.order(grid, **wrong)


@given(square(), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_relaxed_supernodes_are_full_blocks_in_every_result(a, relax):
    s = gsofa.analyze(sp.csr_array(a), "amd", match=False, relax=relax)
    low, up = oracle.factors(padded(a[np.ix_(s.row_order, s.col_order)], relax))
    assert (s.L.toarray() == low).all() and (s.U.toarray() == up).all() and (s.nnz_l, s.nnz_u) == (low.sum(), up.sum())
    assert (s.l_row_counts == low.sum(axis=1)).all() and (s.u_row_counts == up.sum(axis=1)).all()
    assert (s.l_col_counts == low.sum(axis=0)).all() and s.flops == oracle.flops(low, up)
    assert (s.parent == oracle.elimination_tree(low | up)).all()
    assert (s.density(len(a)) == (low | up)).all()
    assert s.supernodes.tolist() == oracle.supernodes(low, up)
    for one, other in zip(s.supernodal(), gsofa.analyze(sp.csr_array(a), "amd", match=False).supernodal(relax=relax)):
        assert (one == other).all()


def test_an_order_that_is_no_postorder_has_no_relaxed_supernodes():
    a = sp.csr_array(np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 1]]))  # the subtree of 2 is 0, 2
    with pytest.raises(gsofa.InvalidInput, match="postorder"):
        gsofa.analyze(a, "natural", relax=2)
    with pytest.raises(gsofa.InvalidInput, match="relax"):
        gsofa.analyze(a, relax=0)


def entries_of(m, n):
    """(L, U) without the diagonal, from their masks."""
    low, up = np.zeros((n, n), dtype=bool), np.zeros((n, n), dtype=bool)
    for k, b in enumerate(m.first_vertex[:-1]):
        for p in range(m.position_begin[k], m.position_begin[k + 1]):
            f = m.vertices[p]
            for c in range(64):
                if int(m.masks[p, 0]) >> c & 1:
                    up[b + c, f] = True
                if int(m.masks[p, 1]) >> c & 1:
                    low[f, b + c] = True
    return low, up


@given(square(), st.sampled_from(("natural", "amd")), st.booleans())
@settings(max_examples=40, deadline=None)
def test_masks_have_the_entries_of_the_factors(a, order, at_once):
    s = gsofa.analyze(sp.csr_array(a), order, match=False, masks=at_once)
    low, up = entries_of(s.masks, len(a))
    assert (low == s.L.toarray()).all() and (up == np.triu(s.U.toarray(), 1)).all()
    assert s.masks.masks.dtype == np.uint64 and (np.diff(s.masks.first_vertex) <= 64).all()


@given(square(full_diagonal=True))
@settings(max_examples=20, deadline=None)
def test_l_has_its_diagonal_on_request(a):
    s = gsofa.analyze(sp.csr_array(a), "amd")
    low = s.lower(diagonal=True)
    assert (low.toarray() == s.L.toarray() + np.eye(len(a))).all() and low.has_canonical_format
    assert (s.lower() != s.L).nnz == 0


@given(square(), st.sampled_from(("natural", "amd")), st.booleans())
@settings(max_examples=40, deadline=None)
def test_an_estimate_is_a_bound_that_symmetric_patterns_reach(a, order, symmetric):
    a = sp.csr_array(a | a.T if symmetric else a)
    e, s = gsofa.estimate(a, order, match=False), gsofa.analyze(a, order, match=False)
    assert (e.permutation == s.col_order).all() and e.nnz_a == s.nnz_a
    assert e.nnz_l >= s.nnz_l and e.nnz_u >= s.nnz_u and e.flops >= s.flops and e.memory_estimate >= s.memory_estimate
    assert not symmetric or e.symmetric
    if e.symmetric:
        assert (e.nnz_l, e.nnz_u, e.nnz, e.flops) == (s.nnz_l, s.nnz_u, s.nnz, s.flops)
    assert gsofa.estimate(a, e.permutation, match=False).nnz == e.nnz and e.working_bytes >= 0


@given(square(full_diagonal=True), st.sampled_from(("natural", "amd", "colamd", "cpu_nested_dissection", "tournament")))
@settings(max_examples=40, deadline=None)
def test_an_order_alone_has_the_fill_of_the_analysis(a, order):
    a = sp.csr_array(a | a.T)
    p = gsofa.order(a, order)
    assert sorted(p) == list(range(a.shape[0])) and not p.flags.writeable
    assert gsofa.analyze(a, p).nnz == gsofa.analyze(a, order).nnz
    assert (gsofa.order(a, p) == p).all()


def subtrees(sizes, levels, layout):
    """(positions of a node, of its left subtree, of its right one) for each node above the leaves."""
    level = [sizes[2**levels - 2**(d + 1):2**levels - 2**d] for d in range(levels)]  # level[0]: the root
    spans, at = {}, 0
    if layout == "by_level":
        for d in reversed(range(levels)):
            for k, size in enumerate(level[d]):
                spans[d, k], at = set(range(at, at + size)), at + size
    else:
        def place(d, k):
            nonlocal at
            if d + 1 < levels:
                place(d + 1, 2 * k)
                place(d + 1, 2 * k + 1)
            spans[d, k], at = set(range(at, at + level[d][k])), at + level[d][k]
        place(0, 0)

    def below(d, k):
        return spans[d, k] | (below(d + 1, 2 * k) | below(d + 1, 2 * k + 1) if d + 1 < levels else set())
    return [(below(d + 1, 2 * k), below(d + 1, 2 * k + 1)) for d in range(levels - 1) for k in range(2**d)]


@pytest.mark.parametrize("layout", ("by_level", "nested"))
@given(square(most=40), st.sampled_from(("amd", "cpu_nested_dissection")), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_separators_separate(layout, a, order, levels):
    tree = gsofa.separator_tree(sp.csr_array(a), levels, order, layout=layout)
    assert sorted(tree.permutation) == list(range(len(a))) and tree.order == order
    assert tree.sizes.size == 2**levels - 1 and tree.sizes.sum() == len(a)
    permuted = (a | a.T)[np.ix_(tree.permutation, tree.permutation)]
    for left, right in subtrees(tree.sizes.tolist(), levels, layout):
        assert not permuted[np.ix_(sorted(left), sorted(right))].any()


def test_weights_move_separators_and_faults_of_orders_are_named():
    grid = sp.csr_array(sp.kronsum(*[sp.diags([1.0, 1.0, 1.0], [-1, 0, 1], shape=(30, 30))] * 2))
    heavy = np.where(np.arange(900) % 30 == 15, 100, 1)  # a line of the grid
    tree = gsofa.separator_tree(grid, 2, weights=heavy)
    assert tree.sizes[-1] >= 10 and heavy[tree.permutation[-tree.sizes[-1]:]].sum() <= 200
    assert (gsofa.order(grid, "cpu_nested_dissection", seed=3) != gsofa.order(grid, "cpu_nested_dissection", seed=4)).any()
    for mention, options in (("weights", {"weights": heavy[1:]}), ("weights", {"weights": -heavy}), ("seed", {"seed": -2}),
                             ("weights", {"weights": heavy, "order": "amd"}), ("weights", {"weights": heavy / 3}),
                             ("threads", {"threads": -1}), ("device", {"device": "tpu"})):
        with pytest.raises(gsofa.InvalidInput, match=mention):
            gsofa.order(grid, **options)
    assert set(gsofa.order(grid, last=[5, 17, 800])[-3:]) == {5, 17, 800}
    assert (gsofa.order(grid, groups=np.arange(900) % 7) % 7 == np.sort(np.arange(900) % 7)).all()
    for options in ({"last": [900]}, {"last": [1], "groups": heavy}, {"groups": -heavy}, {"last": [1], "order": "metis"}):
        with pytest.raises(gsofa.InvalidInput, match="last|groups"):
            gsofa.order(grid, **options)
    for mention, options in (("levels", {"levels": 0}), ("levels", {"levels": 25}), ("layout", {"levels": 2, "layout": "flat"})):
        with pytest.raises((gsofa.InvalidInput, OverflowError), match=mention):
            gsofa.separator_tree(grid, **options)


def test_names_are_those_of_the_program():
    a = sp.csr_array(sp.random(200, 200, density=0.02, random_state=3) + sp.eye(200))
    s = gsofa.analyze(a, "cpu_nested_dissection")
    assert s.order == "cpu_nested_dissection"
    two = "cpu_nested_dissection:replicas=1,tries=2"
    assert gsofa.analyze(a, two, variant="cpu_bitmap_panels:memory_budget_mb=64").order == two
    for wrong, text in (("metiss", "'metiss' is none of automatic, metis"), ("amf:x=1", "order amf: .*'x'"), (None, "col_order"),
                        ("given", "col_order"), (f"{two},replicas", "is not OPTION=VALUE")):
        with pytest.raises(gsofa.InvalidInput, match=text):
            gsofa.order(a, wrong)
    with pytest.raises(gsofa.InvalidInput, match="variant cpu_bitmap_panels: .*'y'"):
        gsofa.analyze(a, variant="cpu_bitmap_panels:y=1")
    for b in sp.eye(9), sp.csr_array(np.ones((9, 9))), a + a.T, sp.random(300, 300, density=0.006, random_state=1) + sp.eye(300):
        s = gsofa.analyze(b)
        assert gsofa.analyze(b, s.order).n == b.shape[0] and (s.order_note or (gsofa.analyze(b, s.order).col_order == s.col_order).all())
    assert gsofa.analyze(sp.csr_array(np.ones((9, 9)))).order_note == "perfect elimination of blocks"


@pytest.mark.parametrize("name", [name for name in gsofa.__all__ if inspect.isfunction(getattr(gsofa, name))])
def test_signatures_name_types_that_a_person_can_read(name):
    text = str(inspect.signature(getattr(gsofa, name)))
    assert "numpy" not in text and "Union" not in text and "ForwardRef" not in text, text
