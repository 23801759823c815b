"""`files.short_names`: short names for files and folders, no two alike."""

import pytest

from dialogist.files import short_names


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["runs/mine", "default"], ["mine", "default"]),
        (["runs/a/mine/", "runs/b/mine"], ["a/mine", "b/mine"]),
        (["x/a/mine", "y/a/mine", "other"], ["x/a/mine", "y/a/mine", "other"]),
        (["mine", "runs/mine"], ["mine", "runs/mine"]),
        (["same", "same"], ["same", "same"]),
        (["/"], ["/"]),
        ([""], [""]),
        ([], []),
    ],
)
def test_the_last_part_and_as_many_more_as_it_takes(names, short):
    assert short_names(names) == short


def test_what_says_the_kind_of_file_is_no_part_of_a_name(tmp_path):
    for name in ("a.predictions.jsonl", "b.JSON", "c.v2.csv", "plain"):
        (tmp_path / name).write_text("")
    found = short_names([str(path) for path in sorted(tmp_path.iterdir())])
    assert found == ["a", "b", "c.v2", "plain"]
    assert short_names(["no-such-file.json"]) == ["no-such-file.json"]
