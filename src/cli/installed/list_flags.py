"""Prints every serve flag of the vLLM or SGLang that this interpreter has, as one JSON line: run by `perflab std learn` and
`perflab check --installed` with the engine's own interpreter. It builds the parser that the server uses and reads its actions."""

import argparse
import dataclasses
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


def key_type(hint):
    """What a key's value has to be, where that is one plain thing."""
    found = options(hint)
    if found and all(typing.get_origin(o) is typing.Literal for o in found):
        texts = [v for o in found for v in typing.get_args(o) if v is not None]
        return {"choices": texts} if all(isinstance(v, str) for v in texts) else {}
    names = {bool: "bool", int: "int", float: "float", str: "str"}
    return {"type": names[found[0]]} if len(found) == 1 and found[0] in names else {}


def keys(config):
    """The keys that a JSON flag may have, of the class that it is read into."""
    try:
        hints = typing.get_type_hints(config, include_extras=True)
    except Exception:  # a name that only a type checker imports
        hints = {}
    fields = [f for f in dataclasses.fields(config) if f.init]
    return [{"name": f.name, **key_type(hints.get(f.name, object))} for f in fields]


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
