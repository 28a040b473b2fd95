/** Choices for a job: each list is declared once, and its type derived from it. */

/** What to do when the destination already exists. */
export const onExistingChoices = ['fail', 'skip', 'overwrite', 'rename'] as const;
export type OnExisting = (typeof onExistingChoices)[number];

/** What to do when it is unknown whether a submitted conversion ran. */
export const onUnknownOutcomeChoices = ['resubmit', 'fail'] as const;
export type OnUnknownOutcome = (typeof onUnknownOutcomeChoices)[number];

/** Whether the convert request is answered when the conversion is accepted, or when it is done. */
export const conversionModes = ['async', 'sync'] as const;
export type ConversionMode = (typeof conversionModes)[number];
