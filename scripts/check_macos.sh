#!/bin/bash
# Check gnod on a Mac, and write one file to send back. Usage: scripts/check_macos.sh [--rehearse] [FILE]
#
# It uses an index of its own in a temporary folder. It reads none of your files, and asks before it touches iCloud, the
# keychain or launchd. The file has versions, results and names of gnod's tests, but no text and no name of yours.
# --rehearse runs on Linux what exists there, and asks nothing. Works with bash 3.2, which macOS has.
set -u
cd "$(dirname "$0")/.." || exit 1

rehearse=
if [ "${1-}" = --rehearse ]; then
    rehearse=1
    shift
elif [ "$(uname -s)" != Darwin ]; then
    echo "this is not a Mac: --rehearse runs what exists here" >&2
    exit 1
fi
report=${1-gnod-macos.txt}
bin=${BIN-.venv/bin}
case $bin in /*) ;; *) bin=$PWD/$bin ;; esac

work=$(mktemp -d /tmp/gnod-check.XXXXXX) || exit 1
work=$(cd "$work" && pwd -P)
notes=$work/notes
cloud="$HOME/Library/Mobile Documents/com~apple~CloudDocs/gnod-check"
mkdir "$notes"
export GNO_CONFIG_DIR=$work/config GNO_DATA_DIR=$work/data GNO_CACHE_DIR=$work/cache GNO_SOCKET=$work/check.sock
export GNO_INDEX=check-macos
unset GNO_NO_AUTOSTART

has_service=""
has_cloud=""
clean_up() {
    [ -n "$has_service" ] && gn service uninstall >>"$work/log" 2>&1
    gn daemon stop --force >>"$work/log" 2>&1
    [ -n "$has_cloud" ] && rm -rf "$cloud"
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# bounded SECONDS COMMAND…: macOS has no timeout(1), but perl, whose alarm survives exec.
bounded() {
    perl -e 'alarm shift; exec @ARGV or exit 127' "$@"
}

gn() {
    bounded 120 "$bin/gnoctl" "$@" </dev/null
}

result() { # STEP ok|failed|skipped|noted DETAIL
    printf '%-9s %-8s %s\n' "$1" "$2" "${3//"$HOME"/HOME}" | tee -a "$report"
}

ask() { # QUESTION: 0 if the answer is yes
    [ -n "$rehearse" ] && return 1
    local answer=
    printf '\n%s [y/N] ' "$1"
    read -r -t 600 answer </dev/tty
    [ "$answer" = y ] || [ "$answer" = Y ]
}

found() { gn search --exact "$1" >>"$work/log" 2>&1; }

gone() {
    gn search --exact "$1" >>"$work/log" 2>&1
    [ $? -eq 1 ] # 2 is an error
}

# within STEP SECONDS COMMAND…: wait for a state, and write down how long that took
within() {
    local step=$1 limit=$2 began=$SECONDS
    shift 2
    while ! "$@"; do
        if [ $((SECONDS - began)) -ge "$limit" ]; then
            result "$step" failed "not within $limit s: $*"
            return 1
        fi
        sleep 0.5
    done
    result "$step" ok "$* after $((SECONDS - began)) s"
}

system() {
    result system noted "$(uname -srm), $(sw_vers -productVersion 2>/dev/null || echo 'not macOS')"
    result system noted "$("$bin/python" -VV 2>/dev/null || echo 'Python is not installed yet'), $(ulimit -n) files"
    touch "$work/case" "$work/"$'e\xcc\x81'
    local folds=
    [ -e "$work/CASE" ] && folds="$folds case"
    [ -e "$work/"$'\xc3\xa9' ] && folds="$folds composition"
    result system noted "the file system folds:${folds:- nothing}"
}

install() {
    if [ -n "$rehearse" ]; then
        result install skipped "rehearsal"
    elif bounded 3600 make .venv/.test >>"$work/log" 2>&1; then
        result install ok "make, in $SECONDS s; llama.cpp with a graphics card: $("$bin/python" -c \
            'from gnod.models.run.llama import library; print(library.has_graphics_card())' 2>&1 | tail -1)"
    else
        result install failed "the end of .venv/install.log says why"
        exit 1
    fi
}

tests() {
    local chosen="tests/child tests/config tests/daemon tests/freshness tests/store tests/memory tests/ingest/test_walk.py
        tests/ingest/test_worker_pool.py tests/ingest/test_worker_limits.py tests/ingest/test_unreadable.py
        tests/client/test_service_files.py tests/end_to_end/test_daemon_process.py
        tests/end_to_end/test_watching.py tests/end_to_end/test_incremental_index.py"
    [ -n "$rehearse" ] && chosen=tests/child/test_seatbelt.py
    # shellcheck disable=SC2086 # these are several words
    env -u GNO_CONFIG_DIR -u GNO_DATA_DIR -u GNO_CACHE_DIR -u GNO_SOCKET -u GNO_INDEX \
        perl -e 'alarm shift; exec @ARGV' 1800 "$bin/python" -m pytest -n 0 -q -m "not stress" -rfEs $chosen \
        >"$work/tests" 2>&1
    local status=$?
    if [ $status -eq 0 ]; then status=ok; else status=failed; fi
    result tests $status "$(tail -1 "$work/tests")"
    # Only names of tests and places of skips: the messages may have paths of yours.
    sed -n -E -e 's/^(FAILED|ERROR) ([^ ]*).*/\1 \2/p' -e 's/^(SKIPPED [^ ]* [^ ]*):.*/\1/p' "$work/tests" >>"$report"
}

start() {
    echo '# Heron zqx70' >"$notes/first.md"
    if gn init "$notes" --name notes --preset none >>"$work/log" 2>&1; then
        result start ok "a folder is indexed"
    else
        result start failed "exit status $?"
        exit 1
    fi
}

sandbox() {
    mkdir "$work/own"
    cat >"$work/sandbox.py" <<'PYTHON'
import os, socket, subprocess, sys
from gnod.child import sandbox

def refuses(act):
    try:
        act()
    except OSError:
        return "refused"
    return "possible"

held = sandbox.confine(writable=sys.argv[1], readable=None)
own, other = (os.path.join(folder, "file") for folder in (sys.argv[1], os.path.dirname(sys.argv[1])))
print(
    "; ".join(held) or "nothing holds",
    f"connecting {refuses(lambda: socket.create_connection(('127.0.0.1', 9), 1))}",
    f"a program {refuses(lambda: subprocess.run(['/usr/bin/true']))}",
    f"writing {refuses(lambda: open(other, 'w'))}",
    f"writing where it may {refuses(lambda: open(own, 'w'))}",
    sep=", ",
)
PYTHON
    result sandbox noted "$(bounded 60 "$bin/python" "$work/sandbox.py" "$work/own" 2>&1 | tail -1)"
}

events() {
    echo '# Finch zqx71' >"$notes/finch.md"
    within events 60 found zqx71
    rm "$notes/finch.md"
    within events 60 gone zqx71
}

names() {
    echo '# Cafe zqx72' >"$notes/"$'cafe\xcc\x81.md'
    within names 60 found zqx72
    if rm "$notes/"$'caf\xc3\xa9.md' 2>/dev/null; then
        within names 60 gone zqx72
    else
        result names skipped "this file system does not fold composition"
    fi
    echo '# Lynx zqx73' >"$notes/lynx.md"
    within names 60 found zqx73
    mv "$notes/lynx.md" "$notes/Lynx.md"
    within names 90 has_name Lynx.md
}

has_name() { gn search --exact --json zqx73 2>>"$work/log" | grep -q "\"$1\""; }

# A file whose content is in iCloud alone must stay there.
dataless() {
    if ! ask "Put a small file into iCloud Drive/gnod-check, and remove it afterwards?"; then
        result dataless skipped "not asked for"
        return
    fi
    has_cloud=1
    mkdir -p "$cloud"
    echo '# Cloud zqx74' >"$cloud/cloud.md"
    echo "waiting a minute for the upload"
    sleep 60
    bounded 60 brctl evict "$cloud/cloud.md" >>"$work/log" 2>&1
    local before
    before=$(stat -f %Sf "$cloud/cloud.md")
    gn collection add "$cloud" --name cloud >>"$work/log" 2>&1
    result dataless noted "flags before: $before; after: $(stat -f %Sf "$cloud/cloud.md")"
    if gone zqx74; then
        result dataless ok "its text is not in the index"
    else
        result dataless failed "it was read"
    fi
    gn collection remove cloud >>"$work/log" 2>&1
}

service() {
    if ! ask "Install gnod as an agent of launchd for the test index, kill it once, and uninstall it?"; then
        gn service status >>"$work/log" 2>&1
        result service skipped "not asked for; status ends with $?"
        return
    fi
    has_service=1
    gn service install >>"$work/log" 2>&1
    result service noted "install ends with $?"
    within service 30 found zqx70
    kill -9 "$(gn daemon status --json | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' | head -1)"
    within service 60 gn daemon status
    gn daemon restart >>"$work/log" 2>&1
    result service noted "restart ends with $?"
    cp "$GNO_CONFIG_DIR/index.yml" "$work/good.yml"
    gn daemon stop >>"$work/log" 2>&1
    echo 'collections: nonsense' >"$GNO_CONFIG_DIR/index.yml"
    gn daemon start >>"$work/log" 2>&1
    result service noted "a start with a broken config ends with $?"
    sleep 25
    local runs
    runs=$(launchctl print "gui/$(id -u)/local.gnod.check-macos" | sed -n 's/.*runs = //p')
    result service noted "launchd has started it $runs times"
    cp "$work/good.yml" "$GNO_CONFIG_DIR/index.yml"
    gn daemon start >>"$work/log" 2>&1
    if ask "Look at Documents as a service? macOS may ask for a permission: refuse it once."; then
        gn collection add "$HOME/Documents" --name documents --pattern '*.gnod-check' >"$work/told" 2>&1
        result privacy noted "add ends with $?; lines with the reason: $(grep -c 'Privacy & Security' "$work/told")"
        gn collection remove documents >>"$work/log" 2>&1
    fi
    gn service uninstall >>"$work/log" 2>&1
    result service noted "uninstall ends with $?"
    has_service=
}

keychain() {
    if ! ask "Store a sentence in a test memory? Its key stays in your keychain as 'gnod memory'."; then
        result keychain skipped "not asked for"
        return
    fi
    gn remember "A test sentence about herons." >>"$work/log" 2>&1
    result keychain noted "remember ends with $?"
    gn daemon restart >>"$work/log" 2>&1
    gn recall herons >>"$work/log" 2>&1
    result keychain noted "recall after a restart ends with $?"
}

sleeping() {
    if ! ask "Let the Mac sleep for a minute now, wake it, and then answer y"; then
        result sleep skipped "not asked for"
        return
    fi
    within sleep 10 found zqx70
    echo '# Owl zqx75' >"$notes/owl.md"
    within sleep 60 found zqx75
}

: >"$report" || exit 1
system
install
tests
start
sandbox
events
names
dataless
service
keychain
sleeping
if gn doctor --report "$work/doctor.md" >>"$work/log" 2>&1 || [ -s "$work/doctor.md" ]; then
    printf '\n' | cat - "$work/doctor.md" >>"$report"
    result doctor ok "its report is below the results"
else
    result doctor failed "no report"
fi
echo
echo "Read $report, and send it back."
