package main

import (
	"fmt"
	"io"
	"strings"
)

// writeBash writes a script for bash. Where it has no answer, bash completes files.
func writeBash(w io.Writer, commands []completedCommand) {
	fmt.Fprint(w, `# bash completion for espalier. For this shell: source <(espalier completion bash)
# For all: espalier completion bash > ~/.local/share/bash-completion/completions/espalier

_espalier() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=
    # Bash takes --flag=value for three words.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD-2]}
    fi
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
`)
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	fmt.Fprintf(w, "        words=%s\n", bashQuote(append(names, "--help", "--version")))
	fmt.Fprint(w, "    else\n        case ${COMP_WORDS[1]} in\n")
	for _, c := range commands {
		fmt.Fprintf(w, "        %s)\n            case $prev in\n", c.name)
		var all []string
		var files []string
		for _, f := range c.flags {
			all = append(all, "--"+f.name)
			switch {
			case f.value == "":
			case f.words == nil:
				files = append(files, f.spellings()...)
			default:
				fmt.Fprintf(w, "            %s) words=%s ;;\n", strings.Join(f.spellings(), "|"), bashQuote(f.words))
			}
		}
		if files != nil {
			fmt.Fprintf(w, "            %s) ;;\n", strings.Join(files, "|"))
		}
		fmt.Fprintf(w, "            *)\n                if [[ $cur == -* ]]; then\n                    words=%s\n", bashQuote(all))
		if c.words != nil {
			fmt.Fprintf(w, "                else\n                    words=%s\n", bashQuote(c.words))
		}
		fmt.Fprint(w, "                fi ;;\n            esac ;;\n")
	}
	fmt.Fprint(w, `        esac
    fi
    if [[ $words ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    fi
}

complete -o default -F _espalier espalier
`)
}

// bashQuote writes words such that bash takes them for one. None of them has a quote.
func bashQuote(words []string) string { return "'" + strings.Join(words, " ") + "'" }

// writeZsh writes a script for zsh.
func writeZsh(w io.Writer, commands []completedCommand) {
	fmt.Fprint(w, `#compdef espalier
# zsh completion for espalier. For this shell: source <(espalier completion zsh)
# For all: espalier completion zsh > "${fpath[1]}/_espalier"

_espalier() {
    local -a commands=(
`)
	for _, c := range commands {
		fmt.Fprintf(w, "        %s\n", shellQuote(c.name+":"+c.help, false))
	}
	fmt.Fprint(w, `    )
    if ((CURRENT == 2)); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    ((CURRENT--))
    case $command in
`)
	for _, c := range commands {
		fmt.Fprintf(w, "    %s)\n        _arguments \\\n", c.name)
		for _, f := range c.flags {
			for _, s := range f.spellings() {
				spec := "*" + s
				if f.value != "" && strings.HasPrefix(s, "--") {
					spec += "="
				}
				spec += "[" + zshEscape(f.help) + "]"
				if f.value != "" {
					spec += ":" + zshEscape(f.value) + ":" + zshAction(f.words)
				}
				fmt.Fprintf(w, "            %s \\\n", shellQuote(spec, false))
			}
		}
		fmt.Fprintf(w, "            %s ;;\n", shellQuote("*:"+c.name+":"+zshAction(c.words), false))
	}
	fmt.Fprint(w, `    esac
}

if [[ $funcstack[1] == _espalier ]]; then
    _espalier "$@"
else
    compdef _espalier espalier
fi
`)
}

// zshEscape keeps what ends a part of an argument's description from ending it.
func zshEscape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`).Replace(text)
}

// zshAction is what zsh does for a value.
func zshAction(words []string) string {
	if words == nil {
		return "_files"
	}
	return "(" + strings.Join(words, " ") + ")"
}

// writeFish writes a script for fish, which completes files where nothing else is said.
func writeFish(w io.Writer, commands []completedCommand) {
	fmt.Fprint(w, `# fish completion for espalier. For this shell: espalier completion fish | source
# For all: espalier completion fish > ~/.config/fish/completions/espalier.fish

complete -c espalier -n __fish_use_subcommand -f
complete -c espalier -n __fish_use_subcommand -l version -d 'Show the version'
complete -c espalier -n __fish_use_subcommand -s h -l help -d 'Show this help'
`)
	for _, c := range commands {
		fmt.Fprintf(w, "\ncomplete -c espalier -n __fish_use_subcommand -a %s -d %s\n", c.name, fishQuote(c.help))
		in := fishQuote("__fish_seen_subcommand_from " + c.name)
		if c.words != nil {
			fmt.Fprintf(w, "complete -c espalier -n %s -f -a %s\n", in, fishQuote(strings.Join(c.words, " ")))
		}
		for _, f := range c.flags {
			line := fmt.Sprintf("complete -c espalier -n %s -l %s", in, f.name)
			if f.short != "" {
				line += " -s " + f.short
			}
			switch {
			case f.value == "":
			case f.words == nil:
				line += " -r"
			default:
				line += " -x"
				if len(f.words) > 0 {
					line += " -a " + fishQuote(strings.Join(f.words, " "))
				}
			}
			fmt.Fprintf(w, "%s -d %s\n", line, fishQuote(f.help))
		}
	}
}

// fishQuote writes a text such that fish reads it back.
func fishQuote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
