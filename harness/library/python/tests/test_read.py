"""gsofa.read() and `python -m gsofa show` on files: what SciPy writes is read, and the rest is one clear line."""
import gzip
import io
import subprocess
import sys
import tarfile
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import gsofa

FORMATS = ("csr", "csc", "coo", "bsr", "dia")


def reads_archives(folder):
    """False in a build without libarchive, which says so."""
    file = folder / "probe.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.mtx", "%%MatrixMarket matrix array real general\n0 0\n")
    try:
        return gsofa.read(file).shape == (0, 0)
    except gsofa.Unavailable as e:
        assert "libarchive" in str(e)
        return False


@pytest.fixture(name="archives")
def skip_without_libarchive(tmp_path):
    if not reads_archives(tmp_path):
        pytest.skip("this build lacks libarchive")


def same(found, expected):
    """Whether `found` has an entry of 1 where `expected` stores one."""
    expected = sp.coo_array(expected)
    ones = sp.coo_array((np.ones(expected.nnz), (expected.row, expected.col)), shape=expected.shape).tocsr()
    return found.shape == expected.shape and (found.toarray() == (ones.toarray() > 0)).all()


def matrix(n=7, dtype=float, seed=3):
    rng = np.random.default_rng(seed)
    a = sp.random_array((n, n), density=0.4, random_state=rng) if hasattr(sp, "random_array") else sp.random(
        n, n, density=0.4, random_state=4)
    a = sp.coo_array(a)
    values = rng.integers(1, 9, a.nnz).astype(dtype)
    return sp.coo_array((values, (a.row, a.col)), shape=a.shape)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("field", [None, "pattern"])
def test_what_mmwrite_writes_sparse(tmp_path, dtype, field):
    general = matrix(dtype=dtype)
    half = sp.coo_array(sp.tril(general))
    cases = [(general, "general"), (half + sp.triu(half.T, 1), "symmetric")]
    if np.issubdtype(dtype, np.signedinteger) or np.issubdtype(dtype, np.inexact):
        lower = sp.tril(general, -1)
        cases.append((lower - lower.T, "skew-symmetric"))
    if np.issubdtype(dtype, np.complexfloating):
        cases.append((half + sp.triu(half.T.conj(), 1), "hermitian"))
    for a, symmetry in cases:
        file = tmp_path / f"{symmetry}.mtx"
        scipy.io.mmwrite(file, sp.coo_matrix(a), field=field, symmetry=symmetry)
        assert same(gsofa.read(file), a), (symmetry, field)


def test_what_mmwrite_writes_dense(tmp_path):
    a = np.arange(9.0).reshape(3, 3)
    for values, symmetry in [(a, "general"), (a + a.T, "symmetric"), (a - a.T, "skew-symmetric"), (1j * a - 1j * a.T, "hermitian"),
                             (a.astype(int), "general")]:
        file = tmp_path / "dense.mtx"
        scipy.io.mmwrite(file, values, symmetry=symmetry)
        expected = np.ones((3, 3))
        if symmetry == "skew-symmetric":
            np.fill_diagonal(expected, 0)
        assert (gsofa.read(file).toarray() == expected).all(), symmetry


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.usefixtures("archives")
def test_what_save_npz_writes(tmp_path, form, compressed):
    file = tmp_path / "a.npz"
    a = matrix(8)
    stored = a.asformat(form)
    sp.save_npz(file, stored, compressed=compressed)
    found = gsofa.read(file)
    if form == "bsr":  # every entry of a block
        assert found.nnz == stored.nnz
    elif form == "dia":  # every entry of a diagonal
        assert found.nnz == sum(8 - abs(int(k)) for k in stored.offsets)
    else:
        assert same(found, a)
    wide = sp.csr_array(a)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    sp.save_npz(file, wide, compressed=compressed)
    assert same(gsofa.read(file), a)


def test_what_hb_write_writes(tmp_path):
    file = tmp_path / "a.rua"
    a = sp.csc_matrix(matrix(30))
    scipy.io.hb_write(file, a)
    assert same(gsofa.read(file), a)


@pytest.mark.usefixtures("archives")
def test_compressed_files_and_archives(tmp_path):
    import bz2
    import lzma
    text = b"%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n2 1 nan\n2 1 1\n"
    for ending, compress in [("gz", gzip.compress), ("xz", lzma.compress), ("bz2", bz2.compress)]:
        file = tmp_path / f"a.mtx.{ending}"
        file.write_bytes(compress(text))
        assert gsofa.read(file).toarray().tolist() == [[1, 0], [1, 0]]
    file = tmp_path / "a.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for name, content in [("a/a_b.mtx", b"other"), ("a/a.mtx", text)]:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    assert gsofa.read(str(file)).nnz == 2
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.mtx", text)
    assert gsofa.read(tmp_path / "a.zip").nnz == 2
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(gsofa.InvalidInput, match="bad.npz: corrupt or truncated .zip"):
        gsofa.read(tmp_path / "bad.npz")


def test_values_are_as_many_as_entries(tmp_path, archives):
    file = tmp_path / "a.npz"
    np.savez(file, indices=np.array([0, 1]), indptr=np.array([0, 1, 2]), shape=np.array([2, 2]), format=b"csr", data=np.ones(1))
    with pytest.raises(gsofa.InvalidInput, match="data does not have the 2 values"):
        gsofa.read(file)


FAULTS = {
    "absent": (None, "cannot open"),
    "empty": (b"", "empty file"),
    "triplets": (b"0 0 1\n1 1 1\n", "triplets need the line '%%MatrixMarket"),
    "utf16": ("%%MatrixMarket".encode("utf-16"), "is text in UTF-16"),
    "cut.mtx.gz": (gzip.compress(b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n")[:40], "truncated gzip data"),
    "index": (b"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n", ":3: row index '3' is outside 1..2"),
    "wide": (b"%%MatrixMarket matrix coordinate real general\n2 3 0\n", "the matrix is 2 x 3, not square"),
    "mat": (b"MATLAB 5.0 MAT-file", "is a MATLAB file"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_name_the_file(tmp_path, name):
    content, reason = FAULTS[name]
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(gsofa.InvalidInput) as caught:
        gsofa.read(file)
    assert str(caught.value).startswith(str(file)) and reason in str(caught.value)
    with pytest.raises(gsofa.InvalidInput, match="NUL"):
        gsofa.read("a\0b")


def test_command_says_one_line(tmp_path):
    files = {}
    zero = b"%%MatrixMarket matrix coordinate real general\n0 0 0\n", "the order is 0, so there is nothing to draw"
    for name, (content, reason) in {**FAULTS, "zero": zero}.items():
        files[tmp_path / name] = reason
        if content is not None:
            (tmp_path / name).write_bytes(content)
    # One interpreter for all of them: exit statuses and lines by file.
    code = ("import io, sys, contextlib\nfrom gsofa.__main__ import show\nfor f in sys.argv[1:]:\n"
            "    err = io.StringIO()\n    with contextlib.redirect_stderr(err):\n        try:\n            status = show([f])\n"
            "        except SystemExit as e:\n            status = e.code\n    print(status, err.getvalue(), end='')\n")
    done = subprocess.run([sys.executable, "-c", code, *map(str, files)], capture_output=True, text=True, cwd=tmp_path, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(files) and not done.stderr
    for line, (file, reason) in zip(lines, files.items()):
        assert line.startswith(f"2 gsofa show: error: {file}") and reason in line


def test_order_zero(tmp_path):
    file = tmp_path / "n0.mtx"
    file.write_text("%%MatrixMarket matrix coordinate real general\n0 0 0\n")
    a = gsofa.read(file)
    assert a.shape == (0, 0)
    s = gsofa.analyze(a)
    assert (s.n, s.nnz, s.fill) == (0, 0, 0)
    assert s.L.shape == s.U.shape == (0, 0)
    assert s.parent.size == s.row_order.size == s.height == 0
    assert gsofa.symbfact(a).count.size == 0 and gsofa.order(a).size == 0
    assert "<table>" in s._repr_html_()
    for draw in (s.spy, s.tree, s.profiles):
        with pytest.raises(gsofa.InvalidInput, match="nothing to draw"):
            draw()
