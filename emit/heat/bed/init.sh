#!/bin/sh
# The first process of a server in the bed: the four stages that systemd runs on
# a real one, then it waits, and reaps, for ever.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb
umask 022
cd /
notes=/var/lib/bed
mount -t proc proc /proc
mount -t sysfs sysfs /sys 2>/dev/null
mount -t tmpfs -o mode=755,size=4m dev /dev
for device in null:3 zero:5 full:7 random:8 urandom:9; do
	mknod -m 666 "/dev/${device%:*}" c 1 "${device#*:}"
done
mknod -m 666 /dev/tty c 5 0
ln -s /proc/self/fd /dev/fd
ln -s /proc/self/fd/0 /dev/stdin
ln -s /proc/self/fd/1 /dev/stdout
ln -s /proc/self/fd/2 /dev/stderr
ln -s /var/log/console.log /dev/console
mkdir -p /dev/pts /dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts /dev/pts && ln -s pts/ptmx /dev/ptmx
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs -o mode=755 run /run
mkdir -p /run/lock
hostname "$(cat /etc/hostname)"
exec </dev/null >>/var/log/console.log 2>&1
boot=$(($(cat $notes/boots 2>/dev/null || echo 0) + 1))
echo $boot >$notes/boots
: >$notes/stages

# stage NAME COMMAND… notes when it began and ended, and its status
stage() {
	name=$1
	shift
	began=$(date +%s.%N)
	"$@"
	echo "$boot $name $began $(date +%s.%N) $?" >>$notes/stages
}
stage init-local cloud-init init --local
stage init cloud-init init
stage config cloud-init modules --mode=config
stage final cloud-init modules --mode=final
cp /run/cloud-init/result.json $notes/result.json
: >$notes/booted
cp /bin/sleep /run/idle # a name that nobody would kill
while :; do
	/run/idle 3600 &
	wait $!
done
