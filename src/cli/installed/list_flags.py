"""Prints every serve flag of the vLLM or SGLang that this interpreter has, as one JSON line: run by `perflab std learn` and
`perflab check --installed` with the engine's own interpreter. It builds the parser that the server uses and reads its actions."""

import argparse
import dataclasses
import enum
import json
import os
import re
import sys
import types
import typing


def plain(value):
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [plain(v) for v in value]
        return sorted(items, key=str) if isinstance(value, (set, frozenset)) else items
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return {}
    return re.sub(r" at 0x[0-9a-f]+", "", getattr(value, "__name__", None) or str(value))


def type_name(action):
    if action.nargs == 0 or isinstance(action, argparse.BooleanOptionalAction):
        return "bool"
    kind = action.type
    if kind is None:
        return "str"
    name = getattr(kind, "__qualname__", None) or type(kind).__name__
    if "union_dict_and_str" in name:
        return "json or str"
    if "parse_dataclass" in name:
        return "json"
    if "optional_type" in name or "parse_type" in name:  # a closure around json.loads, int …
        inner = [c.cell_contents for c in (kind.__closure__ or ()) if callable(c.cell_contents)]
        name = next((getattr(i, "__name__", str(i)) for i in inner), name)
    name = name.split(".")[-1]
    return {"loads": "json", "_parse_type": "json", "<lambda>": "str"}.get(name, name)


def options(hint):
    """The types that a hint joins, None aside."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return [o for part in typing.get_args(hint) for o in options(part)]
    if origin is typing.Annotated:
        return options(typing.get_args(hint)[0])
    return [] if hint is type(None) else [hint]


def bounds(whole, constraints):
    """The least and the most of a number, of what its class says of it; of more than a bound, only what is not below it."""
    found = {}
    for one in constraints:
        above = getattr(one, "gt", None)
        least = getattr(one, "ge", None)
        if least is None and above is not None:
            least = above + 1 if whole else above
        if isinstance(least, (int, float)):
            found["min"] = least
        below = getattr(one, "lt", None)
        most = getattr(one, "le", None)
        if most is None and below is not None:
            most = below - 1 if whole else below
        if isinstance(most, (int, float)):
            found["max"] = most
    return found


def takes(config, key, value):
    try:
        config(**{key: value})
    except Exception:
        return False
    return True


# what an engine builds itself: asked for, it would look for a model
BUILT = ("target_model_config", "target_parallel_config", "draft_model_config", "draft_parallel_config")


def members(config, key, choices):
    """The names and values of an enumeration that a class takes for a key: it is asked with each, as many take the names too."""
    tried = [c.name for c in choices] + [c.value for c in choices if isinstance(c.value, (str, int))]
    taken = [str(t) for t in dict.fromkeys(tried) if takes(config, key, t)]
    return {"choices": taken} if taken and takes(config, key, next(iter(choices))) else {}


def key_type(config, key, hint, field, depth):
    """What a key's value has to be, where that is one plain thing."""
    found = options(hint)
    if found and all(typing.get_origin(o) is typing.Literal for o in found):
        texts = [v for o in found for v in typing.get_args(o) if v is not None]
        return {"choices": texts} if all(isinstance(v, str) for v in texts) else {}
    if len(found) != 1:
        return {}
    if isinstance(found[0], type) and issubclass(found[0], enum.Enum):
        return members(config, key, found[0])
    if key in BUILT:
        return {}
    if dataclasses.is_dataclass(found[0]) and depth < 3:
        inner = keys(found[0], depth + 1)
        return {"type": "json", "keys": inner} if refuses_others(config, key) else {}
    names = {bool: "bool", int: "int", float: "float", str: "str"}
    if found[0] not in names:
        return {}
    constraints = [*getattr(field.default, "metadata", ()), *constraints_of(hint)]
    number = bounds(found[0] is int, constraints) if found[0] in (int, float) else {}
    return {"type": names[found[0]], **number}


def constraints_of(hint):
    """What is annotated to a hint, and to those that it joins."""
    inner = [c for part in typing.get_args(hint) for c in constraints_of(part)]
    return [*getattr(hint, "__metadata__", ()), *inner]


def refuses_others(config, key):
    """Whether a class takes an object for a key, and refuses one with a key of no meaning."""
    return takes(config, key, {}) and not takes(config, key, {"no_such_key_as_this": 1})


def keys(config, depth=0):
    """The keys that a JSON flag may have, of the class that it is read into."""
    try:
        hints = typing.get_type_hints(config, include_extras=True)
    except Exception:  # a name that only a type checker imports
        hints = {}
    fields = [f for f in dataclasses.fields(config) if f.init]
    return [{"name": f.name, **key_type(config, f.name, hints.get(f.name, object), f, depth)} for f in fields]


def config_of(action):
    """The class that an option's JSON is read into, deep in the functions that read it."""
    cells = [action.type]
    for _ in range(3):
        inner = [c.cell_contents for f in cells for c in getattr(f, "__closure__", None) or ()]
        cells = inner + [d for f in cells for d in getattr(f, "__defaults__", None) or ()]
        for found in cells:
            if isinstance(found, type) and dataclasses.is_dataclass(found):
                return found
    if action.dest == "speculative_config":
        from vllm.config import SpeculativeConfig

        return SpeculativeConfig
    return None


def known(action):
    """The texts that an option is known to take: what a plug-in adds is not among them."""
    try:
        return [str(v) for v in KNOWN[action.dest]()]
    except Exception:
        return []


def quantization():
    from vllm.model_executor.layers.quantization import QUANTIZATION_METHODS

    return QUANTIZATION_METHODS


def load_format():
    from vllm.model_executor.model_loader import _LOAD_FORMAT_TO_MODEL_LOADER

    return _LOAD_FORMAT_TO_MODEL_LOADER


def attention_backend():
    try:
        from vllm.v1.attention.backends.registry import AttentionBackendEnum
    except ImportError:
        from vllm.attention.backends.registry import AttentionBackendEnum
    return [b.name for b in AttentionBackendEnum]


def tool_call_parser():
    try:
        from vllm.tool_parsers import ToolParserManager
    except ImportError:
        from vllm.entrypoints.openai.tool_parsers import ToolParserManager
    return listed(ToolParserManager, "tool_parsers")


def reasoning_parser():
    from vllm.reasoning import ReasoningParserManager

    return listed(ReasoningParserManager, "reasoning_parsers")


def listed(manager, table):
    lazy = getattr(manager, "lazy_parsers", {})
    return sorted({*getattr(manager, table), *lazy})


KNOWN = {
    "quantization": quantization,
    "load_format": load_format,
    "attention_backend": attention_backend,
    "tool_call_parser": tool_call_parser,
    "reasoning_parser": reasoning_parser,
}


def rows(parser):
    for action in parser._actions:
        if not action.option_strings or isinstance(action, argparse._HelpAction):
            continue
        names = action.option_strings
        flag = next((n for n in names if n.startswith("--")), names[0])
        default = None if action.default is argparse.SUPPRESS else plain(action.default)
        yield {
            "flag": flag,
            "aliases": [n for n in names if n != flag],
            "type": type_name(action),
            "action": type(action).__name__.strip("_").removesuffix("Action"),
            "nargs": action.nargs if action.nargs != 0 else None,
            "choices": plain(list(action.choices)) if action.choices else None,
            "default": default,
            "keys": keys(config) if (config := config_of(action)) else [],
            "known": [] if action.choices or sys.argv[1] != "vllm" else known(action),
        }


def vllm():
    from importlib.metadata import version

    try:
        from vllm.utils.argparse_utils import FlexibleArgumentParser
    except ImportError:
        from vllm.utils import FlexibleArgumentParser
    try:
        from vllm.entrypoints.launchers.cli_args import make_arg_parser
    except ImportError:
        from vllm.entrypoints.openai.cli_args import make_arg_parser
    return version("vllm"), make_arg_parser(FlexibleArgumentParser(prog="vllm serve"))


def sglang():
    from importlib.metadata import version

    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    return version("sglang"), parser


# what importing an engine prints goes elsewhere
answer = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
number, parser = {"vllm": vllm, "sglang": sglang}[sys.argv[1]]()
found = sorted(rows(parser), key=lambda row: row["flag"])
json.dump({"version": number, "rows": found}, answer)
answer.flush()
os._exit(0)  # threads that an import started shall not keep us
