import subprocess
import sys

import numpy as np
import oracle
import pytest
import scipy.io
import scipy.sparse as sp

import gsofa

pictures = pytest.importorskip("gsofa.pictures")


@pytest.fixture
def s():
    a = np.random.default_rng(3).random((40, 40)) < 0.06
    return gsofa.analyze(sp.csr_array(a | np.eye(40, dtype=bool)), "amd")


def test_colours_of_cells_are_those_of_entries(s):
    p = s.A.toarray().astype(bool)
    low, up = oracle.factors(p)
    rgb = pictures.image(40, pictures.cell_counts(*s._permuted, 40), s.density(40))
    assert np.allclose(rgb[p], pictures.ENTRY) and np.allclose(rgb[(low | up) & ~p], pictures.FILL)
    assert np.allclose(rgb[~(low | up)], 1)


def test_the_share_of_the_fill_is_that_of_the_fill_alone():
    s = gsofa.analyze(sp.csr_array([[1, 0, 1], [1, 1, 0], [0, 1, 1]]), "natural")
    assert (s.nnz_a, s.nnz, s.fill) == (6, 7, 1)
    assert s.spy().axes[2].get_title(loc="left").endswith("fill-ins 1, 0.17 times A")


def test_a_name_may_hold_what_matplotlib_takes_for_mathematics(s, tmp_path):
    s._found["order"] = "a $_{$ b"
    for draw in (s.spy, s.tree, lambda path: pictures.compare(s, s, path=path)):
        draw(path=tmp_path / "a.svg")
        assert "a $_{$ b" in (tmp_path / "a.svg").read_text()


def test_fill_is_lighter_than_entries_in_grey():
    grey = np.array([0.2126, 0.7152, 0.0722])
    assert 0.4 < grey @ pictures.FILL < 0.75 and grey @ pictures.ENTRY < 0.25


@pytest.mark.parametrize("kind, begin", [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF"), ("html", b"<!doctype html>")])
def test_every_picture_is_written(s, tmp_path, kind, begin):
    for name, draw in (("spy", s.spy), ("tree", s.tree), ("profiles", s.profiles),
                       ("compare", lambda path: pictures.compare(s, s, path=path)),
                       ("pattern", lambda path: pictures.pattern(s.A, path=path))):
        path = tmp_path / f"{name}.{kind}"
        draw(path=path)
        assert path.read_bytes().startswith(begin)
    assert len(list(tmp_path.iterdir())) == 5


def test_a_picture_of_another_kind_is_refused_and_leaves_nothing(s, tmp_path):
    with pytest.raises(gsofa.InvalidInput, match=".png"):
        s.spy(path=tmp_path / "a.bmp")
    with pytest.raises(OSError):
        s.spy(path=tmp_path / "nowhere" / "a.png")
    assert not list(tmp_path.iterdir())


def test_order_one_and_chains_are_drawn(tmp_path):
    for a in (sp.eye(1), sp.eye(5), sp.diags([1.0, 1.0], [0, -1], shape=(5, 5))):
        s = gsofa.analyze(sp.csr_array(a), "natural")
        for draw in (s.spy, s.tree, s.profiles):
            draw(path=tmp_path / "a.png")


def test_a_tree_with_its_lowest_levels_left_out_is_a_tree():
    s = gsofa.analyze(sp.csr_array(sp.diags([1.0, 1.0, 1.0], [-1, 0, 1], shape=(300, 300))), "amd")
    fig = s.tree(most=50)
    assert "the lowest" in fig.axes[0].get_title(loc="left") and len(fig.axes[0].collections[0].get_segments()) <= 50


def test_isolated_columns_are_no_part_of_the_tree():
    chain = sp.diags([1.0, 1.0, 1.0], [-1, 0, 1], shape=(5, 5))
    fig = gsofa.analyze(sp.csr_array(sp.block_diag((chain, sp.eye(40)))), "natural").tree()
    assert fig.axes[0].get_title(loc="left").endswith("height 5 of 45 columns; 40 isolated left out")
    assert len(fig.axes[0].collections[0].get_segments()) == 4 and len(fig.axes[0].lines[0].get_xdata()) == 1


def test_legends_do_not_cover_what_is_drawn(s):
    for fig in (s.profiles(), s.spy(), pictures.compare(s, s)):
        fig.canvas.draw()
        legends = [x for x in (*fig.legends, *(ax.get_legend() for ax in fig.axes)) if x is not None]
        assert legends
        for x in legends:
            for ax in fig.axes:
                assert not x.get_window_extent().overlaps(ax.get_window_extent())
                assert not x.get_window_extent().overlaps(ax._left_title.get_window_extent()) or not ax._left_title.get_text()


def show(*arguments):
    return subprocess.run([sys.executable, "-m", "gsofa", "show", *map(str, arguments)], capture_output=True, text=True)


def test_the_command(tmp_path):
    file = tmp_path / "a.mtx"
    scipy.io.mmwrite(file, sp.csr_array(np.array([[2.0, 1], [1, 2]])))
    done = show(file, "--order", "natural", "-o", tmp_path / "a.svg")
    assert done.returncode == 0 and "4 entries of L + U, 0 fill-ins" in done.stdout and (tmp_path / "a.svg").exists()
    assert show(file, "--order", "natural,amd", "-o", tmp_path / "b.png").returncode == 0
    for arguments, mention in (((tmp_path / "no.mtx",), "no.mtx"), ((file, "--order", "metiss"), "metiss"),
                               ((file, "-o", tmp_path / "a.txt"), "a.txt"), ((file, "--order", "amd,natural,amd"), "two")):
        done = show(*arguments)
        assert done.returncode == 2 and mention in done.stderr and done.stderr.count("\n") == 1, done.stderr
    done = show(tmp_path / "no\x1b[31m\u202e.mtx")
    assert done.returncode == 2 and not set("\x1b\u202e") & set(done.stderr), done.stderr
