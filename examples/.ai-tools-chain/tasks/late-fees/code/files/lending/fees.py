CENTS_PER_DAY = 20
MOST_CENTS = 500


def late_fee(days: int) -> int:
    return days * CENTS_PER_DAY
