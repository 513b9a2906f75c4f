/**
 * What makes each shell ask `runyard complete` what may stand next. What was typed is handed over as it is and never evaluated;
 * where there is no answer the shell offers files. Bash alone does not quote what it puts into the line: a name that somebody
 * else chose would be run with the command.
 */
export const COMPLETION_SCRIPTS = {
  bash: `# In ~/.bashrc: source <(runyard completion bash)
_runyard() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    printf -v line %q "\${line%%$'\\t'*}"
    COMPREPLY+=("$line")
  done < <(runyard complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _runyard runyard`,

  zsh: `#compdef runyard
# In ~/.zshrc, after compinit: source <(runyard completion zsh)
_runyard() {
  local line
  local -a found
  runyard complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null | while IFS= read -r line; do
    found+=("\${\${line%%$'\\t'*}//:/\\\\:}\${\${line#*$'\\t'}:+:\${line#*$'\\t'}}")
  done
  if (( $#found )); then _describe -V runyard found; else _files; fi
}
if [[ $funcstack[1] == _runyard ]]; then _runyard "$@"; else compdef _runyard runyard; fi`,

  fish: `# In ~/.config/fish/config.fish: runyard completion fish | source
function __runyard_complete
  set -l words (commandline -opc)
  set -l found (runyard complete -- $words[2..] (commandline -ct) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c runyard -f -k -a '(__runyard_complete)'`,
}
