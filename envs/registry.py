"""Environments by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import Any, TypeVar

from .environment import Environment
from .errors import UserError, unknown_name

Factory = Callable[..., Environment]
F = TypeVar("F", bound=Factory)

ENTRY_POINT_GROUP = "acidtest.envs"

_factories: dict[str, Factory] = {}


def register(name: str) -> Callable[[F], F]:
    """Register an environment class, or a function that returns an environment, under `name`.

    Raises UserError when the name is taken by something else.
    """

    def decorate(factory: F) -> F:
        taken = _factories.get(name)
        if taken is not None and taken.__qualname__ != factory.__qualname__:
            raise UserError(f"two environments are named {name!r}; rename one of them")
        _factories[name] = factory
        return factory

    return decorate


def list_environments() -> list[str]:
    """All names that `make` takes, sorted: the built-in ones and those of installed plug-ins."""
    return sorted({*_factories, *_plugins()})


def make(name: str, **options: Any) -> Environment:
    """Build the environment registered as `name`. Raises UserError for an unknown name or option."""
    factory = _factory(name)
    _check_options(factory, name, options)
    environment = factory(**options)
    environment.name = name
    return environment


def environment_help(name: str) -> str:
    """The first line of the docstring of the environment registered as `name`."""
    return (inspect.getdoc(_factory(name)) or "").partition("\n")[0]


def _factory(name: str) -> Factory:
    if name in _factories:
        return _factories[name]
    plugins = _plugins()
    if name not in plugins:
        raise UserError(unknown_name("environment", name, list_environments()))
    loaded: Factory = plugins[name].load()
    return _factories.setdefault(name, loaded)


@cache
def _plugins() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


def _check_options(factory: Factory, name: str, options: dict[str, Any]) -> None:
    parameters = inspect.signature(factory).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for option in options:
        if option not in parameters:
            raise UserError(unknown_name(f"option of environment {name!r}", option, parameters))
    for option, parameter in parameters.items():
        if parameter.default is parameter.empty and option not in options:
            raise UserError(f"environment {name!r} needs the option {option!r}; give it one")
