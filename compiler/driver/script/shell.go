package script

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hotc-dev/hotc/compiler/lists"
)

// reserved are variables that a shell, or hotc, has for itself: an input or output
// of such a name is in no variable.
var reserved = lists.Set(strings.Fields(`PATH HOME IFS PWD OLDPWD LINENO RANDOM SECONDS UID EUID GROUPS PPID OPTIND OPTARG OPTERR
	PS1 PS2 PS3 PS4 SHELLOPTS SHLVL HOSTNAME HOSTTYPE OSTYPE MACHTYPE DIRSTACK FUNCNAME PIPESTATUS REPLY COPROC
	EPOCHSECONDS EPOCHREALTIME SRANDOM ENV KSH_VERSION _ heat_outputs_path`))

// variable is the shell's variable of an input or output, as the agent names it
// too: its name with "_" for everything but letters, digits and "_". It is ""
// where no variable can have that name.
func variable(name string) string {
	v := asVariable(name)
	if !isName(v) || reserved[v] || strings.HasPrefix(v, "BASH") || isOurs(v) {
		return ""
	}
	return v
}

// asVariable is a name with "_" for what no variable has in its own.
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

// isUtilitys says that a variable may mean something to any program: names in
// capital letters are those of utilities (POSIX, Base Definitions, 8.1), and
// proxies are read in small letters too.
func isUtilitys(variable string) bool {
	return strings.ToUpper(variable) == variable || strings.HasSuffix(variable, "_proxy")
}

// isName says that a text could be the name of a variable.
func isName(text string) bool {
	return text != "" && (text[0] < '0' || text[0] > '9') && !strings.ContainsFunc(text, notInName)
}

// builtins of the shells that read no variable but those in their words, and
// start nothing.
var builtins = lists.Set(strings.Fields(`: true false test [ echo printf print cd pwd pushd popd dirs exit return break continue shift set wait kill jobs fg bg
	umask ulimit type hash times getopts read mapfile readarray logout suspend disown shopt unset export readonly local declare typeset
	let trap hotc-agent`))

// plain are programs that read no variable of a role's in their environment: only
// ones in capital letters that are theirs.
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

// starters run the command that follows their own options, and add nothing to
// what it reads.
var starters = map[string]string{"command": "", "builtin": "", "exec": "a", "nohup": "", "nice": "n", "setsid": "", "timeout": "ks", "time": "fo",
	"stdbuf": "ioe", "ionice": "cnp", "sudo": "ugCDhprtTU", "chronic": "", "xargs": "aEdILnPs", "env": "uC"}

// child is what a simple command starts, as far as its words say.
type child struct {
	name string
	args []*syntax.Word // after the name
	// known says that the name is a text.
	known bool
	// without are variables that the words take out of the child's environment, or
	// set there.
	without []string
	by      []string // the commands that start it
	// bare says that the child has no environment but its own.
	bare bool
}

// childOf takes the commands off that only start another one.
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
				return c // it prints what there is
			}
			c.name, c.args = "true", nil
			return c
		}
		args = rest
	}
	return c
}

// leading is the text that a word begins with.
func leading(w *syntax.Word) string {
	if l, ok := w.Parts[0].(*syntax.Lit); ok {
		return l.Value
	}
	return ""
}

// readsEnvironment says whether a program may read any variable of its
// environment, as far as its words tell.
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

// wordsLike are the words that hold one of some texts.
func wordsLike(args []*syntax.Word, texts ...string) []*syntax.Word {
	return lists.Only(args, func(w *syntax.Word) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.HasPrefix(leading(w), t) })
	})
}

// literalWithout says that words are texts none of which holds one of some others.
func literalWithout(args []*syntax.Word, texts ...string) bool {
	return !slices.ContainsFunc(args, func(w *syntax.Word) bool {
		text, literal := literalOf(w)
		return !literal || slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(text, t) })
	})
}
