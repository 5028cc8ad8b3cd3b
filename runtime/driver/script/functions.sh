# shellcheck shell=sh
# shell.go assigns the variables that are not assigned here:
# shellcheck disable=SC2154
# A program's arguments are visible to every user; a builtin's are not.
case $(command -v printf),$(command -v print) in
printf,*) hotc_print() { command printf %s "$1"; } ;;
*,print) hotc_print() { command print -rn -- "$1"; } ;; # mksh
*)
	echo "hotc-agent: this shell has neither printf nor print: write outputs with hotc-agent put" >&2
	exit 1
	;;
esac
hotc_await() {
	hotc_status=$?
	for hotc_variable in "$@"; do
		case $hotc_settled in *" $hotc_variable "*) continue ;; esac
		eval "hotc_there=\${$hotc_variable+there}"
		case $hotc_there in there) continue ;; esac
		hotc_all=
		case $hotc_secret in
		*" $hotc_variable "*) case $- in *a*) hotc_all=yes; set +a ;; esac ;;
		esac
		if command [ -r "$hotc_arrived/$hotc_variable" ]; then
			command . "$hotc_arrived/$hotc_variable"
		else
			hotc_input "$hotc_variable"
			until hotc_there=$(hotc_ask "$hotc_name" "$hotc_variable" </dev/null); do command sleep 1; done
			eval "$hotc_there"
		fi
		case $hotc_all in yes) set -a ;; esac
		hotc_settled="$hotc_settled$hotc_variable "
	done
	return "$hotc_status"
}
# hotc_refuse WHY ends the role; the agent reads why.
hotc_refuse() {
	hotc_print "$1" >|"$hotc_refused"
	while :; do command sleep 60; done
}
# hotc_large VARIABLE WHY: the compiler has listed the variables that programs may read.
hotc_large() {
	case ${hotc_passed-} in *" $1 "*) hotc_refuse "$2" ;; esac
}
hotc_own() {
	hotc_status=$?
	for hotc_variable in "$@"; do
		hotc_settled="$hotc_settled$hotc_variable "
	done
	return "$hotc_status"
}
hotc_keep() {
	hotc_status=$?
	IFS=' ' command read -r hotc_process hotc_there </proc/self/stat
	hotc_write "$hotc_kept/" "$@"
	return "$hotc_status"
}
hotc_publish() {
	hotc_result=$?
	hotc_keep "$@"
	hotc_write "$hotc_outputs." "$@"
	return "$hotc_result"
}
# hotc_write PREFIX VARIABLE... writes those that are set into files, unless this is a
# subshell.
hotc_write() {
	hotc_prefix=$1
	shift
	case $hotc_process in
	"$$")
		for hotc_variable in "$@"; do
			eval "hotc_there=\${$hotc_variable+there}"
			case $hotc_there in there) ;; *) continue ;; esac
			hotc_output "$hotc_variable"
			eval "hotc_print \"\$$hotc_variable\"" >|"$hotc_prefix$hotc_name"
		done
		;;
	esac
}
