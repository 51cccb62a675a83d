"""A seccomp filter for the system calls of a Linux process, installed through ctypes as classic BPF.

This module has the calls and their numbers; it must not depend on the confined process. A forbidden call fails with
EPERM, so that a library can continue without it. Calls of newer kernels fail with ENOSYS, as if they did not exist.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from typing import NamedTuple

from gnod.child.system_calls import NotHeld, call, no_new_privileges


class _Machine(NamedTuple):
    """`column`: the column of the tables below. `architecture`: the kernel's identifier."""

    column: int
    architecture: int
    seccomp: int


_MACHINES = {
    "x86_64": _Machine(0, 0xC000003E, 317),
    "aarch64": _Machine(1, 0xC00000B7, 277),
    "riscv64": _Machine(1, 0xC00000F3, 277),
}

# Names, and the numbers on x86_64 and on newer machines; 0 if the machine does not have the call.
_PROGRAMS = "execve 59 221  execveat 322 281"
# Rings bypass the filter: the kernel itself runs the queued calls.
_RINGS = "io_uring_setup 425 425  io_uring_enter 426 426  io_uring_register 427 427"
_CONFINED = f"""
    {_PROGRAMS}  fork 57 0  vfork 58 0
    {_RINGS}
    socket 41 198  socketpair 53 199  bind 49 200  listen 50 201  accept 43 202  accept4 288 242  connect 42 203
    ptrace 101 117  process_vm_readv 310 270  process_vm_writev 311 271  process_madvise 440 440
    process_mrelease 448 448  kcmp 312 272  pidfd_open 434 434  pidfd_getfd 438 438  pidfd_send_signal 424 424
    tkill 200 130  rt_sigqueueinfo 129 138  rt_tgsigqueueinfo 297 240
    setpriority 141 140  ioprio_set 251 30  sched_setparam 142 118  sched_setscheduler 144 119
    sched_setaffinity 203 122  sched_setattr 314 274  migrate_pages 256 238  move_pages 279 239
    chmod 90 0  fchmod 91 52  fchmodat 268 53  fchmodat2 452 452  chown 92 0  fchown 93 55  lchown 94 0  fchownat 260 54
    setxattr 188 5  lsetxattr 189 6  fsetxattr 190 7  removexattr 197 14  lremovexattr 198 15  fremovexattr 199 16
    utime 132 0  utimes 235 0  futimesat 261 0  utimensat 280 88
    memfd_create 319 279  memfd_secret 447 447  shmget 29 194  shmat 30 196  semget 64 190  msgget 68 186
    mq_open 240 180
    add_key 248 217  request_key 249 218  keyctl 250 219
    mount 165 40  umount2 166 39  pivot_root 155 41  chroot 161 51  unshare 272 97  setns 308 268  open_tree 428 428
    move_mount 429 429  fsopen 430 430  fsconfig 431 431  fsmount 432 432  fspick 433 433  mount_setattr 442 442
    bpf 321 280  perf_event_open 298 241  userfaultfd 323 282  fanotify_init 300 262
    name_to_handle_at 303 264  open_by_handle_at 304 265  quotactl 179 60  quotactl_fd 443 443
    init_module 175 105  finit_module 313 273  delete_module 176 106  kexec_load 246 104  kexec_file_load 320 294
    swapon 167 224  swapoff 168 225  reboot 169 142  acct 163 89  sethostname 170 161  setdomainname 171 162
    settimeofday 164 170  clock_settime 227 112  adjtimex 159 171  clock_adjtime 305 266
    iopl 172 0  ioperm 173 0  modify_ldt 154 0  vhangup 153 58  personality 135 92
"""
_NEWEST = 462  # mseal; later calls may offer new ways to do what the filter forbids

_CLONE, _CLONE3 = (56, 220), (435, 435)
_KILL, _TGKILL, _PRLIMIT = (62, 129), (234, 131), (302, 261)
_FCNTL, _IOCTL, _PRCTL, _SOCKET = (72, 25), (16, 29), (157, 167), (41, 198)
_CLONE_THREAD = 0x10000
_SIGNALS_OF_FILES = (8, 10, 15)  # F_SETOWN, F_SETSIG, F_SETOWN_EX: the kernel sends signals on our behalf
_OF_TERMINALS_AND_SIGNALS = (0x5412, 0x541C, 0x8901, 0x8902)  # TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP
_PR_SET_PDEATHSIG = 1  # the process dies with the daemon
_LOCAL_FAMILIES = (1, 16)  # AF_UNIX, AF_NETLINK: GPU drivers use them

_SET_MODE_FILTER = 1
_ALL_THREADS, _AS_FAST_AS_BEFORE = 1, 4  # the latter turns off mitigations that older kernels add

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_AT_NUMBER, _AT_ARCHITECTURE, _AT_ARGUMENTS = 0, 4, 16
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EPERM
_UNKNOWN = 0x00050000 | errno.ENOSYS  # the C library then uses an older call, which the filter can check


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def confine() -> list[str]:
    """Forbid programs, connections, other processes, and changes to files without opening them. Returns what is
    enforced, in words. Raises NotHeld."""
    machine = _machine()
    own = os.getpid()
    _load(
        machine,
        [
            *_each(machine, _CONFINED),
            *_when(machine, _CLONE3, [(_RETURN, 0, 0, _UNKNOWN)]),
            *_when(machine, _CLONE, [_argument(0), (_ANY_BIT, 1, 0, _CLONE_THREAD), _refuse(), _allow()]),
            *_when(machine, _KILL, _only(0, own)),
            *_when(machine, _TGKILL, _only(0, own)),
            *_when(machine, _PRLIMIT, _only(0, 0, own)),
            *_when(machine, _FCNTL, _all_but(1, *_SIGNALS_OF_FILES)),
            *_when(machine, _IOCTL, _all_but(1, *_OF_TERMINALS_AND_SIGNALS)),
            *_when(machine, _PRCTL, _all_but(0, _PR_SET_PDEATHSIG)),
        ],
    )
    return ["network", "programs", "other processes"]


def stay_local() -> list[str]:
    """Forbid only programs and the network. Returns what is enforced. Raises NotHeld."""
    machine = _machine()
    _load(machine, [*_each(machine, _PROGRAMS + "  " + _RINGS), *_when(machine, _SOCKET, _only(0, *_LOCAL_FAMILIES))])
    return ["network", "programs"]


_Step = tuple[int, int, int, int]  # an operation, the steps to skip if it is true or false, and its operand


def _machine() -> _Machine:
    if (found := _MACHINES.get(os.uname().machine)) is None or struct.calcsize("P") != 8:
        raise NotHeld("unknown kind of machine")
    return found


def _each(machine: _Machine, table: str) -> list[_Step]:
    numbers = table.split()[1 + machine.column :: 3]
    return [step for number in numbers if number != "0" for step in ((_EQUAL, 0, 1, int(number)), _refuse())]


def _when(machine: _Machine, numbers: tuple[int, int], steps: list[_Step]) -> list[_Step]:
    """Run the steps for one system call. One of them returns."""
    return [(_EQUAL, 0, len(steps), numbers[machine.column]), *steps]


def _only(argument: int, *values: int) -> list[_Step]:
    matches = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [_argument(argument), *matches, _refuse(), _allow()]


def _all_but(argument: int, *values: int) -> list[_Step]:
    matches = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [_argument(argument), *matches, _allow(), _refuse()]


def _argument(number: int) -> _Step:
    """Load the lower half of an argument. All checked arguments are ints, and all these machines are little-endian."""
    return _LOAD, 0, 0, _AT_ARGUMENTS + 8 * number


def _refuse() -> _Step:
    return _RETURN, 0, 0, _REFUSE


def _allow() -> _Step:
    return _RETURN, 0, 0, _ALLOW


def _load(machine: _Machine, steps: list[_Step]) -> None:
    """Install the filter for all threads. It first checks the architecture, because a process can also make 32-bit
    calls, and on x86_64 the x32 calls, whose numbers are large."""
    steps = [
        (_LOAD, 0, 0, _AT_ARCHITECTURE),
        (_EQUAL, 1, 0, machine.architecture),
        _refuse(),
        (_LOAD, 0, 0, _AT_NUMBER),
        (_AT_LEAST, 0, 1, _NEWEST + 1),
        (_RETURN, 0, 0, _UNKNOWN),
        *steps,
        _allow(),
    ]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    program = _Program(len(steps), code)
    no_new_privileges()
    if call(machine.seccomp, _SET_MODE_FILTER, _ALL_THREADS | _AS_FAST_AS_BEFORE, ctypes.byref(program)):
        raise NotHeld("another thread has its own filter")
