// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

const (
	attempting = pipelines.PromotionAttempting
	succeeded  = pipelines.PromotionSucceeded
	complete   = pipelines.PromotionComplete
)

func TestPromotedOnce(t *testing.T) {
	once := func() *story { return tell(false).becomes(attempting).becomes(succeeded) }
	check(t, "I9", map[string]example{
		"once": {once().becomes(complete).becomes(attempting, next).becomes(succeeded), ""},
		"a retry": {
			once().becomes(pipelines.PromotionStalled).becomes(attempting, func(p *pipelines.PromotionStatus) { p.Retries = 1 }).becomes(succeeded),
			"",
		},
		"found again after a wipe": {once().wiped().becomes(succeeded), ""},
		"attempted again": {
			once().becomes(attempting),
			"I9: revision 4: the promotion of 1.1.0 to prod in run 1, retry 0 is Attempting although it had succeeded",
		},
		"succeeds again": {once().becomes(complete).becomes(succeeded), "succeeds a second time"},
		"one pull request": {
			tell(false).happened(Opened, 1, "k1", "1.1.0").happened(Merged, 1, "k1", "1.1.0").happened(Opened, 2, "k2", "1.2.0"),
			"",
		},
		"a second pull request": {
			tell(false).happened(Opened, 1, "k1", "1.1.0").happened(Closed, 1, "k1", "1.1.0").happened(Opened, 2, "k1", "1.1.0"),
			"I9: there is a second pull request for one promotion: opened k1 of 1.1.0 for prod (number 2)",
		},
		"merged under two keys": {
			tell(
				false,
			).happened(Opened, 1, "k1", "1.1.0").
				happened(Merged, 1, "k1", "1.1.0").
				happened(Opened, 2, "k2", "1.1.0").
				happened(Merged, 2, "k2", "1.1.0"),
			"a revision was merged twice",
		},
		"one event": {tell(false).happened(Accepted, 0, "k1", "1.1.0").happened(Accepted, 0, "k2", "1.2.0"), ""},
		"the same event once more": {
			tell(false).happened(Accepted, 0, "k1", "1.1.0").happened(Accepted, 0, "k1", "1.1.0"),
			"I9: an event was sent twice",
		},
		"not even begun after that": {once().becomes(pipelines.PromotionUnattempted), "is Unattempted although it had succeeded"},
	})
}

func TestOneOpen(t *testing.T) {
	first := func() *story { return tell(false).happened(Opened, 1, "k1", "1.1.0") }
	check(t, "I10", map[string]example{
		"one after the other": {first().happened(Closed, 1, "k1", "1.1.0").happened(Opened, 2, "k2", "1.2.0"), ""},
		"two at once": {
			first().happened(Opened, 2, "k2", "1.2.0").happened(Closed, 1, "k1", "1.1.0"),
			"I10: 2 pull requests are open for one environment after opened k2 of 1.2.0 for prod (number 2)",
		},
	})
}

func TestAtRest(t *testing.T) {
	gone := tell(false).happened(Opened, 1, "k1", "1.1.0")
	gone.History = append(gone.History, testkit.Revision{Change: testkit.Deleted, Object: gone.History[0].Object})
	for name, e := range map[string]example{
		"the current one":         {tell(false).happened(Opened, 1, "k1", "1.1.0"), ""},
		"an old one that is gone": {tell(false).happened(Opened, 1, "k0", "1.0.5").happened(Closed, 1, "k0", "1.0.5"), ""},
		"an old one":              {tell(false).happened(Opened, 1, "k0", "1.0.5"), `I10: at rest a pull request is open that nobody wants, since the revision is "1.1.0"`},
		"of a deleted pipeline":   {gone, `since the revision is ""`},
	} {
		t.Run(name, func(t *testing.T) { expect(t, AtRest(e.story.Evidence), e.want) })
	}
}

func TestApprovedFirst(t *testing.T) {
	check(t, "I11", map[string]example{
		"approved": {
			tell(true).allowed("1.1.0").becomes(pipelines.PromotionUnapproved).becomes(attempting, approvedWith("n1")).becomes(succeeded),
			"",
		},
		"automatic": {tell(false).becomes(attempting), ""},
		"given up":  {tell(true).becomes(pipelines.PromotionUnapproved).becomes(pipelines.PromotionSuperseded), ""},
		"without an approval": {
			tell(true).becomes(attempting),
			"I11: revision 2: the promotion of 1.1.0 to prod in run 1, retry 0 is Attempting without an approval",
		},
		"for another revision": {
			tell(true).allowed("1.1.0").becomes(attempting, next, approvedWith("n1")),
			"which nobody has given for this revision",
		},
		"a nonce for two": {
			tell(true).allowed("1.1.0").allowed("1.2.0").becomes(attempting, approvedWith("n1")).becomes(attempting, next, approvedWith("n1")),
			"nonce n1 was used for the promotion of 1.1.0 to prod in run 1, retry 0 and again for the promotion of 1.2.0",
		},
		"rejected": {tell(true).allowed("1.1.0").becomes(attempting, func(p *pipelines.PromotionStatus) {
			p.Approval = &pipelines.Approval{Decision: pipelines.DecisionRejected}
		}), "without an approval"},
		"attempted, then waited": {
			tell(true).becomes(pipelines.PromotionUnapproved, func(p *pipelines.PromotionStatus) { p.Attempts = 1 }),
			"without an approval",
		},
	})
}

func TestOnGoodData(t *testing.T) {
	since := metav1.Now()
	check(t, "I12", map[string]example{
		"healthy":         {tell(false).becomes(attempting), ""},
		"sick afterwards": {tell(false).becomes(attempting).sees("dev", pipelines.TargetStatus{Revision: "1.1.0"}), ""},
		"sick": {
			tell(false).sees("dev", pipelines.TargetStatus{Revision: "1.1.0"}).becomes(attempting),
			"I12: revision 3: revision 1.1.0 goes to prod although a target of dev is not healthy there",
		},
		"at another revision": {tell(false).sees("dev", pipelines.TargetStatus{
			Revision: "1.0.9",
			Ready:    true,
		}).becomes(attempting), "a target of dev is not healthy there"},
		"unreadable": {tell(false).sees("dev", pipelines.TargetStatus{
			Revision:        "1.1.0",
			Ready:           true,
			UnreadableSince: &since,
		}).becomes(attempting), "although a target of dev cannot be read"},
		"itself unreadable": {tell(false).sees("prod", pipelines.TargetStatus{
			Revision:        "1.0.0",
			Ready:           true,
			UnreadableSince: &since,
		}).becomes(attempting), "although a target of prod cannot be read"},
		"never seen": {
			tell(false).write(func(p *pipelines.Pipeline) { delete(p.Status.Environments, "dev") }).becomes(attempting),
			"although only 0 of 1 targets of dev have been seen",
		},
		"sick when it is retried": {
			tell(
				false,
			).becomes(attempting).
				becomes(pipelines.PromotionFailed).
				sees("dev", pipelines.TargetStatus{Revision: "1.1.0"}).
				becomes(attempting),
			"a target of dev is not healthy there",
		},
	})
}

func TestStatusIsHonest(t *testing.T) {
	condition := func(reason string, generation int64) func(*pipelines.Pipeline) {
		return func(p *pipelines.Pipeline) {
			p.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: generation}}
		}
	}
	check(t, "I13", map[string]example{
		"true":  {tell(false).write(condition("Fine", 1)), ""},
		"wiped": {tell(false).wiped(), ""},
		"ahead": {
			tell(false).write(func(p *pipelines.Pipeline) { p.Status.ObservedGeneration = 2 }),
			"I13: revision 2: observedGeneration 2 is ahead of generation 1",
		},
		"falling": {
			tell(false).write(func(p *pipelines.Pipeline) { p.Status.ObservedGeneration = 0 }),
			"observedGeneration falls from 1 to 0",
		},
		"no word for a reason": {tell(false).write(condition("not fine", 1)), `condition Ready has the reason "not fine"`},
		"a condition ahead":    {tell(false).write(condition("Fine", 3)), "condition Ready speaks of generation 3, ahead of 1"},
	})
}

func TestCompare(t *testing.T) {
	want := EndingOf(tell(false).becomes(succeeded).happened(Accepted, 0, "k1", "1.1.0").Evidence, "a basket")
	for name, e := range map[string]struct {
		got        Ending
		exceptions []string
		want       string
	}{
		"the same with other keys and more attempts": {got: EndingOf(tell(false).becomes(attempting).becomes(succeeded, func(p *pipelines.PromotionStatus) {
			p.Key, p.Attempts = "other", 3
		}).happened(Accepted, 0, "other", "1.1.0").Evidence, "a basket")},
		"another state": {
			got:        EndingOf(tell(false).becomes(complete).happened(Accepted, 0, "k1", "1.1.0").Evidence, "a basket"),
			exceptions: []string{"Succeeded"},
			want:       "I14: not so in an undisturbed run: prod: promotion of 1.1.0, run 1, retry 0: Complete",
		},
		"nothing was sent": {
			got:  EndingOf(tell(false).becomes(succeeded).Evidence, "a basket"),
			want: "I14: missing at the end: outside: accepted 1.1.0 for prod",
		},
		"the rest is missing": {got: want[:len(want)-1], want: "missing at the end: a basket"},
		"it is there twice":   {got: append(want[:len(want):len(want)], "a basket"), want: "not so in an undisturbed run: a basket"},
	} {
		t.Run(name, func(t *testing.T) { expect(t, Compare(want, e.got, e.exceptions...), e.want) })
	}
}
