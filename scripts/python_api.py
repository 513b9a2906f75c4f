"""Prints python/api.md from the sources of the Python client: scripts/python_api.py PACKAGE SYNC_TREE

What the synchronous client has; the asynchronous one is the same with `await`.
"""

import ast
import sys
from pathlib import Path

HEAD = """# Reference of `runyard` for Python

Made from the sources by `npm run generate`. The [README](README.md) explains; this page lists. `AsyncRunyard` has the
same methods, to be awaited; its `list`, `conversation` and `stream` are iterated with `async for`.
"""


def main(package: Path, sync: Path) -> None:
    trees = [ast.parse(file.read_text()) for file in sorted(package.glob("*.py"))]
    trees += [ast.parse(file.read_text()) for file in sorted(sync.glob("*.py"))]
    classes = {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}
    client = classes["Runyard"]
    parts = [HEAD, "## Runyard\n", describe(client), ""]
    parts += ["## client\n", *methods("client", client), *methods("client", classes["Endpoints"]), ""]
    for field in client.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            name = f"client.{field.target.id}"
            parts += [f"## {name}\n", *methods(name, classes[ast.unparse(field.annotation)]), ""]
    pages = (
        "Page",
        "RunPage",
        "EnvironmentPage",
        "SecretPage",
        "IdentityPage",
        "SchedulePage",
        "FiringPage",
        "TriggerPage",
        "TriggerDeliveryPage",
        "WebhookPage",
        "WebhookDeliveryPage",
        "ApiKeyPage",
        "PoolPage",
        "PrincipalPage",
        "AuditPage",
        "ConversationPage",
    )
    for name in (
        *pages,
        "EventStream",
        "RunStream",
        "ManyRunsStream",
        "Answer",
        "RawResponse",
        "StreamingResponse",
    ):
        parts += [f"## {name}\n", describe(classes[name]), "", *methods("", classes[name]), ""]
    for name in ("RequestOptions", "CreateRunParams", "ListRunsParams", "FollowupParams", "ListEventsParams"):
        parts += [f"## {name}\n", describe(classes[name]), "", *fields(classes[name]), ""]
    print("\n".join(parts).rstrip())


def methods(prefix: str, declared: ast.ClassDef) -> list[str]:
    lines: list[str] = []
    for node in declared.body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
        name = f"{prefix}.{node.name}" if prefix else node.name
        doc = sentence(node)
        if "property" in decorators:
            lines.append(f"- `{name}`{f': {doc}' if doc else ''}")
        elif "overload" not in decorators:
            returned = f" → `{ast.unparse(node.returns)}`" if node.returns else ""
            lines.append(
                f"- `{name}({parameters(node.args)})`{returned}{f'  {chr(10)}  {doc}' if doc else ''}"
            )
    return lines


def parameters(args: ast.arguments) -> str:
    named = [arg for arg in args.args if arg.arg != "self"]
    written = [ast.unparse(arg) for arg in named]
    if args.kwonlyargs:
        written += [] if args.vararg else ["*"]
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            written.append(ast.unparse(arg) + (f" = {ast.unparse(default)}" if default else ""))
    if args.kwarg:
        written.append(f"**{ast.unparse(args.kwarg)}")
    return ", ".join(written)


def fields(declared: ast.ClassDef) -> list[str]:
    lines: list[str] = []
    for base in declared.bases:
        if ast.unparse(base) not in ("TypedDict",):
            lines.append(f"- what `{ast.unparse(base)}` has")
    for node, after in zip(declared.body, [*declared.body[1:], ast.Pass()], strict=True):
        if isinstance(node, ast.AnnAssign):
            lines.append(f"- `{ast.unparse(node)}`{f'. {text}' if (text := comment(after)) else ''}")
    return lines


def comment(node: ast.stmt) -> str:
    """The string after a field."""
    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ):
        return " ".join(node.value.value.split())
    return ""


def describe(declared: ast.ClassDef) -> str:
    """The docstring, what is indented as code."""
    text = (ast.get_docstring(declared) or "").replace("Parameters:", "").rstrip()
    lines: list[str] = []
    for line in text.split("\n"):
        parameter, colon, rest = line.strip().partition(": ")
        indented = line.startswith("    ")
        if indented and colon and parameter.isidentifier():
            lines.append(f"- `{parameter}`: {rest}")
        elif indented and lines and lines[-1].startswith("- "):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines).replace("\n\n\n", "\n\n")


def sentence(node: ast.FunctionDef) -> str:
    """The first paragraph of the docstring."""
    text = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
    return f"{text[:-1]}." if text.endswith(":") else text


main(Path(sys.argv[1]), Path(sys.argv[2]))
