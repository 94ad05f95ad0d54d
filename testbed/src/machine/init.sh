# Process 1 of a testbed machine: lays out its world, starts what starts at boot, and reaps orphans for ever.
#
# usage: sh init.sh DIR NAME GENERATION CGROUP CACHE
# Runs in new pid, mount, uts, ipc and cgroup namespaces; its network is already there.
set -eu
dir=$1 name=$2 generation=$3 cgroup=$4 cache=$5

# The host's /proc is still mounted and shows the pid by which the host knows us. A builtin, so that "self" is us.
read -r pid _ < /proc/self/stat
echo "$pid" > "$dir/init.pid"

# Namespaces of other testbeds are bound to files in the cache; our copy of such a mount would keep them alive.
for at in $(cut -d' ' -f2 /proc/self/mounts); do
    case $at in
        "$cache"/*) umount --lazy "$at" ;;
    esac
done

# What we need below may be hidden by what we mount (a cache in /tmp): hold on to it in one place.
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
stage=/dev/shm/stage
mkdir "$stage" "$stage/dir" "$stage/cgroup"
mount --bind "$dir" "$stage/dir"
count=0
while read -r path; do
    count=$((count + 1))
    if [ -d "$path" ]; then mkdir "$stage/$count"; else : > "$stage/$count"; fi
    mount --rbind "$path" "$stage/$count"
done < "$dir/shared"

# Each hierarchy shows only this machine's part of it, so that a node finds its root where it expects it.
while read -r kind at; do
    below=$stage/cgroup${at#/sys/fs/cgroup}
    mkdir -p "$below"
    mount --bind "$at/$cgroup" "$below"
    # Version 2 allows controllers below a group only while no process is in it.
    if [ "$kind" = cgroup2 ]; then
        mkdir -p "$below/init"
        echo 0 > "$below/init/cgroup.procs"
    fi
done < "$dir/cgroups"
for link in /sys/fs/cgroup/*; do
    [ ! -L "$link" ] || cp -P "$link" "$stage/cgroup/"
done

mount -t proc proc /proc
mount --bind "$stage/dir/boot_id" /proc/sys/kernel/random/boot_id
echo "$name" > /proc/sys/kernel/hostname
# A new one shows this network's links; it hides the host's cgroups.
mount -t sysfs sysfs /sys
mount --rbind "$stage/cgroup" /sys/fs/cgroup

mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=1777 tmpfs /tmp
mkdir -p /run/lock
mount --bind "$stage/dir/fs/var-lib" /var/lib
mount --bind "$stage/dir/fs/var-log" /var/log
# An overlay cannot lie on another one (a test inside a container): there it is a copy, which takes a second.
etc=$stage/dir/fs/etc
if ! mount -t overlay -o "lowerdir=/etc,upperdir=$etc,workdir=$etc-work" overlay /etc 2>/dev/null; then
    cp -a --no-clobber /etc/. "$etc"
    mount --bind "$etc" /etc
fi

count=0
while read -r path; do
    count=$((count + 1))
    if [ -d "$stage/$count" ]; then
        mkdir -p "$path"
    else
        mkdir -p "$(dirname "$path")"
        [ -e "$path" ] || : > "$path"
    fi
    mount --rbind "$stage/$count" "$path"
done < "$stage/dir/shared"

mkdir -p /run/machine/bin
cp "$stage/dir/reboot" /run/machine/bin/reboot
cp "$stage/dir/reboot" /run/machine/bin/poweroff
cp "$stage/dir/on-boot.sh" /run/machine/on-boot.sh
echo "$generation" > "$stage/dir/ready.half"
mv "$stage/dir/ready.half" "$stage/dir/ready"
umount --lazy "$stage/dir"

set +e
cd /
. /run/machine/on-boot.sh
# The shell reaps every child while it waits, adopted ones too; the idler keeps it waiting. It is no "sleep" to those who
# look for processes of that name: a node's containers see this one when they see their host's.
cp "$(command -v sleep)" /run/machine/idle
while :; do
    /run/machine/idle 86400 &
    wait
done
