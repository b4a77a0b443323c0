"""Prints every serve flag of the vLLM or SGLang that this interpreter has, as one JSON line: run by `perflab std learn` and
`perflab check --installed` with the engine's own interpreter. It builds the parser that the server uses and reads its actions."""

import argparse
import json
import os
import re
import sys


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
