# usage: sh -c "$script" join CGROUP… -- PROGRAM ARG…
# Moves itself into the cgroups and becomes the program: what a machine runs is counted as the machine's.
while [ "$1" != -- ]; do
    echo $$ > "$1/cgroup.procs" || exit 125
    shift
done
shift
exec "$@"
