"""Notes with links between them, for the pictures of links: the samples have none."""

from __future__ import annotations

import re
from pathlib import Path

_NOTES = """
=== season/spring-launch.md
# Spring launch

The boats go into the water on the second Saturday of April. Who does what is in [[work-rota]].

1. The crane comes at eight; [[crane-booking]] has the number of its owner. Check the [[slings]] the day before.
2. Boats leave the shed in the order of the [berth plan](../harbour/berth-plan.md#outer-jetty), the outermost first.
3. Masts are stepped after lunch: [[Mast crane#Before lifting]].

What went wrong last year is in [[lessons-2025]]. The insurance wants the [[inspection-report]] before.
=== boats/albatros.md
---
type: Boat
built: 1982
berth: "[[berth-plan]]"
tags: [wood, winter/shed]
---
# Albatros

![[albatros.svg|150]] A ketch of 11 m. ==Her seams need work== before the launch.

> [!warning] The keel
> Do not lift her by the middle: see [[slings]].

> [!tip]- How far she heels
> At the angle $\\theta$, the wind presses with $F = \\frac{1}{2} \\rho v^2 A \\cos^2\\theta$.

- [x] scrape the hull
- [ ] caulk the seams

![[berth-plan#Outer jetty]]

![[boats.base]]
=== boats/bussard.md
---
type: Boat
built: 1995
tags: [steel]
---
# Bussard
=== boats/boats.base
filters: type == "Boat"
views:
  - type: table
    name: Our boats
    order: [file.name, built, tags]
    sort: [{property: built, direction: ASC}]
=== boats/albatros.svg
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 150 100"><path d="M20 72h110l-14 20H36z" fill="#3451b2"/>
<path d="M66 8v60H30z" fill="#e8b04b"/><path d="M72 14v54h42z" fill="#c9c9c4"/>
<path d="M67 4h4v70h-4z" fill="#5b616b"/></svg>
=== season/work-rota.md
# Work rota

Two people at the [[mast-crane]], four with the boats. Cake: [[crew]].
=== season/lessons-2025.md
# Lessons of 2025

The [[slings]] were too short, so the [[spring-launch]] took until dark.
=== season/autumn-haul-out.md
# Autumn haul-out

The [[spring-launch]] in reverse; the [[berth-plan]] decides who is last.
=== season/winter-storage.md
# Winter storage

After the [[autumn-haul-out]], covers are checked every month by the [[crew]].
=== harbour/berth-plan.md
# Berth plan

Drawn for the [[spring-launch]].

## Inner basin

A1 to A12.

## Outer jetty

B1 to B9, deeper: see [[depths]].
=== harbour/depths.md
# Depths

Measured each March, before the boats go in: 1.9 m at the [[berth-plan|outer jetty]].
=== harbour/mast-crane.md
---
aliases: [Mast crane]
---
# Mast crane

## Before lifting

Look at the [[slings]].
=== harbour/slings.md
# Slings

Eight, of polyester, 3 t each. Replaced after the spring launch of 2025.
=== harbour/crane-booking.md
# Crane booking

For the [[spring-launch]] and the [[autumn-haul-out]]. Pays: [[treasurer]].
=== people/crew.md
# Crew

Who helps at the spring launch: twelve members, see [[work-rota]].
=== people/treasurer.md
# Treasurer

Pays the [[crane-booking]] from the [[fees]].
=== people/fees.md
# Fees

By length of the boat, as in the [[berth-plan]].
"""


def write(folder: Path) -> None:
    """Write each note below the line with its path."""
    for path, text in re.findall(r"^=== (.+)\n((?:(?!===).*\n)*)", _NOTES, re.MULTILINE):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
