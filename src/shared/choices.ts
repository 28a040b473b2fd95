/** Choices that a person, a program or a configuration makes for a job: each list once, its type from it. */

/** What to do when the destination of a job already exists. */
export const onExistingChoices = ['fail', 'skip', 'overwrite', 'rename'] as const;
export type OnExisting = (typeof onExistingChoices)[number];

/** What to do when it cannot be known whether a submitted conversion ran. */
export const onUnknownOutcomeChoices = ['resubmit', 'fail'] as const;
export type OnUnknownOutcome = (typeof onUnknownOutcomeChoices)[number];

/** Whether the convert request is answered when the conversion is accepted or when it is done. */
export const conversionModes = ['async', 'sync'] as const;
export type ConversionMode = (typeof conversionModes)[number];
