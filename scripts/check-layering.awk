# Reads the rules first (RULES is their path), then C files named relative to the root.
# Prints one line per violation and ends with status 1 if there was one.

function complain(what)
{
	printf "%s:%d: %s\n", FILENAME, FNR, what
	n_bad++
}

# The longest folder of the rules that holds `path` (below src/ or include/); "" when none does.
function unit_of(path,    folder, best)
{
	best = ""
	for (folder in uses)
		if (index(path, folder "/") == 1 && length(folder) > length(best))
			best = folder
	return best
}

function in_list(word, list,    parts, n, i)
{
	n = split(list, parts, " ")
	for (i = 1; i <= n; i++) {
		if (parts[i] == word)
			return 1
		if (parts[i] ~ /\*$/ &&
		    index(word, substr(parts[i], 1, length(parts[i]) - 1)) == 1)
			return 1
	}
	return 0
}

function rest_of_line(from,    i, text)
{
	text = ""
	for (i = from; i <= NF; i++)
		text = text " " $i
	return text
}

function read_rule(    i)
{
	if ($1 == "set")
		set[$2] = rest_of_line(3)
	else if ($1 == "unit" && $3 == "uses")
		uses[$2] = " " rest_of_line(4)
	else if ($1 == "ban" && $3 == "unit")
		ban[$2, "unit"] = rest_of_line(4)
	else if ($1 == "ban" && ($3 == "include" || $3 == "call")) {
		for (i = 4; i <= NF; i++) {
			if (!($i in set))
				complain("there is no set \"" $i "\"; expected one named above")
			ban[$2, $3] = ban[$2, $3] " " set[$i]
		}
	} else
		complain("expected set, unit or ban, found \"" $1 "\"")
}

function check_ours(target,    there, home)
{
	home = target
	if (sub(/([^\/]*_)?inside\.h$/, "", home) && index(path, home) != 1)
		complain("\"" target "\" is private to the files of " home)
	if (target !~ /\//) {
		complain("\"" target "\" is not relative to src/; expected folder/" target)
		return
	}
	there = unit_of(target)
	if (there == here)
		return
	if (there == "")
		complain("\"" target "\" is in no folder that the rules know")
	else if (in_list(there, ban[here, "unit"]))
		complain(here " may never include " there " (\"" target "\")")
	else if (!in_list(there, uses[here]) && !in_list(target, uses[here]))
		complain(here " may not include \"" target "\"; expected one of: " here uses[here])
}

function check_include(    target)
{
	target = $0
	sub(/^[ \t]*#[ \t]*include[ \t]*/, "", target)
	if (target ~ /^"/) {
		sub(/^"/, "", target)
		sub(/".*/, "", target)
		check_ours(target)
	} else if (target ~ /^</) {
		sub(/^</, "", target)
		sub(/>.*/, "", target)
		if (target ~ /^cotenant\//)
			check_ours(target)
		else if (in_list(target, ban[here, "include"]))
			complain(here " may not include <" target ">")
	}
}

# Blanks out comments and string literals, so that their words do not count as calls.
function code_of(line,    out, at)
{
	out = ""
	gsub(/\\./, "", line)
	gsub(/"[^"]*"/, "\"\"", line)
	while (1) {
		if (in_comment) {
			at = index(line, "*/")
			if (!at)
				return out
			line = substr(line, at + 2)
			in_comment = 0
		}
		at = index(line, "/*")
		if (!at)
			return out line
		out = out substr(line, 1, at - 1) " "
		line = substr(line, at + 2)
		in_comment = 1
	}
}

function check_calls(line,    name)
{
	while (match(line, /[A-Za-z_][A-Za-z0-9_]*[ \t]*\(/)) {
		name = substr(line, RSTART, RLENGTH)
		sub(/[ \t]*\($/, "", name)
		# A member or a function of that name behind a pointer is something else.
		if (substr(line, RSTART - 1, 1) !~ /[.>]/ && in_list(name, ban[here, "call"]))
			complain(here " may not call " name "()")
		line = substr(line, RSTART + RLENGTH)
	}
}

FILENAME == RULES {
	if (!/^[ \t]*(#|$)/)
		read_rule()
	next
}

FNR == 1 {
	path = FILENAME
	sub(/^.*(src|include)\//, "", path)
	here = unit_of(path)
	in_comment = 0
	if (here == "")
		complain(path " is in no folder that the rules know")
	n_files++
}

here == "" { next }
/^[ \t]*#[ \t]*include/ { check_include(); next }
{ check_calls(code_of($0)) }

END {
	if (!n_bad)
		printf "layering: %d files obey the rules\n", n_files
	exit n_bad ? 1 : 0
}
