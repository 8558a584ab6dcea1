"""Machine picker: a machine by what the address says, and the name that tells it from the others."""

from collections.abc import Sequence

from perfdb.domain.machine_record import MachineRecord
from perfdb.errors import SelectionError

#: A key is named by so many of its first digits.
SHORT = 6


def find_machine(records: Sequence[MachineRecord], wanted: str) -> MachineRecord:
    """The machine with this key, or beginning of it, or hostname (of several, the one that measured last).

    Raises ``SelectionError`` when none has it, or several keys begin so.
    """
    exact = [record for record in records if record.machine.key == wanted]
    named = [record for record in records if record.machine.hostname == wanted]
    begun = [record for record in records if len(wanted) >= SHORT and record.machine.key.startswith(wanted)]
    found = [*exact, *named, *begun]
    if not exact and not named and len(begun) > 1:
        keys = ", ".join(record.machine.key for record in begun[:5])
        raise SelectionError(f"{wanted!r} names {len(begun)} machines: {keys}; write more of it")
    if not found:
        known = ", ".join(name(record, records) for record in records[:5])
        raise SelectionError(f"no machine matches {wanted!r}; those that measured last: {known}")
    return found[0]


def name(record: MachineRecord, records: Sequence[MachineRecord]) -> str:
    """The hostname; where several machines have it, with the GPU unit, or else the key."""
    machine = record.machine
    if sum(other.machine.hostname == machine.hostname for other in records) < 2:
        return machine.hostname
    units = [other.machine.gpu.uuid_digest for other in records if other.machine.gpu]
    if machine.gpu and units.count(machine.gpu.uuid_digest) == 1:
        return f"{machine.hostname} · GPU {machine.gpu.uuid_digest[:SHORT]}"
    return f"{machine.hostname} · key {machine.key[:SHORT]}"
