#!/bin/sh
# hotc: obtains this server's agent and becomes it.
# `start detach` and `start loop` do for a server without systemd what the unit
# does for one with it. For tests: $HOTC_ROOT is worked in instead of /,
# $HOTC_PAUSE and $HOTC_TRIES change how long and how often.
set -u
umask 022
export HOME="${HOME:-/root}" PATH="${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}"
r=${HOTC_ROOT-}
boot=$r/etc/hotc/boot.json
here=$r/var/lib/cloud/instance
log=$r/var/log/hotc-agent.log
pid=$r/run/hotc-agent.pid

say() { echo "hotc: $*"; }

if [ "${1-}" = detach ]; then
    [ -e "$here/hotc" ] || exit 0
    # the number may be another boot's, and another process's now
    case $(tr '\0' ' ' 2>/dev/null <"/proc/$(cat "$pid" 2>/dev/null)/cmdline") in
    *"$0 loop"*) exit 0 ;;
    esac
    mkdir -p "$r/var/log" "$r/run"
    new="setsid"
    command -v setsid >/dev/null || new="nohup"
    console=$r/dev/console
    ( : >>"$console" ) 2>/dev/null || console=/dev/null
    # shellcheck disable=SC2016 # the inner shell expands these
    $new sh -c 'sh "$1" loop 2>&1 | tee -a "$2" >>"$3"' sh "$0" "$log" "$console" </dev/null >/dev/null 2>&1 &
    exit 0
fi

if [ "${1-}" = loop ]; then
    echo $$ >"$pid"
    while :; do
        sh "$0"
        s=$?
        case $s in
        0 | 78) exit $s ;;
        esac
        say "the agent has ended with status $s and is started again"
        sleep "${HOTC_PAUSE:-5}"
    done
fi

# Proxies and the like, if the user wants them for the agent. An agent that waits for
# cloud-init compares what is read here with what is there afterwards.
environment() {
    settings=
    if [ -f "$r/etc/hotc/environment" ]; then
        settings=$(cat "$r/etc/hotc/environment")
        set -a
        # shellcheck source=/dev/null
        . "$r/etc/hotc/environment"
        set +a
    fi
}

# The user's own part of the user-data comes before the agent. Either file appears
# at every boot when cloud-init ends, and goes when it begins.
finished() { [ -e "$here/boot-finished" ] || [ -e "$r/run/cloud-init/result.json" ]; }
await_user() {
    n=0 nap=0.05
    until finished; do
        n=$((n + 1))
        [ $n -lt 600 ] || nap=0.5
        [ $((n % 20)) -ne 0 ] || ! systemctl is-failed -q cloud-final.service 2>/dev/null || break
        sleep $nap 2>/dev/null || sleep 1 # not every sleep knows parts of a second
    done
    environment
}
environment

arch=$(uname -m)
case $arch in
x86_64) arch=amd64 ;;
aarch64 | armv8*) arch=arm64 ;;
armv*) arch=arm ;;
i?86) arch=386 ;;
esac
sum='' got=''
case $arch in
@digests@
esac
url=$(sed "s/{arch}/$arch/g" "$r/etc/hotc/agent-url")

fits() {
    [ -x "$1" ] || return 1
    [ -n "$sum" ] || return 0
    # openssl takes a quarter of the time
    got=$( (openssl dgst -sha256 -r "$1" || sha256sum "$1" || python3 -c 'import hashlib,sys
print(hashlib.sha256(open(sys.argv[1],"rb").read()).hexdigest())' "$1") 2>/dev/null)
    [ "${got%% *}" = "$sum" ]
}

# give_up STATUS REASON tells the console, and Heat if it waits for this server.
give_up() {
    s=$1
    why="hotc: no agent on this server: $2"
    say "FAILED: $why" >&2
    python3 - "$boot" "$why" <<'HOTC_PYTHON' || say "Heat could not be told" >&2
@tell.py@
HOTC_PYTHON
    exit "$s"
}

agent=
find_agent() {
    for a in "$r/usr/bin" "$r/usr/local/bin" "$r/opt/hotc/bin"; do
        if fits "$a/hotc-agent"; then
            agent=$a/hotc-agent
            break
        fi
    done
}

# obtain puts an agent that fits in place: from the URL, or from the coordinator if there
# is none. Its status is 75 where that is not to be had yet.
obtain() {
    dir=$r/usr/local/bin
    mkdir -p "$dir" 2>/dev/null && [ -w "$dir" ] || dir=$r/opt/hotc/bin
    mkdir -p "$dir"
    new=$dir/.hotc-agent.new
    rm -f "$new"
    if [ -z "$url" ]; then
        command -v python3 >/dev/null || { why="no python3, which fetches it from the coordinator"; return 78; }
        why=$(python3 - "$boot" "$sum" "$new" "${HOTC_SPREAD:-@spread@}" 2>&1 <<'HOTC_FETCH'
@fetch.py@
HOTC_FETCH
        ) || return $?
        keep "the coordinator"
        return
    fi
    why="$url cannot be downloaded"
    for tool in curl wget python3; do
        command -v $tool >/dev/null || continue
        rm -f "$new"
        case $tool in
        curl) curl -fsSL --connect-timeout 20 --speed-time 60 --speed-limit 999 -o "$new" "$url" ;;
        wget) wget -q -T 60 -O "$new" "$url" ;;
        python3) python3 -c 'import shutil,sys,urllib.request as u
try: shutil.copyfileobj(u.urlopen(sys.argv[1], timeout=60), open(sys.argv[2], "wb"))
except Exception as e: sys.exit("python3: %a" % e)' "$url" "$new" ;;
        esac || continue
        keep "$url"
        return
    done
    return 1
}

# keep WHERE takes what has come from there, if it fits.
keep() {
    chmod 755 "$new"
    if fits "$new"; then
        agent=$dir/hotc-agent
        mv -f "$new" "$agent"
        say "downloaded $1"
        return 0
    fi
    why="what $1 has is of sha256 ${got%% *}, expected $sum"
    return 1
}

# What can be had now is there when cloud-init has finished. What cannot, the user's
# own part may still bring: the agent, a proxy, a certificate.
find_agent
[ -n "$agent" ] || [ -z "$sum" ] || finished || obtain 2>/dev/null
# The very agent that belongs to this text joins its deployment beside cloud-init, and
# waits itself.
if [ -n "$agent" ] && [ -n "$sum" ] && ! finished; then
    # not an argument: others can read those
    export HOTC_SETTINGS="$settings"
    exec "$agent" run --boot "$boot" --state "$r/var/lib/hotc" --after-cloud-init
fi
await_user
[ -n "$agent" ] || find_agent
if [ -z "$agent" ]; then
    [ -n "$sum" ] || give_up 78 "no checksum is known for $arch"
    tries=${HOTC_TRIES:-12}
    n=1 pause=1 told=
    until obtain; do
        case $? in
        75) # the agent itself would wait for its coordinator, too
            [ "$why" = "$told" ] || say "waiting for an agent: $why" >&2
            told=$why
            ;;
        78) give_up 78 "$why" ;;
        *)
            say "try $n of $tries: $why" >&2
            [ "$n" -lt "$tries" ] || give_up 1 "$why"
            n=$((n + 1))
            ;;
        esac
        sleep "${HOTC_PAUSE:-$pause}"
        pause=$((pause * 2))
        [ $pause -le 30 ] || pause=30
        find_agent
        [ -z "$agent" ] || break
    done
fi
exec "$agent" run --boot "$boot" --state "$r/var/lib/hotc"
