"""A name that geodp has not is answered with the one that does its job."""

import inspect

import pytest

from geodp.advice import by_names, no_attribute


class Thing:
    @classmethod
    @by_names(bbox="bounds")
    def make(cls, system, *, bounds=None, degrees=False):
        """Make one."""
        return system, bounds, degrees


def test_a_call_with_known_names_is_the_function_itself():
    assert Thing.make("a", bounds=1) == ("a", 1, False)
    assert Thing.make(system="a") == ("a", None, False)
    assert [*inspect.signature(Thing.make).parameters] == ["system", "bounds", "degrees"]
    assert Thing.make.__doc__ == "Make one."
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'system'"):
        Thing.make()


@pytest.mark.parametrize(
    ("args", "named", "said"),
    [
        ((), {"bbox": 1}, "make() takes no bbox=; give bounds=."),
        ((), {"degree": 1}, "make() takes no degree=; give degrees=."),
        ((), {"colour": 1}, "make() takes no colour=; it takes bounds=, degrees=."),
        ((1,), {}, "make() takes system by place, and the rest by name: bounds=, degrees=."),
    ],
)
def test_another_name_is_answered_by_the_one_that_is_meant(args, named, said):
    with pytest.raises(TypeError) as error:
        Thing.make("a", *args, **named)
    assert str(error.value) == said


def test_an_error_of_an_attribute_is_one_for_python_too():
    thing = Thing()
    error = no_attribute(thing, "A thing", "save", {"load": "read", "save to_csv": "write(folder)"})
    assert (str(error), error.name, error.obj) == (
        "A thing has no 'save': write(folder).",
        "save",
        thing,
    )
