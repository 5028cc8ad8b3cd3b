package script

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hotc-dev/hotc/compiler/lists"
)

// reserved are variables of the shell or hotc: an input or output of such a name is not
// available as a variable.
var reserved = lists.Set(strings.Fields(`PATH HOME IFS PWD OLDPWD LINENO RANDOM SECONDS UID EUID GROUPS PPID OPTIND OPTARG OPTERR
	PS1 PS2 PS3 PS4 SHELLOPTS SHLVL HOSTNAME HOSTTYPE OSTYPE MACHTYPE DIRSTACK FUNCNAME PIPESTATUS REPLY COPROC
	EPOCHSECONDS EPOCHREALTIME SRANDOM ENV KSH_VERSION _ heat_outputs_path`))

// variable returns the shell variable of an input or output, as the agent does: its name
// with everything but letters and digits replaced by "_"; "" if no variable can have that
// name.
func variable(name string) string {
	v := asVariable(name)
	if !isName(v) || reserved[v] || strings.HasPrefix(v, "BASH") || isOurs(v) {
		return ""
	}
	return v
}

// Taken returns the variable of an input or output, and whether a shell, the agent or hotc itself
// sets it, so that no script can read the value there. Shell says that a shell runs the script.
func Taken(name string, shell bool) (string, bool) {
	if shell {
		return asVariable(name), variable(name) == ""
	}
	return asVariable(name), environmentVariable(name) == ""
}

// asVariable replaces the characters that a variable's name cannot have by "_".
func asVariable(name string) string {
	return strings.Map(func(r rune) rune {
		if notInName(r) {
			return '_'
		}
		return r
	}, name)
}

func isOurs(variable string) bool {
	return strings.HasPrefix(variable, "HOTC_") || strings.HasPrefix(variable, "hotc_")
}

func notInName(r rune) bool {
	return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
}

// isUtilitys reports whether a variable may have a meaning to any program: upper-case names
// are reserved for utilities (POSIX, Base Definitions, 8.1), and proxies are also read in
// lower case.
func isUtilitys(variable string) bool {
	return strings.ToUpper(variable) == variable || strings.HasSuffix(variable, "_proxy")
}

// isName reports whether a text is a valid name of a variable.
func isName(text string) bool {
	return text != "" && (text[0] < '0' || text[0] > '9') && !strings.ContainsFunc(text, notInName)
}

// builtins of the shells that read no variables other than those in their words, and start
// nothing.
var builtins = lists.Set(strings.Fields(`: true false test [ echo printf print cd pwd pushd popd dirs exit return break continue shift set wait kill jobs fg bg
	umask ulimit type hash times getopts read mapfile readarray logout suspend disown shopt unset export readonly local declare typeset
	let trap hotc-agent`))

// plain are programs that read no variables of a role from their environment, only their
// own upper-case ones.
var plain = lists.Set(strings.Fields(`arch base64 basename cat chgrp chmod chown cksum comm cp csplit cut date dd df dir dirname du expand expr factor
	false fmt fold groups head hostid id install join link ln logname ls md5sum mkdir mkfifo mknod mktemp mv nl nproc numfmt od paste
	pathchk pr printf ptx pwd readlink realpath rm rmdir sha1sum sha224sum sha256sum sha384sum sha512sum shred shuf sleep sort split
	stat stty sum sync tac tail tee test touch tr true truncate tsort tty uname unexpand uniq unlink uptime users vdir wc who whoami yes
	grep egrep fgrep sed diff cmp patch file tar gzip gunzip zcat bzip2 bunzip2 xz unxz zip unzip cpio which tput clear seq hostname
	jq xmllint openssl gpg ssh-keygen ssh-keyscan ssh scp rsync sftp curl wget nc ncat socat ping host dig nslookup getent ip ifconfig
	route ss netstat iptables ip6tables nft ethtool bridge tc brctl resolvectl
	apt apt-get apt-cache apt-key apt-mark add-apt-repository dpkg dpkg-query debconf-set-selections dpkg-reconfigure yum dnf rpm apk
	zypper snap systemctl journalctl service invoke-rc.d update-rc.d chkconfig loginctl timedatectl hostnamectl localectl
	update-alternatives a2enmod a2dismod a2ensite a2dissite apachectl nginx
	useradd usermod userdel groupadd groupmod groupdel adduser deluser addgroup passwd chpasswd gpasswd chage visudo
	mount umount mountpoint findmnt lsblk blkid fdisk sfdisk parted partprobe mkfs mkfs.ext4 mkfs.xfs mkswap swapon swapoff resize2fs
	xfs_growfs pvcreate vgcreate lvcreate lvextend losetup fallocate blockdev e2label tune2fs
	modprobe lsmod sysctl dmesg udevadm ps pgrep pkill killall top free vmstat lsof fuser logger crontab at
	ldconfig locale-gen update-ca-certificates update-grub setcap getcap setfacl getfacl chattr lsattr restorecon semanage setenforce
	mysql mysqladmin mysqldump mariadb mysql_install_db psql createdb createuser pg_isready pg_dump redis-cli mongo sqlite3 rabbitmqctl
	git flock uuidgen pwgen iconv column rev tr bc dc cloud-init ec2metadata`))

// starters run the command that follows their own options, and read nothing themselves.
var starters = map[string]string{"command": "", "builtin": "", "exec": "a", "nohup": "", "nice": "n", "setsid": "", "timeout": "ks", "time": "fo",
	"stdbuf": "ioe", "ionice": "cnp", "sudo": "ugCDhprtTU", "chronic": "", "xargs": "aEdILnPs", "env": "uC"}

// child is what a simple command starts, as far as its words tell.
type child struct {
	name string
	args []*syntax.Word // after the name
	// known is set if the name is literal.
	known bool
	// without are variables that the words remove from the child's environment, or set
	// there.
	without []string
	by      []string // the commands that start it
	// bare is set if the child does not inherit the environment.
	bare bool
	// none is set if the words name no command: an exec that only redirects.
	none bool
}

// childOf strips the commands that only start another.
func childOf(args []*syntax.Word) child {
	c := child{}
	for len(args) > 0 {
		name, known := literalOf(args[0])
		c.name, c.args, c.known = name, args[1:], known
		options, starts := starters[name]
		if !known || !starts {
			return c
		}
		c.by = append(c.by, name)
		rest := args[1:]
		counted := name == "timeout"
		for len(rest) > 0 {
			text, literal := literalOf(rest[0])
			if v, _, assigns := strings.Cut(leading(rest[0]), "="); assigns && (name == "env" || name == "sudo") && isName(v) {
				c.without = append(c.without, v)
				rest = rest[1:]
				continue
			}
			if !literal {
				break
			}
			if strings.HasPrefix(text, "-") {
				c.bare = c.bare || name == "env" && (text == "-" || text == "-i" || text == "--ignore-environment")
				if name == "env" && strings.HasPrefix(text, "-S") {
					return child{}
				}
				rest = rest[1:]
				if len(text) == 2 && strings.Contains(options, text[1:]) && len(rest) > 0 {
					if v, is := literalOf(rest[0]); name == "env" && text == "-u" && is {
						c.without = append(c.without, v)
					}
					rest = rest[1:]
				}
				continue
			}
			if counted {
				counted, rest = false, rest[1:]
				continue
			}
			break
		}
		if len(rest) == 0 {
			if name == "env" {
				return c // it prints the environment
			}
			c.name, c.args, c.none = "true", nil, true
			return c
		}
		args = rest
	}
	return c
}

// leading returns the literal that a word begins with.
func leading(w *syntax.Word) string {
	if l, ok := w.Parts[0].(*syntax.Lit); ok {
		return l.Value
	}
	return ""
}

// readsEnvironment reports whether a program may read any variable of its environment,
// as far as its words tell.
func (c child) readsEnvironment() bool {
	name := c.name
	for _, folder := range []string{"/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/"} {
		name = strings.TrimPrefix(name, folder)
	}
	switch name {
	case "awk", "gawk", "mawk":
		return !literalWithout(c.args, "ENVIRON", "system", "getline", "|", "-f")
	case "find":
		return !literalWithout(wordsLike(c.args, "-exec", "-ok"), "-exec", "-ok")
	case "systemctl":
		return !literalWithout(wordsLike(c.args, "import-environment"), "import-environment")
	case "git":
		return !literalWithout(c.args[:min(1, len(c.args))], "commit", "-c") // hooks
	}
	return !plain[name]
}

// wordsLike returns the words that begin with one of some texts.
func wordsLike(args []*syntax.Word, texts ...string) []*syntax.Word {
	return lists.Only(args, func(w *syntax.Word) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.HasPrefix(leading(w), t) })
	})
}

// literalWithout reports whether all words are literals that contain none of some texts.
func literalWithout(args []*syntax.Word, texts ...string) bool {
	return !slices.ContainsFunc(args, func(w *syntax.Word) bool {
		text, literal := literalOf(w)
		return !literal || slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(text, t) })
	})
}
