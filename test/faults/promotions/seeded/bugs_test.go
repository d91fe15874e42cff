// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package seeded

import "espalier.dev/internal/testkit/faults"

const (
	propose      = "internal/gitprovider/pullrequest/propose.go"
	pulls        = "internal/controller/pipelines/pulls.go"
	notification = "internal/controller/pipelines/notification.go"
	requests     = "internal/pipeline/requests.go"
	survey       = "internal/pipeline/survey.go"
	follow       = "internal/pipeline/follow.go"
	withdrawal   = "internal/pipeline/withdrawal.go"
	recall       = "internal/controller/pipelines/recall.go"
	reclaim      = "internal/gitprovider/pullrequest/reclaim.go"
	sharing      = "internal/shard/shard.go"
)

var bugs = []faults.Bug{
	{
		Name: "a pull request is opened without looking for one",
		Edits: []faults.Edit{
			{File: propose, Old: "found, err := r.find(ctx)\n\tif err != nil {", New: "var found findings\n\tif err != nil {"},
			{File: propose, Old: "if gitprovider.ClassOf(err) != gitprovider.Duplicate {", New: "if true {"},
		},
		Runs: []string{"merge provider:create:1:after"},
	},
	{
		Name: "a promotion is recorded after it was carried out",
		Edits: []faults.Edit{
			{File: "internal/pipeline/decide.go", Old: "return Decision{Do: do, SaveFirst: true,", New: "return Decision{Do: do,"},
			{File: reclaim, Old: "if len(siblings) == 0 ||", New: "if len(siblings) >= 0 ||"},
		},
		Runs: []string{"overtake patch/pipelines/status:*:slow=1s;provider:create:2:after"},
	},
	{
		Name:  "an approval counts for any revision",
		Edits: []faults.Edit{{File: requests, Old: "case record.Revision != ask.Revision:", New: "case false:"}},
		Runs:  []string{"approve "},
	},
	{
		Name:  "nobody is asked for approval",
		Edits: []faults.Edit{{File: follow, Old: "manual := block != nil && block.Manual && !approved(p)", New: "manual := false"}},
		Runs:  []string{"approve "},
	},
	{
		Name:  "what cannot be read counts as absent",
		Edits: []faults.Edit{{File: survey, Old: "case !s.readable():\n\t\treturn verdictUnreadable\n", New: ""}},
		Runs:  []string{"doubt "},
	},
	{
		Name: "the sick count as healthy",
		Edits: []faults.Edit{{
			File: "internal/pipeline/view.go",
			Old:  `if !t.Readable() || !t.Healthy || t.Revision == "" ||`,
			New:  `if !t.Readable() || t.Revision == "" ||`,
		}},
		Runs: []string{"doubt "},
	},
	{
		Name: "branches are named by the time",
		Edits: []faults.Edit{{
			File: pulls,
			Old:  "Base: strategy.BaseBranch, Branch: e.Branch, Key: e.ID.Key,\n",
			New:  "Base: strategy.BaseBranch, Branch: e.Branch + time.Now().Format(\"150405.000000\"), Key: e.ID.Key,\n",
		}},
		Runs: []string{"merge provider:create:1:after", "merge provider:create:1:lost"},
	},
	{
		Name: "a promotion that is superseded leaves its pull request",
		Edits: []faults.Edit{
			{File: withdrawal, Old: "if mayHavePullRequest(r.Promotion) {", New: "if false {"},
			{File: reclaim, Old: "if len(siblings) == 0 ||", New: "if len(siblings) >= 0 ||"},
		},
		Runs: []string{"supersede "},
	},
	{
		// The second edit removes what would close the forgotten pull request before another one is opened.
		Name: "a withdrawal ends before it is carried out",
		Edits: []faults.Edit{
			{File: withdrawal, Old: "case attempt.State == AttemptDone:", New: "case attempt.State != AttemptFailed:"},
			{File: reclaim, Old: "if len(siblings) == 0 ||", New: "if len(siblings) >= 0 ||"},
		},
		Runs: []string{"supersede provider:close:1:before"},
	},
	{
		Name: "a deleted pipeline leaves its pull requests",
		Edits: []faults.Edit{{
			File: "internal/pipeline/effects.go",
			Old:  "return r.Withdrawal != nil || mayHavePullRequest(r.Promotion) })",
			New:  "return false && r.Withdrawal != nil })",
		}},
		Runs: []string{"remove "},
	},
	{
		Name: "what was listed once is believed for ever",
		Edits: []faults.Edit{
			{File: recall, Old: "listed := entry.ended >= need", New: "listed := entry.ended > 0 && need > 0"},
			{File: recall, Old: "if len(entry.needs) == 0 && !entry.running {", New: "if false {"},
			{File: recall, Old: "if len(entry.needs) == 0 {", New: "if false {"},
			{File: reclaim, Old: "if len(siblings) == 0 ||", New: "if len(siblings) >= 0 ||"},
		},
		Runs: []string{"supersede lose@6"},
	},
	{
		Name: "a pull request that somebody has closed is lost sight of",
		Edits: []faults.Edit{{
			File: "internal/controller/pipelines/news.go",
			Old:  "return p.State == pipelines.PromotionAbandoned && p",
			New:  "return false && p",
		}},
		Runs: []string{"remove "},
	},
	{
		Name:  "each attempt sends another event",
		Edits: []faults.Edit{{File: notification, Old: `"token": e.ID.Key,`, New: `"token": time.Now().String(),`}},
		Runs:  []string{"notify sink:event:1:after", "notify sink:event:1:lost"},
	},
	{
		Name: "an attempt that was cut off is not made again while the revision rolls out",
		Edits: []faults.Edit{{
			File: survey,
			Old:  "return s.verdict == verdictNeeded || s.verdict == verdictRollingOut && begun",
			New:  "return s.verdict == verdictNeeded || false && begun",
		}},
		Runs: []string{"install patch/installations=app:1:after"},
	},
	{
		Name: "what may be referred to is not asked",
		Edits: []faults.Edit{
			{
				File: "internal/controller/pipelines/observe.go",
				Old:  "target); foreign {\n\t\treturn admission",
				New:  "target); foreign && reference.From == \"\" {\n\t\treturn admission",
			},
			{
				File: "internal/controller/pipelines/installation.go",
				Old:  "if err := i.permitted(ctx, reference); err != nil {",
				New:  "if err := i.permitted(ctx, reference); err != nil && false {",
			},
		},
		Runs: []string{"install "},
	},
	{
		Name: "an attempt that was forgotten is taken for done",
		Edits: []faults.Edit{{
			File: "internal/pipeline/promotion.go",
			Old:  "case !known:\n",
			New:  "case !known && f.Attempts != nil && r.Promotion.Strategy != pipelines.StrategyPullRequest && f.Status.Run != nil:\n\t\treturn absorbResult(f, r, Result{})\n\tcase !known:\n",
		}},
		Runs: []string{"notify sink:event:1:before"},
	},
	{
		Name: "shards: every process works on every pipeline",
		Edits: []faults.Edit{{
			File: sharing,
			Old:  "return s.IsAll() || OwnerOf(root, s.Of) == s.Number",
			New:  "return true",
		}},
		Runs: []string{"supersede reshard@5"},
	},
	{
		Name: "shards: those of another number are not awaited",
		Edits: []faults.Edit{{
			File: sharing,
			Old:  "return large.Number > small.Of || large.Number == small.Number",
			New:  "return large == small",
		}},
		Runs: []string{"supersede reshard@5"},
	},
}
