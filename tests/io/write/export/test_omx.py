"""OMX matrices, read again by the format's own library."""

import numpy as np
import pytest

import geodp
from geodp.io.verify import formats
from geodp.io.write.export import omx
from tests.kinds.flows.test_publish import MESH, publish, trips_on

openmatrix = pytest.importorskip("openmatrix", reason="the format's own library is not installed")
h5py = pytest.importorskip("h5py", reason="the format's own library is not installed")


def read(view, path):
    omx.OMX().write(view, path)
    file = openmatrix.open_file(str(path))
    matrices = {name: np.array(file[name]) for name in file.list_matrices()}
    lookups = {name: np.array(file.map_entries(name)) for name in file.list_mappings()}
    about = file.version(), tuple(map(int, file.shape())), file.root._v_attrs["geodp_private"]
    file.close()
    return matrices, lookups, about


@pytest.mark.parametrize("grid", [MESH, geodp.Grid.regular((5, 11))], ids=["mesh", "nowhere"])
@pytest.mark.parametrize("block", [1 << 22, 300])
def test_a_matrix_has_the_trips_of_all_pairs(grid, block, tmp_path, monkeypatch):
    monkeypatch.setattr(omx, "BLOCK", block)
    flows = publish(trips_on(grid, number=3000), key=geodp.NoiseKey(bytes(32))).flows
    matrices, lookups, about = read(flows.view("flows"), tmp_path / "x.omx")
    zones = grid.shape[0] * grid.shape[1]
    expected = flows.table.to_dense().reshape(zones, zones)
    assert [*matrices] == ["flows"]
    assert np.array_equal(matrices["flows"], expected)
    assert matrices["flows"].dtype == np.int32
    assert about == (b"0.2", (zones, zones), b"NO")
    index = np.indices(grid.shape).reshape(2, -1)
    if grid is MESH:
        assert [*map(str, lookups["zone"])] == grid.places[0].format(*index).tolist()
    else:
        assert np.array_equal(lookups["row"], index[0])
        assert np.array_equal(lookups["column"], index[1])


def test_labels_have_a_matrix_each(tmp_path):
    grid = geodp.Grid.regular((2, 3)).pairs().with_attribute("hour", ("7/8", "8/9"))
    dense = np.arange(72).reshape(grid.shape)
    release = geodp.publish(
        geodp.CountTable.from_dense(dense, grid), method="laplace", epsilon=1, contribution=1
    )
    matrices, _, _ = read(release.view("trips"), tmp_path / "x.omx")
    made = release.table.to_dense().reshape(6, 6, 2)
    assert [*matrices] == ["trips 7_8", "trips 8_9"]
    for number, matrix in enumerate(matrices.values()):
        assert np.array_equal(matrix, made[:, :, number])


def add_trip(file):
    file["data"]["trips"][0, 0] += 1


def rename_zone(file):
    file["lookup"]["zone"][0] = 1


def add_matrix(file):
    file["data"]["more"] = np.zeros((2, 2))


def add_link(file):
    file["data"]["more"] = h5py.ExternalLink("other.omx", "/data/trips")


def change_claim(file):
    file.attrs["geodp_spends"] = np.bytes_(b"epsilon = 1/9")


@pytest.mark.parametrize(
    "change", [None, add_trip, rename_zone, add_matrix, add_link, change_claim]
)
def test_matrices_are_compared_with_the_release(trips, tmp_path, change):
    one, other = tmp_path / "one.omx", tmp_path / "other.omx"
    omx.OMX().write(trips, one)
    omx.OMX().write(trips, other)
    with h5py.File(other, "a") as file:
        if change is not None:
            change(file)
        else:
            # Other bytes alone are no difference.
            matrix = file["data"]["trips"][:]
            del file["data"]["trips"]
            file["data"].create_dataset("trips", data=matrix)
    assert formats._same_matrices(other, one, trips) is (change is None)


def test_labels_that_are_one_in_names_of_matrices_are_refused():
    grid = geodp.Grid.regular((2, 3)).pairs().with_attribute("hour", ("7/8", "7_8"))
    release = geodp.publish(
        geodp.CountTable.from_dense(np.ones(grid.shape, int), grid),
        method="laplace",
        epsilon=1,
        contribution=1,
    )
    assert "one matrix of a name" in omx.OMX().why_not(release.view("trips"))


def test_an_empty_release_has_empty_matrices(tmp_path):
    grid = geodp.Grid.regular((2, 3)).pairs()
    nothing = geodp.CountTable.from_keys(grid, np.empty(0, np.uint64), np.empty(0, np.int64))
    release = geodp.publish(
        nothing, method="pyramid", epsilon=100, contribution=1, allow_empty=True
    )
    assert not release.table.key.size
    matrices, _, _ = read(release.view("trips"), tmp_path / "x.omx")
    assert not matrices["trips"].any()


def test_codes_that_are_no_numbers_are_texts():
    grid = geodp.Grid.mesh("inspire:1km", bounds=(4000000, 3000000, 4002000, 3002000))
    zones = omx._list_zones(grid.pairs())["zone"]
    assert zones.dtype.kind == "S"
    assert len({*zones.tolist()}) == 4


def test_too_many_zones_and_other_releases_are_refused():
    large = publish(trips_on(geodp.Grid.regular((142, 141)), number=50), levels={64: "1/2"})
    assert "20,000" in omx.OMX().why_not(large.flows.view("flows"))
    assert "destinations" in omx.OMX().why_not(large.origins.view("origins"))
