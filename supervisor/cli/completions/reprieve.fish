# fish completion for reprieve, made by `reprieve completion fish`
function __reprieve_complete
	set -l words (commandline -opc)
	set -l current (commandline -ct)
	set -l name (string match -r -- '^--[a-z-]+=' "$current"; or echo)
	set -l value (string replace -- "$name" '' "$current")
	for line in ($words[1] completion words $words[2..-1] "$current" 2>/dev/null)
		switch $line
		case :command
			__fish_complete_command
		case :files
			string join \n -- $name(__fish_complete_path "$value")
		case :directories
			string join \n -- $name(__fish_complete_directories "$value")
		case '*'
			string join '' -- $name $line
		end
	end
end
complete -c reprieve -f -a '(__reprieve_complete)'
