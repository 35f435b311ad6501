"""Tables of documents that a program writes: between "<!-- NAME WORD.. -->" and "<!-- end -->"."""
import os
import re
import sys


def rewrite(path, name, table, check=False):
    """Puts table(WORD..) between the lines; with `check` only says whether that would change the document."""
    block = re.compile(rf"(<!-- {name}((?: [^ >]+)*) -->\n).*?(<!-- end -->)", re.DOTALL)
    with open(path, encoding="utf-8") as f:
        old = f.read()
    if not block.search(old):
        sys.exit(f"{name}: {path} has no lines '<!-- {name} .. -->' and '<!-- end -->'")
    new = block.sub(lambda m: m[1] + table(m[2].split()) + m[3], old)
    if check:
        sys.exit(f"{name}: {path} is not what its results say" if new != old else 0)
    with open(f"{path}.new", "w", encoding="utf-8") as f:
        f.write(new)
    os.replace(f"{path}.new", path)
