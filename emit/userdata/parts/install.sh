#!/bin/sh
# hotc: installs what starts this server's agent.
# cloud-init runs this once, before the server's other scripts; what it starts
# waits until those have ended. For tests: $HOTC_ROOT is worked in instead of /.
set -eu
umask 077
r=${HOTC_ROOT-}
mkdir -p "$r/etc/hotc" "$r/var/lib/hotc"
cat >"$r/etc/hotc/boot.json" <<'HOTC_BOOT'
$hotc_boot$
HOTC_BOOT
cat >"$r/etc/hotc/agent-url" <<'HOTC_URL'
$hotc_agent_url$
HOTC_URL
cat >"$r/etc/hotc/start" <<'HOTC_START'
@start.sh@
HOTC_START
# A server made from this one's image has another instance folder: there the
# agent must not run in this one's name.
mkdir -p "$r/var/lib/cloud/instance"
: >"$r/var/lib/cloud/instance/hotc"
if [ -d "$r/run/systemd/system" ]; then
    mkdir -p "$r/etc/systemd/system"
    cat >"$r/etc/systemd/system/hotc-agent.service" <<'HOTC_UNIT'
@hotc-agent.service@
HOTC_UNIT
    chmod 644 "$r/etc/systemd/system/hotc-agent.service"
    systemctl daemon-reload
    systemctl enable hotc-agent.service
    # --no-block: this very script belongs to the boot that the unit comes after
    systemctl restart --no-block hotc-agent.service
else
    p=$r/var/lib/cloud/scripts/per-boot
    mkdir -p "$p"
    cat >"$p/hotc-agent" <<'HOTC_PER_BOOT'
#!/bin/sh
exec sh "${HOTC_ROOT-}/etc/hotc/start" detach
HOTC_PER_BOOT
    chmod 755 "$p/hotc-agent"
    "$p/hotc-agent"
fi
echo "hotc: the agent starts when cloud-init has finished"
