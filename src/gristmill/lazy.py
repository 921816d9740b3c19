"""Attributes computed when they are first asked for.

Python 3.11's `functools.cached_property` takes a lock at each first access, which costs more than most of the
quantities of an episode that are kept this way. Episodes are not shared between threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 - it is used like `property`
    """A method without arguments as an attribute: computed once, then kept in the instance's `__dict__`."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[T]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> lazy[T] | T:
        if instance is None:
            return self
        # It defines no `__set__`, so from now on the kept value is found first.
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
