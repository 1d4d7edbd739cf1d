// Package query asks questions of a store of marks: how many ids were active, who
// came back, how far they came, and who they are.
//
//	n, err := query.Count(ctx, db, "active", query.Month(2026, time.January))
//	f, err := query.AndCount(ctx, db, query.Month(2026, time.January), "registered", "played", "paid")
//
//	x, err := query.Parse(`active[2026-W05] & paid[2026-01] - bots[all]`)
//	for id, err := range query.Members(ctx, db, x) { … }
//
// # Sources
//
// A question is asked of a [Source], a *store.DB or a *store.Snapshot. Each takes
// one snapshot and gives one consistent answer; no caller's code runs while the
// snapshot is open. Questions may be asked from several goroutines.
//
// # Periods
//
// A [Period] is a run of days as people write it, such as 2026-W05, 2026-01..,
// 7d@2026-01-30 or all; see [ParsePeriod]. It is resolved when a question is
// asked, by [Period.Resolve]: against the day of the question, the store's first
// day of a week, and what is stored of the event. Reports go through the calendar
// by a [Stepping].
//
// # Sets
//
// An [Expr] is a set of ids, put together of the ids of events by and, or, xor and
// and-not; see [Parse]. There is no bare not: what is not in x is seen - x. An
// event never written is the empty set, wherever it stands. Sets of two brands do
// not meet: that is [ErrTwoBrands].
//
// Where an event is wanted and a set has a meaning, as a step of a funnel, a text may be
// either: [EventOrSet] is the rule.
//
// # Fields and visitors
//
// A field is a number per id: [Compare] and [ValueIn] make sets of its values, and
// [SumField], [Extremes], [Values] and [TopIDs] ask for those of all ids or of a set.
// Visitors of pages are estimated: [Uniques], [SiteUniques] and [TopPages] unite
// sketches over days; nothing else can be done with sketches, and nothing here mixes
// them with sets.
//
// # As-of
//
// Every question has a today, its as-of: the store's current day, or another that
// is asked for. The reports [Active], [Retention], [RetentionBetween], [Lifecycle],
// [Funnel], [Streak], [Streaking] and [Longest] never read a mark after it. [Count],
// [Size], [Members], [Bitmap] and [Calendar] read every stored day, unless as-of is
// given. A period has ended when its last day is not after as-of and is before the
// store's current day.
//
// # Parts
//
// A [Scope] makes a count or a report one of part of the ids: of a set only, without
// the ids of others, and broken down by sets, with the ids of none and the true
// total.
//
// # Answers
//
// Counts are unions of days, never sums, and exact over the days stored. What they
// count are positions: in a store of branded or string ids, two ids can share one,
// and answers say how much of that to expect. A [Rate] with a denominator of 0, or
// of a period that has not ended, is no answer, never 0. Answers marshal to JSON in
// snake_case, no answer as null, and periods as they are written.
//
// # Cost
//
// Sets are evaluated chunk by chunk, a chunk being a fixed range of positions:
// memory is one chunk for each set at hand, whatever the store holds, and the
// context is checked between chunks. A count that takes longer than 100 µs goes on
// with a goroutine for each processor. The count of one day is noted in the store.
// Reports about how days overlap lay the days of a chunk side by side, read each
// once, and take tens of ns a mark and a few KiB a period; see [store.Frames].
// Questions about one id, [Streak], [Calendar] and [CheckIn], look up one bit a day.
//
// # Errors
//
// An error that matches [ErrUsage] says that the question itself cannot be asked,
// such as a [PeriodError] or a [SyntaxError]. Others are the context's, or the
// store's, wrapped: store.ErrInvalidEvent of a name that no event can have, while one
// that was never written is no error.
package query
