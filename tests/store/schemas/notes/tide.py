"""When the tide turns."""


def next_high_water(minutes: int) -> int:
    return minutes + 745
