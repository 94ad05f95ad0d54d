# The first process of a room: makes the file system that Wine will see, then waits until its input ends.
# Arguments: directory for the mounts, chroot, prefix and template of its windows directory (or two empty ones),
# then the directories that are to appear at their own paths.
set -eu

# /proc is still the one of outside, so this is our process id as outside sees it.
read -r pid _ </proc/self/stat

base=$1 chroot=$2 prefix=$3 template=$4
shift 4

overlay() {
    mkdir -p "$base/$1/upper" "$base/$1/work"
    mount -t overlay -o "lowerdir=$2,upperdir=$base/$1/upper,workdir=$base/$1/work" overlay "$3"
}

root=$base/root
mount -t tmpfs tmpfs "$base"
mkdir "$root"
overlay chroot "$chroot" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
# A chroot that debootstrap made knows no name, and whoever answers for names outside need not know this one.
echo '127.0.0.1 localhost' >"$root/etc/hosts"
for dir; do
    mkdir -p "$root$dir"
    mount --rbind "$dir" "$root$dir"
done
if [ -n "$prefix" ]; then
    overlay windows "$template/drive_c/windows" "$root$prefix/drive_c/windows"
fi

# Only who sees the new root may say that the room is open.
# Orphans become our children; with this signal ignored the kernel reaps them.
exec chroot "$root" sh -c 'echo "$0"; exec env --ignore-signal=CHLD cat >/dev/null' "$pid"
