# The testbed's guard: waits until its owner is gone, then undoes what the owner's journal lists.
#
# usage: sh -c "$script" guard JOURNAL < PIPE
#
# End of file on standard input means that the owner let go of the pipe or died; the line "keep" means that
# everything shall stay (`Guard::release`). Failures are lines on standard output (the owner reads them) and on
# standard error (a file that stays when nobody reads). Without a failure the journal's directory goes as well.

# Ctrl-C reaches the whole terminal; the guard must outlive it. PIPE: the owner may be gone while we report.
trap '' INT HUP TERM QUIT PIPE

journal=$1
home=$(dirname "$journal")
failed=0

fail() {
    failed=1
    echo "$*" >&2
    echo "$*"
}

# The start time of a process in clock ticks; nothing when it is gone or only waits to be reaped.
started() {
    { read -r stat < "/proc/$1/stat"; } 2>/dev/null || return 0
    # The name (field 2) may hold spaces and brackets: count from behind it.
    set -- ${stat##*) }
    [ "$1" = Z ] || [ "$1" = X ] || echo "${20}"
}

marked() {
    grep -lzxF "PORTHOLE_TESTBED_GUARD=$id" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3
}

# A holder freezes what it ends. Who was killed while frozen is there until somebody thaws it.
thaw() {
    while read -r kind what; do
        [ "$kind" = cgroup ] && [ -e "$what" ] || continue
        find "$what" -name freezer.state -exec sh -c 'echo THAWED > "$1"' - {} \; 2>/dev/null
        find "$what" -name cgroup.freeze -exec sh -c 'echo 0 > "$1"' - {} \; 2>/dev/null
    done < "$journal"
}

# A process between fork and exec does not carry the mark yet: only two empty looks in a row count.
end_marked() {
    quiet=0
    tries=0
    while [ $quiet -lt 2 ]; do
        pids=$(marked)
        if [ -z "$pids" ]; then
            quiet=$((quiet + 1))
        else
            quiet=0
            kill -9 $pids 2>/dev/null
            thaw
        fi
        tries=$((tries + 1))
        if [ $tries -gt 200 ]; then
            fail "processes" $pids "do not end"
            return
        fi
        sleep 0.05
    done
}

# A pid may have been given to someone else since: only the one of that start time is ours.
undo_process() {
    pid=${1% *}
    [ "$(started "$pid")" = "${1#* }" ] || return 0
    kill -9 "$pid"
    return 1
}

undo_link() {
    [ ! -e "/sys/class/net/$1" ] || ip link delete "$1"
}

undo_mount() {
    findmnt --mountpoint "$1" >/dev/null || return 0
    umount "$1" || umount --lazy "$1"
    return 1
}

undo_cgroup() {
    [ ! -e "$1" ] || find "$1" -depth -type d -exec rmdir {} +
}

undo_directory() {
    rm -rf --one-file-system "$1"
}

# What was just killed lets go of its files a moment later: each step gets five seconds.
undo() {
    tries=0
    until said=$("undo_$1" "$2" 2>&1); do
        tries=$((tries + 1))
        if [ $tries -gt 50 ]; then
            fail "$1 $2: $said"
            return
        fi
        sleep 0.1
    done
}

while read -r word; do
    [ "$word" != keep ] || exit 0
done

read -r _ id < "$journal" || exit 0
end_marked
while read -r kind what; do
    case $kind in
        process | link | mount | cgroup | directory) undo "$kind" "$what" ;;
    esac
done <<LIST
$(tac "$journal")
LIST
[ $failed = 0 ] && undo directory "$home"
exit $failed
