"""Items of LangGraph's stores as entries, with the keys that `stemma/langgraph` gives them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from langgraph.store.base import Item, ListNamespacesOp, MatchCondition, SearchItem
from langgraph.store.base.embed import get_text_at_path, tokenize_path

from .models import Entry, FoundEntry

LABEL = "langgraph"
# No name of a namespace is empty, so that two of them end it.
_END = "//"
_ESCAPED = re.compile("[%/\0\ud800-\udfff]")


def _escaped(name: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):04x}", name)


def _read(name: str) -> str:
    return re.sub("%([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), name)


def entry_key(namespace: Iterable[str], key: str) -> str:
    return "/".join(map(_escaped, namespace)) + _END + _escaped(key)


def key_prefix(namespace: Iterable[str]) -> str:
    """Begins the keys of all items in and below a namespace."""
    return "".join(f"{_escaped(name)}/" for name in namespace)


def place_of(entry_key: str) -> tuple[tuple[str, ...], str]:
    names, _, key = entry_key.partition(_END)
    return tuple(map(_read, names.split("/"))), _read(key)


def item_of(entry: Entry) -> Item:
    namespace, key = place_of(entry.key)
    value: Any = entry.value
    return Item(value=value, key=key, namespace=namespace, created_at=entry.created_at, updated_at=entry.updated_at)


def search_item_of(entry: Entry) -> SearchItem:
    namespace, key = place_of(entry.key)
    value: Any = entry.value
    score = entry.score if isinstance(entry, FoundEntry) else None
    return SearchItem(namespace, key, value, entry.created_at, entry.updated_at, score)


def searchable_text(value: Mapping[str, Any], index: Sequence[str] | bool | None) -> str:
    """The texts at the paths of a value, a line each; without paths all of them, with False none."""
    if index is False:
        return ""
    if index is None or index is True:
        return "\n".join(_leaves(value))
    return "\n".join(text for path in index for text in get_text_at_path(dict(value), tokenize_path(path)))


def _leaves(value: object) -> list[str]:
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _leaves(each)]
    if isinstance(value, list):
        return [text for each in value for text in _leaves(each)]
    return [] if value is None else [str(value)]


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda found, wanted: bool(found == wanted),
    "$ne": lambda found, wanted: bool(found != wanted),
    "$gt": lambda found, wanted: float(found) > float(wanted),
    "$gte": lambda found, wanted: float(found) >= float(wanted),
    "$lt": lambda found, wanted: float(found) < float(wanted),
    "$lte": lambda found, wanted: float(found) <= float(wanted),
}


def fits(value: object, wanted: object) -> bool:
    """True for a value whose fields are those of a filter, or compare with them as its operators say."""
    if not isinstance(wanted, dict):
        return value == wanted
    if any(name in _OPERATORS for name in wanted):
        return all(_compares(name, value, bound) for name, bound in wanted.items())
    return isinstance(value, dict) and all(fits(value.get(name), each) for name, each in wanted.items())


def _compares(operator: str, found: object, wanted: object) -> bool:
    try:
        return _OPERATORS[operator](found, wanted)
    except (TypeError, ValueError):
        # What is not there, or is no number, is neither more nor less.
        return False


def namespaces_of(keys: Iterable[str], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    all = (place_of(key)[0] for key in keys)
    fitting = {each[: op.max_depth] for each in all if _matches(each, op.match_conditions or ())}
    return sorted(fitting)[op.offset : op.offset + op.limit]


def _matches(namespace: tuple[str, ...], conditions: Iterable[MatchCondition]) -> bool:
    for match_type, path in conditions:
        part = namespace[: len(path)] if match_type == "prefix" else namespace[max(0, len(namespace) - len(path)) :]
        if len(part) < len(path) or any(wanted not in ("*", name) for name, wanted in zip(part, path, strict=True)):
            return False
    return True
