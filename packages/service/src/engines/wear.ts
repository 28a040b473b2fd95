let worn = false;

/** This process must convert no other file: something in it is in a state that nobody knows, or has been used for long. */
export function wearOut(): void {
  worn = true;
}

export function isWornOut(): boolean {
  return worn;
}
