# bash completion for reprieve, made by `reprieve completion bash`
_reprieve() {
	local current=${COMP_WORDS[COMP_CWORD]} word words=() kind=''
	if [[ $current == = ]]; then current=''; fi
	while IFS=$'\t' read -r word _; do
		case $word in
		:command) kind=-c ;;
		:files) kind=-f ;;
		:directories) kind=-d ;;
		-*) if [[ $current == -* ]]; then words+=("$word"); fi ;;
		*) words+=("$word") ;;
		esac
	done < <("${COMP_WORDS[0]/#~/$HOME}" completion words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	if [[ $kind ]]; then compopt -o filenames 2>/dev/null; fi
	mapfile -t COMPREPLY < <(compgen $kind -W "${words[*]}" -- "$current")
}
complete -F _reprieve reprieve
