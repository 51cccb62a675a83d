/** What a berth costs, as the invoice prints it: `formatPrice(123450, "de-DE")` is "1.234,50 €". */
export function formatPrice(cents: number, locale = "en-IE", currency = "EUR"): string {
  if (!Number.isInteger(cents)) {
    throw new RangeError(`prices are whole cents, got ${cents}`);
  }
  return new Intl.NumberFormat(locale, { style: "currency", currency }).format(cents / 100);
}

/** Guests pay a quarter more, rounded to ten cents in their favour. */
export function guestPrice(memberCents: number): number {
  return Math.floor((memberCents * 1.25) / 10) * 10;
}
