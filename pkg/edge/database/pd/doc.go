// Package pd talks to PD, the placement driver of a TiDB cluster, over HTTP.
//
// It exists because github.com/tikv/pd/client/http is written for a process that lives beside PD. That library sends
// a refused write to every member, and reports the last member's error instead of the leader's. It logs to standard
// output, and lacks calls that operations need (deleting a member, setting a store's state, listing tombstones).
// This package asks one member per request, and itself finds the leader, tries other members, repeats requests and
// classifies errors. ADR 36 says why it does not have the library send them.
//
// The contract of every method of Client:
//
//   - It asks the leader, and what the leader answers is the answer.
//   - It lasts as long as Config.Budget and its context allow, whichever ends first. A leader that was killed is
//     replaced after about 12 seconds, so the default budget is 45 seconds. When a call has no more time than one
//     Config.Attempt, it gives up as soon as no member can be reached at all: that is what a control loop wants, which
//     comes back anyway.
//   - Writes are idempotent, so a repeat after a lost answer is harmless, and what is already so is success.
//   - Errors are classified: errors.Is compares with ErrUnreachable, ErrLeaderUnreachable, ErrNoLeader,
//     ErrNotReady, ErrNotBootstrapped, ErrRefused, ErrNotFound, ErrIsLeader and ErrSchedulersNotLoaded;
//     errors.As with *StatusError gives PD's own text.
//   - No method waits for minutes. What may take minutes (schedulers that PD before v7.3 does not know for up to five
//     minutes after a leader change) is returned at once as a typed error that says what is awaited.
//
// Fake is a Client in memory, for the tests of the packages above.
package pd
