"""Which small changes there are in a C file that is formatted as ours are.

A function's body begins with a line "{" and ends with a line "}"; what is outside (enums, tables) is left
alone, and so is what only words or logs an error. Binary operators stand between white space.
"""

import collections
import hashlib
import re

TOKEN = re.compile(
    r"(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<text>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<number>(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)[uUlLf]*)"
    r"|(?P<op><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^<>=!~?:;,.(){}\[\]])"
    r"|(?P<line>^[ \t]*\#(?:\\\n|[^\n])*)|(?P<space>\s+)|(?P<other>.)", re.S | re.M)

BINARY = {
    "relational": {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
                   "==": ["!="], "!=": ["=="]},
    "logical": {"&&": ["||"], "||": ["&&"]},
    "arithmetic": {"+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"],
                   "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="]},
    "bit": {"&": ["|"], "|": ["&"], "^": ["&"], "<<": [">>"], ">>": ["<<"], "|=": ["&="], "&=": ["|="],
            "<<=": [">>="], ">>=": ["<<="]},
}
KINDS = [*BINARY, "constant", "boolean", "condition", "deletion", "return"]
TYPES = {"bool", "char", "const", "double", "enum", "float", "int", "long", "short", "size_t", "static",
         "struct", "union", "unsigned", "va_list", "void"}
QUIET = re.compile(r"(cot_error_set|cot_log|log_\w+|complain|say|assert|static_assert)$")

Token = collections.namedtuple("Token", "kind text at")
Mutant = collections.namedtuple("Mutant", "path line kind begin end text before after")


def bodies(text):
    """(begin, end) of every function's body."""
    begin = None
    for match in re.finditer(r"^[{}][^\n]*", text, re.M):
        if match.group() == "{":
            begin = match.end()
        elif begin is not None:
            yield begin, match.start()
            begin = None


def tokens(text, begin, end):
    """What the compiler sees of a body."""
    return [Token(m.lastgroup, m.group(), m.start()) for m in TOKEN.finditer(text, begin, end)
            if m.lastgroup not in ("comment", "space", "line")]


def closing(toks, i):
    """Index of the bracket that closes the one at i."""
    depth = 0
    for j in range(i, len(toks)):
        depth += (toks[j].text in "([{") - (toks[j].text in ")]}")
        if depth == 0:
            return j
    return len(toks) - 1


def quiet_tokens(toks):
    """Indices of what stands in calls that only word an error or log something."""
    found = set()
    for i, t in enumerate(toks[:-1]):
        if t.kind == "name" and QUIET.match(t.text) and toks[i + 1].text == "(":
            found.update(range(i, closing(toks, i + 1) + 1))
    return found


def statements(toks):
    """(first, last) of each simple statement; last is its semicolon."""
    i = 0
    while i < len(toks):
        word = toks[i].text
        if word in ("if", "while", "for", "switch") or word.startswith(("hw_for_each", "cot_for_each")):
            i = closing(toks, i + 1) + 1
            if word == "while" and i < len(toks) and toks[i].text == ";":
                i += 1
        elif word in ("case", "default") or (i + 1 < len(toks) and toks[i + 1].text == ":"):
            while toks[i].text != ":":
                i += 1
            i += 1
        elif word in ("{", "}", "else", "do", ";"):
            i += 1
        else:
            first = i
            while i < len(toks) and toks[i].text != ";":
                i = closing(toks, i) + 1 if toks[i].text in ("(", "[", "{") else i + 1
            yield first, min(i, len(toks) - 1)
            i += 1


def is_declaration(toks, first):
    """Two names beside each other, or a name, an asterisk and a name."""
    a, rest = toks[first], [t for t in toks[first + 1:first + 5] if t.text != "*"]
    return a.text in TYPES or (a.kind == "name" and a.text not in ("return", "goto") and bool(rest) and
                               rest[0].kind == "name" and toks[first + 1].text in ("*", rest[0].text))


def next_numbers(number):
    """A number one larger and, unless it is 0, one smaller."""
    digits, suffix = re.match(r"(0[xX][0-9a-fA-F]+|[\d.eE+-]+?)([uUlLf]*)$", number).groups()
    if re.search(r"[.eE]", digits) and not digits.lower().startswith("0x"):
        return [f"{float(digits) + 1!r}{suffix}"]
    value = int(digits, 16 if digits.lower().startswith("0x") else 10)
    show = (lambda n: f"{n:#x}{suffix}") if digits.lower().startswith("0x") else (lambda n: f"{n}{suffix}")
    return [show(value + 1)] + ([show(value - 1)] if value else [])


def changed_statements(text, toks, quiet):
    """Deleted statements, and returns of something else."""
    for first, last in statements(toks):
        t, after = toks[first], toks[min(first + 1, last)].text
        if first in quiet:
            continue
        if t.text == "return" and last > first + 1:
            value = text[toks[first + 1].at:toks[last].at].strip()
            if value not in ("true", "false", "NULL"):
                yield "return", t.at, toks[last].at, "return -22" if value == "0" else "return 0"
        elif t.text in ("break", "continue", "goto", "return", "*", "++", "--") or (
                t.text == "(" and after == "void") or (
                t.kind == "name" and not is_declaration(toks, first)):
            yield "deletion", t.at, toks[last].at, ""


def array_sizes(toks):
    """Indices of numbers that are the size of an array: one more changes nothing."""
    found = set()
    for first, last in statements(toks):
        if is_declaration(toks, first):
            found.update(i for i in range(first, last) if toks[i - 1].text == "[" and toks[i + 1].text == "]")
    return found


def changed_tokens(text, toks, quiet):
    """Operators, constants, conditions."""
    sizes = array_sizes(toks)
    for i, t in enumerate(toks):
        end = t.at + len(t.text)
        if i in quiet:
            continue
        if t.kind == "op" and text[t.at - 1].isspace() and text[end].isspace():
            for kind, table in BINARY.items():
                for other in table.get(t.text, ()):
                    yield kind, t.at, end, other
        elif t.text == "!":
            yield "condition", t.at, end, ""
        elif t.text in ("++", "--") and (i == 0 or toks[i + 1].text == ";" or toks[i - 1].text == ";"):
            yield "arithmetic", t.at, end, "--" if t.text == "++" else "++"
        elif t.text in ("true", "false"):
            yield "boolean", t.at, end, "false" if t.text == "true" else "true"
        elif t.kind == "number" and i not in sizes and not (
                t.text == "0" and toks[i - 1].text == "return"):
            for other in next_numbers(t.text):
                yield "constant", t.at, end, other
        elif t.text in ("if", "while") and toks[i + 1].text == "(":
            last = toks[closing(toks, i + 1)].at
            yield "condition", toks[i + 1].at + 1, last, f"!({text[toks[i + 1].at + 1:last]})"


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def mutants(path, text):
    """All changes of a file."""
    for begin, end in bodies(text):
        toks = tokens(text, begin, end)
        quiet = quiet_tokens(toks)
        for kind, at, to, new in [*changed_statements(text, toks, quiet), *changed_tokens(text, toks, quiet)]:
            first, last = text.rfind("\n", 0, at) + 1, text.find("\n", to)
            yield Mutant(path, text.count("\n", 0, at) + 1, kind, at, to, new, one_line(text[first:last]),
                         one_line(text[first:at] + new + text[to:last]))


def apply(text, mutant):
    """The file with this change; every other line stays where it is."""
    lost = text.count("\n", mutant.begin, mutant.end) - mutant.text.count("\n")
    return text[:mutant.begin] + mutant.text + "\n" * lost + text[mutant.end:]


def in_order(found, seed):
    """All changes in the seed's order, one kind after the other. It hangs on the texts only: a change
    elsewhere in a file moves nothing."""
    seen, queues = collections.Counter(), {kind: [] for kind in KINDS}
    for m in found:
        text = f"{seed}\n{m.path}\n{m.kind}\n{m.before}\n{m.after}"
        seen[text] += 1
        rank = hashlib.sha256(f"{text}\n{seen[text]}".encode()).hexdigest()
        queues[m.kind].append((rank, m))
    for queue in queues.values():
        queue.sort(reverse=True)
    while any(queues.values()):
        for kind in KINDS:
            if queues[kind]:
                yield queues[kind].pop()[1]
