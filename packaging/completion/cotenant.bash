# Completion of cotenant for bash: commands, options, schedulers, studies, scenario files, and the
# names of what runs.

# First words of the lines of a list, without its head.
_cotenant_list()
{
	"${COMP_WORDS[0]}" list "$1" 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_cotenant_words()
{
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# Files and folders; $1 is a regular expression that their names must match.
_cotenant_files()
{
	local name
	compopt -o filenames 2>/dev/null
	COMPREPLY=()
	while IFS= read -r name; do
		if [[ -d $name || $name =~ $1 ]]; then
			COMPREPLY+=("$name")
		fi
	done < <(compgen -f -- "$2")
}

_cotenant_options()
{
	local common='--help --usage --version'
	case $1 in
	sim)
		echo "--scheduler= --policy= --preempt= --seed= --set= --json --allocation --timeline= --report= --learn= --knowledge= --progress $common"
		;;
	reproduce) echo "--quick --json --report= --seed= --threads= --jitter= --sizes= --progress $common" ;;
	compare) echo "--scheduler= --policy= --set= --random= --seed= --seeds= --threads= --json --csv --report= --progress $common" ;;
	sweep) echo "--set= --seed= --seeds= --threads= --json --csv --report= --progress $common" ;;
	plan) echo "--gpus= --per-gpu= --margin= --seconds= --seed= --threads= --json --csv --progress $common" ;;
	list) echo "--json $common" ;;
	model) echo "--json --concurrent --piecewise --min-gain= --free-memory= --whole --train= --train-with= --yaml= --points --live --scenario= --seed= $common" ;;
	ptx) echo "--pass= --kernel= --output= --list --json $common" ;;
	run)
		echo "--class= --name= --weight= --gpu= --block= --quota= --reserve= --sms= --rewrite --merge --merge-anew --backend= --cpu= --cpu-kernels= --cpu-by=
			--pace= --memory= --memory-oversubscribe --p99= --slowdown= --rate= --measure --policy= --solo --required
			--emulate= --emulate-seed= --emulate-check= $common"
		;;
	profile) echo "--class= --sizes= --parts= --requests= --kernel-seconds= --output= --judge= --emulate= --json --progress $common" ;;
	set) echo "--class= --weight= --slice= --mode= --block= --quota= --reserve= --sms= --pace= --p99= --slowdown= --rate=
			--json $common" ;;
	report) echo "--output= --timeline= --json $common" ;;
	scenario-from) echo "--output= --gpu= --from-gpu= --json --progress $common" ;;
	record) echo "--output= --for= --interval= --limit= --json $common" ;;
	top) echo "--once --json --interval= --sort= --reverse --filter= $common" ;;
	ps) echo "--wide --csv --json $common" ;;
	stats) echo "--wide --format= --csv --json $common" ;;
	freeze | thaw | policy | explain) echo "--json $common" ;;
	inspect) echo "--arch= --json $common" ;;
	cdi) echo "--output= --json --socket= $common" ;;
	doctor) echo "--json --offline --parts --emulate= $common" ;;
	*) echo "$common" ;;
	esac
}

# The programs that the daemon knows, and the pools. In the JSON a member has a line of its own, and
# those of programs and pools stand at the same depth. Names that bash would split are left out.
_cotenant_tenants()
{
	"${COMP_WORDS[0]}" ps --json 2>/dev/null | awk -F '"' '
		/^  "/ { list = $2 }
		/^      "name":/ && $4 !~ /[ \\]/ && list == "tenants" { print $4 }'
	printf 'pool:%s\n' latency batch shared
}

# bash takes the parts of "pool:latency" for three words.
_cotenant_targets()
{
	local before=${COMP_WORDS[COMP_CWORD - 1]}

	if [[ $1 == : && $before == pool ]]; then
		_cotenant_words 'latency batch shared' ''
	elif [[ $before == : ]]; then
		_cotenant_words 'latency batch shared' "$1"
	else
		_cotenant_words "$(_cotenant_tenants)" "$1"
	fi
}

# The kernels of the PTX file that is named on the line.
_cotenant_kernels()
{
	local word
	for word in "${COMP_WORDS[@]:2}"; do
		[[ $word == *.ptx && -f $word ]] || continue
		"${COMP_WORDS[0]}" ptx "$word" --list 2>/dev/null |
			awk '$2 ~ /^[0-9]+$/ { print $1 }'
	done
}

# The value of an option ($2) of a command ($1); false when it takes none that we know of.
_cotenant_value()
{
	case $1 in
	ps | freeze | thaw | stats | policy | explain | doctor | inspect) [[ $2 == --@(arch|json|emulate|format) ]] || return 1 ;;
	ptx) [[ $2 != --list ]] || return 1 ;;
	esac
	shift
	case $1 in
	--class) _cotenant_words 'latency batch' "$2" ;;
	--mode) _cotenant_words 'switch drain auto' "$2" ;;
	--emulate) _cotenant_words 'h200 k20c' "$2" ;;
	--emulate-check) _cotenant_words 'races aligned' "$2" ;;
	--slice) _cotenant_words 'auto' "$2" ;;
	--block) [[ $command == set ]] && _cotenant_words 'unknown' "$2" ;;
	--quota | --reserve | --sms) [[ $command == set ]] && _cotenant_words 'none' "$2" ;;
	--name | --weight | --gpu) COMPREPLY=() ;;
	--arch) _cotenant_words '75 80 86 89 90 100 120' "$2" ;;
	--pass) _cotenant_words 'workers retreat slice fuse count record batch' "$2" ;;
	--kernel) _cotenant_words "$(_cotenant_kernels)" "$2" ;;
	--output)
		if [[ $command == profile ]]; then
			_cotenant_files '\.knowledge$' "$2"
		elif [[ $command == record ]]; then
			_cotenant_files '\.cot(\.gz)?$' "$2"
		elif [[ $command == scenario-from ]]; then
			_cotenant_files '\.ya?ml$' "$2"
		elif [[ $command == report ]]; then
			_cotenant_files '\.html$' "$2"
		else
			_cotenant_files '\.ptx$' "$2"
		fi
		;;
	--scheduler) _cotenant_words "$(_cotenant_list schedulers)" "$2" ;;
	--policy) _cotenant_words "$(_cotenant_list policies)" "$2" ;;
	--sort) _cotenant_words 'id name class p99 requests launches sms freezes memory power gpu' "$2" ;;
	--format) _cotenant_words 'table prometheus' "$2" ;;
	--preempt) _cotenant_words 'switch drain' "$2" ;;
	--json) ((equals)) && _cotenant_files '\.json$' "$2" ;;
	--csv) ((equals)) && _cotenant_files '\.csv$' "$2" ;;
	--timeline) _cotenant_files '\.json(\.gz)?$' "$2" ;;
	--report) _cotenant_files '\.html$' "$2" ;;
	--interval | --for | --limit | --filter | --set | --seed | --seeds | --gpus | --per-gpu | --margin | --seconds | --random | --emulate-seed | --threads | --jitter | --sizes | --parts | --requests | --min-gain | --free-memory | --train | --train-with | --scenario) COMPREPLY=() ;;
	*) return 1 ;;
	esac
}

# cotenant run and profile: behind their options comes a command line of its own. The index of the program's word
# goes to `offset`; false while our options are being typed.
_cotenant_program()
{
	local i

	for ((i = 2; i <= COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--)
			((i < COMP_CWORD)) || return 1
			offset=$((i + 1))
			return 0
			;;
		-* | =) ;;
		*)
			[[ ${COMP_WORDS[i - 1]} == = ]] && continue
			[[ ${COMP_WORDS[i - 1]} == @(-n|-o|--name|--class|--weight|--gpu|--block|--output|--sizes|--parts|--requests|--kernel-seconds|--judge|--emulate?(-seed|-check)) ]] && continue
			offset=$i
			return 0
			;;
		esac
	done
	return 1
}

# cotenant model PART FILE
_cotenant_model()
{
	case ${COMP_WORDS[2]} in
	time | power | consolidate) _cotenant_files '\.ya?ml$' "$1" ;;
	train | heat) _cotenant_files '\.csv$' "$1" ;;
	check | powers) _cotenant_files '\.jsonl$' "$1" ;;
	esac
	((COMP_CWORD > 2)) || _cotenant_words 'time power consolidate train heat check powers' "$1"
}

_cotenant()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev command=${COMP_WORDS[1]} offset equals=0

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		_cotenant_words 'run ps top set freeze thaw stats policy explain record report scenario-from profile doctor cdi sim compare sweep plan model reproduce inspect ptx list help
			--help --usage --version' "$cur"
		return
	fi
	if [[ $command == run ]] && _cotenant_program; then
		if declare -F _command_offset >/dev/null; then
			_command_offset "$offset"
		elif ((offset == COMP_CWORD)); then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur" | sort -u)
		fi
		return
	fi
	# bash splits --option=value into three words.
	prev=${COMP_WORDS[COMP_CWORD - 1]}
	if [[ $cur == '=' ]]; then
		cur='' equals=1
	elif [[ $prev == '=' ]]; then
		equals=1
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [[ $prev == --* ]] && _cotenant_value "$command" "$prev" "$cur"; then
		return
	fi
	if [[ $cur == -* ]]; then
		_cotenant_words "$(_cotenant_options "$command")" "$cur"
		[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
		return
	fi
	case $command in
	ptx) _cotenant_files '\.ptx$' "$cur" ;;
	inspect) _cotenant_files . "$cur" ;;
	report | scenario-from) _cotenant_files '\.cot(\.gz)?$' "$cur" ;;
	sim | compare | plan) _cotenant_files '\.ya?ml$' "$cur" ;;
	cdi) _cotenant_words generate "$cur" ;;
	list) _cotenant_words 'schedulers policies gpus traces' "$cur" ;;
	reproduce) _cotenant_words 'preemption smqos consolidation laius' "$cur" ;;
	model) _cotenant_model "$cur" ;;
	set | freeze | thaw) _cotenant_targets "$cur" ;;
	policy) _cotenant_words "$(_cotenant_list policies) auto" "$cur" ;;
	explain) _cotenant_words "$(_cotenant_tenants | grep -v ^pool:)" "$cur" ;;
	help)
		_cotenant_words 'run ps top set freeze thaw stats policy explain record report scenario-from profile doctor cdi sim compare sweep plan model reproduce inspect ptx list' \
			"$cur"
		;;
	esac
}

complete -F _cotenant cotenant
