#!/usr/bin/env bash
# Build the Debian package, and try it on a bare Debian: install, run as a service, upgrade, purge. Then install the wheel with pipx and
# without a compiler, and measure the time to the first hits. Needs root and debootstrap.
#
#     scripts/try_debian.sh [SUITE]        trixie (the default) or bookworm
#
# All is below /tmp/gnod-debian; the packages stay there. A namespace holds the mounts and processes, so none outlives this script.
set -euo pipefail

suite=${1:-trixie} limit_s=1800
TIMEFORMAT='%R s, of which %U s of processor time'
tree=$(cd "$(dirname "$0")/.." && pwd)
place=/tmp/gnod-debian/$suite
bare=$place/bare build=$place/build

if [[ -z ${GNOD_IN_NAMESPACE:-} ]]; then
    export GNOD_IN_NAMESPACE=1
    exec timeout "$limit_s" unshare --mount --pid --cgroup --fork --kill-child --mount-proc "$0" "$@"
fi

step() { printf '\n=== %4d s: %s\n' "$SECONDS" "$*"; }
fail() { echo "try_debian: $*" >&2; exit 1; }
in_build() { chroot "$build" "$@"; }
in_tried() { chroot "$tried" "$@"; }
as_user() {
    in_tried setpriv --reuid=mara --regid=mara --init-groups \
        env -C /home/mara PATH=/home/mara/.local/bin:/usr/bin HOME=/home/mara XDG_RUNTIME_DIR=/run/user/1000 DBUS_SESSION_BUS_ADDRESS= "$@"
}
# COMMAND WORDS…
finds() { as_user gnoctl "$@" | grep -q a.md || fail "gnoctl $* finds nothing"; }
version() { as_user gnoctl daemon status --json | sed 's/.*"version": *"\([^"]*\)".*/\1/'; }

enter() {
    cp /etc/resolv.conf "$1/etc/"
    mount -t proc proc "$1/proc"
    mount --bind /dev "$1/dev"
}

make_bare() {
    mkdir -p "$place"
    rm -rf --one-file-system "$place/made"
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$place/made" >"$place/debootstrap.log"
    # Those of a company's network, if there are any.
    cp -r /usr/local/share/ca-certificates "$place/made/usr/local/share/"
    chroot "$place/made" update-ca-certificates >/dev/null 2>&1
    mv "$place/made" "$bare"
}

make_build() {
    in_build apt-get update -qq
    in_build apt-get install -qq -y --no-install-recommends build-essential debhelper lintian python3-venv >"$place/tools.log" 2>&1
    touch "$build/made"
}

# NAME: a fresh machine with a user, who has a note.
make_tried() {
    tried=$place/$1
    rm -rf --one-file-system "$tried"
    cp -a "$bare" "$tried"
    enter "$tried"
    in_tried apt-get update -qq
    in_tried useradd --create-home mara
    as_user sh -c 'mkdir notes && echo "# Zebra, an animal of the savanna" > notes/a.md'
}

# VERSION: empty for that of debian/changelog.
make_package() {
    local version=$1
    in_build rm -rf /build/gnod
    mkdir -p "$build/build/gnod"
    git -C "$tree" ls-files -z --cached --others --exclude-standard | tar -C "$tree" --null -T - -c | tar -C "$build/build/gnod" -x
    if [[ $version ]]; then
        sed -i "1s/(.*)/($version)/" "$build/build/gnod/debian/changelog"
        sed -i "s/^__version__ = .*/__version__ = \"$version\"/" "$build/build/gnod/gnod/__init__.py"
    fi
    in_build sh -c 'cd /build/gnod && PIP_CACHE_DIR=/var/cache/pip dpkg-buildpackage --build=binary --unsigned-changes' \
        >"$place/build$version.log" 2>&1 || fail "the build failed: see $place/build$version.log"
}

install_package() {
    cp "$build"/build/gnod_"$1"_*.deb "$tried/root/gnod.deb"
    in_tried apt-get install -qq -y --no-install-recommends /root/gnod.deb >"$place/install$1.log" 2>&1 ||
        fail "the package cannot be installed: see $place/install$1.log"
}

# A manager of user services needs a cgroup that the user may write.
start_session() {
    mount -t tmpfs tmpfs "$tried/run"
    mount -t tmpfs tmpfs "$tried/sys"
    mkdir -p "$tried/sys/fs/cgroup" "$tried/run/systemd/system" "$tried/run/user/1000"
    mount -t cgroup2 cgroup2 "$tried/sys/fs/cgroup"
    mkdir -p "$tried/sys/fs/cgroup/mara/session"
    in_tried chown -R mara:mara /run/user/1000 /sys/fs/cgroup/mara
    chmod 700 "$tried/run/user/1000"
    (
        echo "$BASHPID" >"$tried/sys/fs/cgroup/mara/session/cgroup.procs"
        as_user /usr/lib/systemd/systemd --user </dev/null >"$place/systemd.log" 2>&1
    ) &
    for _ in {1..100}; do
        as_user systemctl --user show-environment >/dev/null 2>&1 && return
        sleep 0.2
    done
    fail "systemd does not run: see $place/systemd.log"
}

export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

step "a bare $suite, and one with the tools that build packages; later runs use them again"
[[ -d $bare ]] || make_bare
[[ -e $build/made ]] || { rm -rf --one-file-system "$build"; cp -a "$bare" "$build"; }
enter "$build"
[[ -e $build/made ]] || make_build

step 'the package'
first=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$tree/debian/changelog")
make_package ''
ls -sh "$build"/build/*.deb
in_build sh -c "lintian --allow-root --fail-on error /build/gnod_${first}_*.deb"

step 'install'
make_tried tried
install_package "$first"
in_tried du -sm /usr/lib/gnod
as_user gnoctl --version
as_user gnoctl init notes
finds search zebra

as_user gnoctl daemon stop

step 'the daemon as a service'
in_tried apt-get install -qq -y --no-install-recommends systemd >"$place/systemd-install.log" 2>&1
start_session
as_user systemd-analyze verify --user --man=no /usr/lib/systemd/user/gnod{.socket,.service,-web.service}
as_user systemctl --user enable --now gnod.socket
finds search zebra
as_user systemctl --user is-active gnod.service || fail 'the socket does not start the service'
as_user gnoctl service status

step 'upgrade'
make_package 99.0
install_package 99.0
for _ in {1..60}; do  # the daemon replaces itself half a minute after the last file was written
    [[ $(version) == 99.0 ]] && break
    sleep 2
done
[[ $(version) == 99.0 ]] || fail "the old daemon runs on: $(version)"
finds search zebra

step 'purge'
in_tried apt-get purge -qq -y gnod >"$place/purge.log" 2>&1
sleep 1
! pgrep -f /usr/lib/gnod || fail 'processes are left'
left=$(in_tried find / -xdev \( -path /home -o -path /root -o -path /proc \) -prune -o -name '*gno[dc]*' -print)
[[ -z $left ]] || fail "files are left: $left"
in_tried test -e /home/mara/.local/share/gno/index-default.sqlite || fail "the user's index is gone"

cp "$build"/build/gnod_"$first"_*.deb "$place/"

step 'the wheel'
make_tried piped
in_tried apt-get install -qq -y --no-install-recommends pipx >"$place/pipx.log" 2>&1
in_build sh -c 'cd /build/gnod && python3 -m venv /build/venv && /build/venv/bin/pip wheel --no-deps --wheel-dir /build/wheels .' >"$place/wheel.log" 2>&1
cp "$build"/build/wheels/gnod-*.whl "$tried/home/mara/"
! in_tried which cc c++ || fail 'there is a compiler'
step 'install it'
time as_user sh -c 'pipx install ./gnod-*.whl' >"$place/pipx-install.log" 2>&1
step 'the first hit by keyword'
time { as_user gnoctl init notes >"$place/init.log" 2>&1 && finds search zebra; }
step 'the first hit by meaning'
time {
    as_user sh -c 'gnoctl models use mini && gnoctl models pull embed && gnoctl embed' >"$place/models.log" 2>&1
    finds vsearch 'striped horse'
}

step "all is well: $(ls "$place"/*.deb)"
