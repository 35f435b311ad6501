# Completion of cotenant for fish. Commands and options are those that --help names; words below are what stands
# behind some options.

function __cotenant_commands
    cotenant --help 2>/dev/null | string replace -rf '^  ([a-z][a-z-]*) +(.*)' '$1\t$2'
end

# First words of the lines of a list, without its head.
function __cotenant_list
    cotenant list $argv 2>/dev/null | string replace -rf '^(\S+).*' '$1' | tail -n +2
end

# The programs that the daemon knows, and the pools.
function __cotenant_targets
    cotenant ps --json 2>/dev/null |
        awk -F '"' '/^  "/ { list = $2 } /^      "name":/ && list == "tenants" { print $4 }'
    printf 'pool:%s\n' latency batch shared
end

function __cotenant_values
    switch $argv
        case class
            printf '%s\n' latency batch
        case mode
            printf '%s\n' switch drain auto
        case sort
            printf '%s\n' id name class p99 requests launches sms freezes memory power gpu
        case format
            printf '%s\n' table prometheus
        case preempt
            printf '%s\n' switch drain
        case emulate
            printf '%s\n' h200 k20c
        case emulate-check
            printf '%s\n' races aligned
        case arch
            printf '%s\n' 75 80 86 89 90 100 120
        case pass
            printf '%s\n' workers retreat slice fuse count record batch
        case scheduler
            __cotenant_list schedulers
        case policy
            __cotenant_list policies
    end
end

# Behind -- stands a command line of its own.
function __cotenant_program
    set -l words (commandline -cop)
    set -l dashes (contains -i -- -- $words); or return
    set -l rest $words[(math $dashes + 1)..-1] (commandline -ct)
    complete -C "$rest"
end

# __cotenant_option COMMAND NAME VALUE HELP: files are offered for options that take a file or a folder.
function __cotenant_option
    set -l value
    if string match -qr 'FILE|FOLDER' -- $argv[3]
        set value -r
    else if test -n "$argv[3]"
        set value -x -a "(__cotenant_values $argv[2])"
    end
    complete -c cotenant -n "__fish_seen_subcommand_from $argv[1]" -l $argv[2] -d "$argv[4]" $value
end

complete -c cotenant -n __fish_use_subcommand -f -a '(__cotenant_commands)'
for command in (__cotenant_commands | string replace -r '\t.*' '')
    test $command = help && continue
    cotenant $command --help 2>/dev/null |
        string replace -rf '^ +(?:-., )? *--([a-z0-9-]+)(\[?=\S+)? *(.*)' '$1\t$2\t$3' |
        while read -l -d \t name value help
            __cotenant_option $command $name "$value" "$help"
        end
end
for command in preemption smqos consolidation laius
    complete -c cotenant -n '__fish_seen_subcommand_from reproduce' -f -a $command
end
for part in time power consolidate train heat check powers
    complete -c cotenant -n '__fish_seen_subcommand_from model' -a $part
end
complete -c cotenant -n '__fish_seen_subcommand_from cdi' -f -a generate
complete -c cotenant -n '__fish_seen_subcommand_from list' -f -a 'schedulers policies gpus traces'
complete -c cotenant -n '__fish_seen_subcommand_from policy' -f -a '(__cotenant_list policies) auto'
complete -c cotenant -n '__fish_seen_subcommand_from help' -f -a '(__cotenant_commands)'
complete -c cotenant -n '__fish_seen_subcommand_from set freeze thaw explain' -f -a '(__cotenant_targets)'
complete -c cotenant -n '__fish_seen_subcommand_from run profile' -a '(__cotenant_program)'
