// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/release/common"
)

func TestDecide(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	recent, long := now.Add(-time.Minute), now.Add(-time.Hour)
	deployed := revision{status: common.StatusDeployed, since: long}
	same := revision{status: common.StatusDeployed, since: long, same: true}
	superseded := revision{status: common.StatusSuperseded, since: long}
	failed := revision{status: common.StatusFailed, since: recent}
	failedSame := revision{status: common.StatusFailed, since: recent, same: true, ours: true}
	uninstalled := revision{status: common.StatusUninstalled, since: long}
	at := func(status common.Status, since time.Time, ours bool) revision {
		return revision{status: status, since: since, ours: ours, same: true}
	}
	for name, c := range map[string]struct {
		history []revision
		want    resolution
	}{
		"nothing is there":                            {nil, resolution{course: install}},
		"the wanted revision is deployed":             {[]revision{superseded, same}, resolution{course: leave}},
		"another revision is deployed":                {[]revision{superseded, deployed}, resolution{course: upgrade}},
		"an upgrade has failed":                       {[]revision{deployed, failed}, resolution{course: upgrade}},
		"an upgrade to what is wanted has failed":     {[]revision{deployed, failedSame}, resolution{course: upgrade}},
		"the installation has failed":                 {[]revision{failed}, resolution{course: install}},
		"the installation has failed twice":           {[]revision{failed, failed}, resolution{course: install}},
		"it was uninstalled and kept":                 {[]revision{superseded, uninstalled}, resolution{course: install}},
		"it failed after it was uninstalled":          {[]revision{superseded, uninstalled, failed}, resolution{course: install}},
		"the crash of an upgrade's last write":        {[]revision{superseded, superseded}, resolution{course: upgrade}},
		"our installation was abandoned":              {[]revision{at(common.StatusPendingInstall, recent, true)}, resolution{course: install, recover: true}},
		"our upgrade was abandoned":                   {[]revision{deployed, at(common.StatusPendingUpgrade, recent, true)}, resolution{course: upgrade, recover: true}},
		"our upgrade was abandoned at its end":        {[]revision{superseded, at(common.StatusPendingUpgrade, recent, true)}, resolution{course: upgrade, recover: true}},
		"our rollback was abandoned":                  {[]revision{deployed, failed, at(common.StatusPendingRollback, recent, true)}, resolution{course: upgrade, recover: true}},
		"our second installation was abandoned":       {[]revision{failed, at(common.StatusPendingInstall, recent, true)}, resolution{course: install, recover: true}},
		"another client is installing":                {[]revision{at(common.StatusPendingInstall, recent, false)}, resolution{course: await, until: recent.Add(patience)}},
		"another client is upgrading":                 {[]revision{deployed, at(common.StatusPendingUpgrade, recent, false)}, resolution{course: await, until: recent.Add(patience)}},
		"another client is uninstalling":              {[]revision{at(common.StatusUninstalling, recent, false)}, resolution{course: await, until: recent.Add(patience)}},
		"another client's installation was abandoned": {[]revision{at(common.StatusPendingInstall, long, false)}, resolution{course: install, recover: true}},
		"another client's upgrade was abandoned":      {[]revision{deployed, at(common.StatusPendingUpgrade, long, false)}, resolution{course: upgrade, recover: true}},
		"another client's rollback was abandoned":     {[]revision{deployed, at(common.StatusPendingRollback, long, false)}, resolution{course: upgrade, recover: true}},
		"unknown start of an installation":            {[]revision{at(common.StatusPendingInstall, time.Time{}, false)}, resolution{course: install, recover: true}},
		"an uninstallation was abandoned":             {[]revision{superseded, at(common.StatusUninstalling, long, false)}, resolution{course: install, recover: true}},
		"unknown result of an installation":           {[]revision{at(common.StatusUnknown, long, false)}, resolution{course: install, recover: true}},
		"unknown result of the last upgrade":          {[]revision{deployed, at("", long, false)}, resolution{course: upgrade, recover: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got := decide(facts{history: c.history, now: now})
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(resolution{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// For any history, a deployed release is not installed over, and the course leave is chosen only for the wanted revision.
func TestDecideIsSafe(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	statuses := []common.Status{
		common.StatusUnknown, common.StatusDeployed, common.StatusUninstalled, common.StatusSuperseded, common.StatusFailed, common.StatusUninstalling,
		common.StatusPendingInstall, common.StatusPendingUpgrade, common.StatusPendingRollback, "", "something new",
	}
	var all []revision
	for _, status := range statuses {
		for _, since := range []time.Time{{}, now} {
			for _, flags := range []int{0, 1, 2, 3} {
				all = append(all, revision{status: status, since: since, ours: flags&1 > 0, same: flags&2 > 0})
			}
		}
	}
	for _, first := range all {
		for _, last := range all {
			got := decide(facts{history: []revision{first, last}, now: now})
			if got.course == leave && (last.status != common.StatusDeployed || !last.same) {
				t.Errorf("%+v, %+v is left as it is", first, last)
			}
			if got.course == install && last.status == common.StatusDeployed {
				t.Errorf("%+v is installed although it is deployed", last)
			}
			if got.course == await && (last.ours || !isUnderway(last.status)) {
				t.Errorf("%+v is awaited", last)
			}
			if got.recover != (got.course != await && got.course != leave && isUnderway(last.status)) {
				t.Errorf("%+v: recover is %v", last, got.recover)
			}
		}
	}
}
