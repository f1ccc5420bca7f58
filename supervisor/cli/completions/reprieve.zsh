#compdef reprieve
# made by `reprieve completion zsh`
_reprieve() {
	local -a found
	local line kind
	for line in "${(@f)$(${~words[1]} completion words "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
		case $line in
		:*) kind=$line ;;
		-*) if [[ $PREFIX == -* ]]; then found+=("${${line//:/\\:}/$'\t'/:}"); fi ;;
		?*) found+=("${${line//:/\\:}/$'\t'/:}") ;;
		esac
	done
	compset -P '--*='
	case $kind in
	:command) _command_names -e ;;
	:files) _files ;;
	:directories) _files -/ ;;
	esac
	if (($#found)); then _describe word found; fi
}
if [[ $funcstack[1] == _reprieve ]]; then
	_reprieve "$@"
else
	compdef _reprieve reprieve
fi
